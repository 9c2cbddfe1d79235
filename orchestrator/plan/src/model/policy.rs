//! Policy of a run, with resolved parameters.

use std::fmt;

use lab_parameters::{LcmpConfig, Preset, TeConfig, UcmpConfig};
use lab_policy::{BucketPolicy, MAX_CANDIDATES, Path, ecmp, ucmp, wcmp};
use lab_redte::{Actor, AgentLayout, Header, TeamLayout, Weights, WeightsError, container};
use lab_te::Topology;
use lab_units::{BitsPerSec, Bytes, Nanos, Trainer};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// Policy with its resolved parameters.
///
/// A policy that only assigns hash buckets is serialised as its name, other policies as the variant's name with
/// parameters.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum PolicyPlan {
    /// 5-tuple hash over hash buckets; a path's number of buckets depends only on the attributes of the paths.
    #[serde(skip)]
    Buckets(&'static BucketPolicy),
    /// UCMP: 5-tuple hash over the candidates with minimum uniform cost; without flow ageing, over the candidates with
    /// minimum delay.
    Ucmp(UcmpConfig),
    /// Centralised traffic engineering.
    Te(TeConfig),
    /// Policy with trained weights.
    Trained(TrainedPlan),
    /// LCMP with resolved parameters.
    Lcmp(LcmpConfig),
    /// User-defined policy that is compiled into this program, identified by its name.
    Own(String),
    /// User-defined policy that is an eBPF program for switches.
    Ebpf(EbpfPlan),
}

/// Policy with trained weights.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct TrainedPlan {
    /// Trainer that made the weights.
    pub trainer: Trainer,
    /// Interval between two decisions of a switch, emulated.
    pub interval_ns: Nanos,
    /// Number of hash buckets that are divided among the next hops to a destination.
    pub buckets: u16,
    /// Text of the weight file, so that the plan needs no other file; empty until a training that the scenario asks for
    /// has ended. A plan with an empty text can be shown, but neither engine can run it.
    pub weights: String,
}

impl TrainedPlan {
    /// Returns the origin of the weights; `None` if they are damaged.
    #[must_use]
    pub fn header(&self) -> Option<Header> {
        Some(Weights::decode(&self.weights).ok()?.header)
    }

    /// Returns the SHA-256 of the weights, in hexadecimal, from the last line of their file.
    #[must_use]
    pub fn hash(&self) -> &str {
        container::hash(&self.weights).unwrap_or_default()
    }

    /// Returns the actors of the switches that have a choice.
    ///
    /// # Errors
    /// If the weights are damaged, or for a network other than that of `topology` with links of `paper_capacities`.
    pub fn actors(
        &self,
        topology: &Topology,
        paper_capacities: &[Option<BitsPerSec>],
    ) -> Result<Vec<Actor>, WeightsError> {
        Weights::decode(&self.weights)?.actors(topology, paper_capacities)
    }

    /// Returns the inputs and outputs of a switch's actor, and a weight file's text with only its network; `None`
    /// if the switch has no choice or no agent. `topology` is that of the plan.
    #[must_use]
    pub fn weights_of(&self, topology: &Topology, switch: usize) -> Option<(AgentLayout, String)> {
        let weights = Weights::decode(&self.weights).ok()?;
        let agents = TeamLayout::new(topology).agents.into_iter();
        let mut own = agents.zip(weights.networks);
        let (layout, network) = own.find(|(layout, _)| layout.switch == switch)?;
        let alone = Weights {
            header: Header {
                shapes: vec![network.shape().clone()],
                ..weights.header
            },
            networks: vec![network],
        };
        Some((layout, alone.encode()))
    }
}

/// User-defined eBPF switch program with its parameters.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct EbpfPlan {
    /// Path of the program's object file as written in the scenario, relative to the scenario.
    pub object: String,
    /// LCMP parameters from which the program's tables of C_path and C_cong are computed.
    pub parameters: LcmpConfig,
}

impl PolicyPlan {
    pub const ECMP: Self = Self::Buckets(&ecmp::POLICY);

    /// Returns LCMP's parameters for LCMP itself and for a user-defined switch program, which uses LCMP's tables.
    #[must_use]
    pub const fn lcmp(&self) -> Option<&LcmpConfig> {
        match self {
            Self::Lcmp(config) => Some(config),
            Self::Ebpf(plan) => Some(&plan.parameters),
            Self::Buckets(_) | Self::Ucmp(_) | Self::Te(_) | Self::Trained(_) | Self::Own(_) => {
                None
            }
        }
    }

