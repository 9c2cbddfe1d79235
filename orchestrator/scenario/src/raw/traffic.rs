//! Traffic, as written in a scenario.

use lab_units::{Bytes, Nanos, Ratio};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::{
    limits,
    model::{Arrivals, LoadBase},
    yaml::{At, Maybe, OneOrMany, Scalar, Text, WordOr, scalar::words},
};

/// Source of flows: a mapping with exactly one of the keys `workload`, `demands`, `flows` and `flow_file`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct Traffic {
    /// Flows sampled from a size distribution and an arrival process.
    pub workload: Maybe<Workload>,
    /// Flows sampled for the rates of a demand matrix: those of a file, from each datacenter to each other one.
    pub demands: Maybe<MatrixKeys>,
    /// Flows listed one by one.
    #[schemars(length(min = 1))]
    pub flows: Maybe<At<Vec<Flow>>>,
    /// Flows from a file in the format of the paper's artifact; path relative to the scenario.
    #[schemars(length(min = 1))]
    pub flow_file: Maybe<Text<String>>,
}

/// Flows sampled from a size distribution and an arrival process.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Flow size distribution: a CSV file `bytes,percent`, at a path relative to the scenario, or the name of a built-in
    /// distribution, such as `websearch`.
    #[schemars(length(min = 1))]
    pub sizes: Text<String>,
    /// Pairs of datacenters with traffic: `all-to-all`, or a list.
    pub pairs: At<WordOr<AllToAll, Vec<At<Pair>>>>,
    /// Offered load as a share of `load_base`; must be above zero. A list is a sweep: `up` and `sim` run each load in
    /// turn; other commands use the first load.
    #[schemars(schema_with = "loads")]
    pub load: OneOrMany<Ratio>,
    /// Capacity of which `load` is a share: `host-nic`, the NIC of every sending host; `dci-egress`, the sending
    /// datacenter's inter-DC links. Two bases are of the network, for the demands of this workload alone, whose hosts
    /// send in proportion to their NICs: `busiest-link`, the inter-DC link with the highest utilisation if every switch
    /// splits evenly over its next hops; `min-cut`, the tightest cut, which limits every policy.
    #[serde(default)]
    #[schemars(extend("default" = LoadBase::default()))]
    pub load_base: Maybe<Text<LoadBase>>,
    /// Distribution of the gaps between a sending host's flow starts: `poisson` (exponential) or `even`.
    #[serde(default)]
    #[schemars(extend("default" = Arrivals::default()))]
    pub arrivals: Maybe<Text<Arrivals>>,
    /// Length of bursts. Each pair of datacenters has 5.5 times its mean rate for a tenth of the time, and half of it
    /// otherwise; only with `poisson` arrivals. Default: steady rates.
    #[serde(default)]
    pub bursts: Maybe<Text<Nanos>>,
    /// Time span in which flows start, from the start of the run.
    pub duration: Text<Nanos>,
    /// Number of flows that is enough: the duration ends when so many have arrived on average. The load stays as it is.
    #[serde(default)]
    #[schemars(extend("minimum" = 1, "maximum" = limits::MAX_FLOWS))]
    pub target_flows: Maybe<Text<u32>>,
    /// Shortest time span in which flows start, even if `target_flows` have arrived sooner. Default: none.
    #[serde(default)]
    pub min_duration: Maybe<Text<Nanos>>,
    /// Maximum number of flows. If there are more arrivals, a random subset over the whole duration is kept, which
    /// lowers the load accordingly.
    #[serde(default)]
    #[schemars(extend("minimum" = 1, "maximum" = limits::MAX_FLOWS))]
    pub max_flows: Maybe<Text<u32>>,
}