    /// Returns the emulated interval of the agent's periodic work on which decisions depend: queue samples, or new
    /// splits by the TE controller or trained weights. Returns `None` if there is none: LCMP's preset `artifact` samples at
    /// each decision, and others decide by the plan's tables and the datapath.
    #[must_use]
    pub fn agent_interval(&self) -> Option<Nanos> {
        match self {
            Self::Lcmp(config) if config.preset == Preset::Artifact => None,
            Self::Lcmp(config) => Some(config.sample_interval_ns),
            Self::Ebpf(own) => Some(own.parameters.sample_interval_ns),
            Self::Te(te) => Some(te.interval_ns),
            Self::Trained(trained) => Some(trained.interval_ns),
            Self::Buckets(_) | Self::Ucmp(_) | Self::Own(_) => None,
        }
    }

    /// Returns the initial number of hash buckets of each path, which is in force until demands have been measured.
    /// Returns `None` if each path has one bucket.
    pub(crate) fn buckets(&self, paths: &[Path]) -> Option<[u16; MAX_CANDIDATES]> {
        match self {
            Self::Buckets(policy) => policy.law.map(|law| law(paths)),
            Self::Ucmp(config) => Some(ucmp::buckets(paths, Bytes::ZERO, config)),
            Self::Te(_) | Self::Trained(_) => Some(wcmp::buckets(paths)),
            Self::Lcmp(_) | Self::Own(_) | Self::Ebpf(_) => None,
        }
    }

    /// Returns the reason why the kernel engine cannot run the policy; `None` if it can.
    #[must_use]
    pub const fn not_in_kernel(&self) -> Option<&'static str> {
        match self {
            Self::Own(_) => {
                Some("a policy that is compiled into this program cannot run in a switch")
            }
            Self::Buckets(_)
            | Self::Ucmp(_)
            | Self::Te(_)
            | Self::Trained(_)
            | Self::Lcmp(_)
            | Self::Ebpf(_) => None,
        }
    }
}

impl Serialize for PolicyPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Buckets(policy) => serializer.serialize_str(policy.name),
            // Calls the inherent `serialize` that the remote derive generates, not this trait's method.
            _ => Self::serialize(self, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PolicyPlan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PolicyVisitor)
    }
}

struct PolicyVisitor;

impl<'de> Visitor<'de> for PolicyVisitor {
    type Value = PolicyPlan;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy's name, or its name with parameters")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<PolicyPlan, E> {
        let policy = BucketPolicy::find(name);
        policy.map(PolicyPlan::Buckets).ok_or_else(|| {
            E::custom(format_args!(
                "there is no policy `{name}` without parameters"
            ))
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PolicyPlan, A::Error> {
        PolicyPlan::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use lab_policy::{Mechanism, POLICIES};
    use serde_json::{Value, from_value, json, to_value};

    use super::*;

    fn is_written_as(policy: &PolicyPlan, expected: &Value) {
        assert_eq!(&to_value(policy).unwrap(), expected);
        let text = expected.to_string();
        assert_eq!(
            &serde_json::from_str::<PolicyPlan>(&text).unwrap(),
            policy,
            "{text}"
        );
    }

    #[test]
    fn plans_name_a_bucket_policy_and_have_the_parameters_of_others() {
        for row in POLICIES {
            if let Mechanism::Buckets(policy) = row.mechanism {
                is_written_as(&PolicyPlan::Buckets(policy), &json!(row.word));
            }
        }
        is_written_as(
            &PolicyPlan::Ucmp(UcmpConfig::DEFAULT),
            &json!({ "ucmp": { "alpha_percent": 50, "quantum_ns": 100_000, "ageing": true } }),
        );
        let te = json!({ "te": { "interval_ns": 100_000_000, "buckets": 100 } });
        is_written_as(&PolicyPlan::Te(TeConfig::DEFAULT), &te);
        let own = PolicyPlan::Own("two-choice".to_owned());
        is_written_as(&own, &json!({ "own": "two-choice" }));
        let lcmp = PolicyPlan::Lcmp(LcmpConfig::PAPER);
        is_written_as(&lcmp, &json!({ "lcmp": LcmpConfig::PAPER }));
    }

    #[test]
    fn a_policy_that_cannot_be_read_is_named() {
        for (written, said) in [
            (
                json!("emcp"),
                "there is no policy `emcp` without parameters",
            ),
            (
                json!("lcmp"),
                "there is no policy `lcmp` without parameters",
            ),
            (json!({ "buckets": "ecmp" }), "unknown variant `buckets`"),
            (
                json!({ "te": { "buckets": 100 } }),
                "missing field `interval_ns`",
            ),
            (
                json!(7),
                "expected a policy's name, or its name with parameters",
            ),
        ] {
            let error = from_value::<PolicyPlan>(written).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