/// Flows sampled for the rates of a demand matrix.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MatrixKeys {
    /// File of the matrix, at a path relative to the scenario: CSV rows `from,to,rate`, an SNDlib network (`.xml`), or
    /// REPETITA's `.demands` for a topology that is imported from its `.graph`. Rates are those of the real network.
    #[schemars(length(min = 1))]
    pub file: Text<String>,
    /// Factor on all rates of the file; must be above zero. A list is a sweep: `up` and `sim` run each scale in turn;
    /// other commands use the first.
    #[serde(default)]
    #[schemars(schema_with = "scales")]
    pub scale: Maybe<OneOrMany<Ratio>>,
    /// Flow size distribution, as in a workload.
    #[schemars(length(min = 1))]
    pub sizes: Text<String>,
    /// Distribution of the gaps between the flow starts from one host to one datacenter: `poisson` (exponential) or
    /// `even`.
    #[serde(default)]
    #[schemars(extend("default" = Arrivals::default()))]
    pub arrivals: Maybe<Text<Arrivals>>,
    /// Length of bursts, as in a workload; only with `poisson` arrivals. Default: steady rates.
    #[serde(default)]
    pub bursts: Maybe<Text<Nanos>>,
    /// Time span in which flows start, from the start of the run.
    pub duration: Text<Nanos>,
    /// Number of flows that is enough, as in a workload.
    #[serde(default)]
    #[schemars(extend("minimum" = 1, "maximum" = limits::MAX_FLOWS))]
    pub target_flows: Maybe<Text<u32>>,
    /// Shortest time span in which flows start, even if `target_flows` have arrived sooner. Default: none.
    #[serde(default)]
    pub min_duration: Maybe<Text<Nanos>>,
    /// Maximum number of flows. If there are more arrivals, a random subset over the whole duration is kept, which
    /// lowers all rates accordingly.
    #[serde(default)]
    #[schemars(extend("minimum" = 1, "maximum" = limits::MAX_FLOWS))]
    pub max_flows: Maybe<Text<u32>>,
}

/// Returns the schema of the key `load`: one load, or the loads of a sweep.
fn loads(_: &mut SchemaGenerator) -> Schema {
    one_or_sweep(limits::MAX_LOAD)
}

/// Returns the schema of a matrix's key `scale`: one factor, or the factors of a sweep.
fn scales(_: &mut SchemaGenerator) -> Schema {
    let mut schema = one_or_sweep(limits::MAX_DEMAND_SCALE);
    schema.insert("default".to_owned(), 1.into());
    schema
}

/// Returns the schema of a ratio above 0 and at most `max`, or a list of such ratios.
fn one_or_sweep(max: u64) -> Schema {
    let mut one = <Ratio as Scalar>::schema();
    one.insert("exclusiveMinimum".to_owned(), 0.into());
    one.insert("maximum".to_owned(), max.into());
    json_schema!({ "anyOf": [
        one,
        { "type": "array", "items": one, "minItems": 1, "maxItems": limits::MAX_SWEEP },
    ] })
}

/// Word `all-to-all`: every datacenter with hosts sends to every other one.
#[derive(Clone, Copy, Debug)]
pub struct AllToAll;

words! {
    AllToAll: "`all-to-all`, or a list of pairs" { "all-to-all" => Self }
}

/// Sending and receiving datacenter.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Sending datacenter.
    pub from: Text<String>,
    /// Receiving datacenter.
    pub to: Text<String>,
    /// If true, flows also go in the opposite direction, with the same load.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub both_ways: Maybe<Text<bool>>,
}

/// Single flow.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Sending host: datacenter and number from 1, `dc1/h1`.
    #[schemars(pattern(r"^[a-z][a-z0-9-]*/h[1-9][0-9]*$"))]
    pub from: Text<String>,
    /// Receiving host, in another datacenter.
    #[schemars(pattern(r"^[a-z][a-z0-9-]*/h[1-9][0-9]*$"))]
    pub to: Text<String>,
    /// Number of bytes to transfer.
    pub size: Text<Bytes>,
    /// Start time of the flow, from the start of the run.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    pub start: Maybe<Text<Nanos>>,
}
