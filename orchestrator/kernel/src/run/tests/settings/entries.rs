//! One entry per key of a scenario: another value for the key, and a scenario in which the value has an effect.

/// Test case: a scenario key, a changed value of the key, and a scenario in which the change has an effect.
pub(super) struct Entry {
    /// Path of the key in the schema; braces list alternatives, as in `{lcmp,rm-beta}`, and each alternative is a
    /// separate key.
    pub key: &'static str,
    /// Path of the key in the test's scenario. It differs from `key` where the test sets a list element other than the
    /// first.
    pub at: &'static str,
    /// Scenario before any change, in YAML.
    pub base: &'static str,
    /// Changes to `base` that give the key an effect: paths and values.
    pub with: &'static [(&'static str, &'static str)],
    /// Value that the key is changed to.
    pub to: &'static str,
}

const fn entry(key: &'static str, base: &'static str, to: &'static str) -> Entry {
    Entry {
        key,
        at: key,
        base,
        with: &[],
        to,
    }
}

impl Entry {
    const fn with(self, with: &'static [(&'static str, &'static str)]) -> Self {
        Self { with, ..self }
    }

    const fn at(self, at: &'static str) -> Self {
        Self { at, ..self }
    }
}

/// Scenario that takes all of its keys from another one.
const EXTENDING: &str = "
name: extending
extends: pair.yaml
";

/// Scenario with three paths of two links each between dc1 and dc5; queues decide between the first two paths.
pub(super) const DIAMOND: &str = "
name: diamond
topology:
  defaults: { inter_dc: { buffer: 500 kB } }
  dcs:
    - { name: dc1, hosts: 2 }
    - { name: dc2, hosts: 1 }
    - { name: dc3 }
    - { name: dc4 }
    - { name: dc5, hosts: 2 }
  links:
    - { between: [dc1, dc2], rate: 10 Gbit, delay: 1 ms }
    - { between: [dc2, dc5], rate: 10 Gbit, delay: 1 ms }
    - { between: [dc1, dc3], rate: 4 Gbit, delay: 1200 us }
    - { between: [dc3, dc5], rate: 4 Gbit, delay: 1200 us }
    - { between: [dc1, dc4], rate: 20 Gbit, delay: 3 ms }
    - { between: [dc4, dc5], rate: 20 Gbit, delay: 3 ms }
traffic:
  - workload:
      sizes: sizes.csv
      pairs: [{ from: dc1, to: dc5 }]
      load: 15%
      duration: 3 ms
policies:
  - lcmp: { sample_interval: 100 us, max_delay: 8192 us }
generator: { tool: verbs }
measure: { queues: 100 us, links: 200 us, switches: 200 us }
scale: { rate: 1/10, time: 2 }
";

/// Change that replaces the traffic of [`DIAMOND`] by explicitly listed flows.
const LISTED: &[(&str, &str)] = &[(
    "traffic[].flows",
    r#"[{ "from": "dc1/h1", "to": "dc5/h1", "size": "1 MB", "start": "1 ms" },
        { "from": "dc1/h2", "to": "dc5/h2", "size": "1 MB", "start": "2 ms" }]"#,
)];

/// Faults without effect: they set two links of [`DIAMOND`] to the rates that these links already have.
const FAULTY: &[(&str, &str)] = &[(
    "faults",
    r#"[{ "at": "1 ms", "link": ["dc1", "dc2"], "rate": "10 Gbit" },
        { "at": "2 ms", "link": ["dc1", "dc3"], "rate": "4 Gbit" }]"#,
)];

/// Fault that makes the first link of [`DIAMOND`] slower.
const SLOWER: &[(&str, &str)] = &[FAULTY[0], ("faults[].rate", "1 Gbit")];

/// Fault that cuts the first link of [`DIAMOND`], and a fault that sets the link's rate while it is cut.
const CUT: &[(&str, &str)] = &[
    FAULTY[0],
    ("faults[].down", "true"),
    ("faults[1].link", r#"["dc1", "dc2"]"#),
];

/// Cuts and repairs of the links of [`DIAMOND`] at random times, so many that some would separate datacenters.
const RANDOM: &[(&str, &str)] = &[(
    "faults",
    r#"[{ "random": { "mtbf": "1 ms", "mttr": "1 ms" } }]"#,
)];

/// Cut of the second link from dc1 over dc2 to dc5, after which packets at dc2 have to return over dc1.
const RECONVERGING: &[(&str, &str)] = &[
    ("routing", r#"{ "reconverge": { "after": "1 ms" } }"#),
    (
        "faults",
        r#"[{ "at": "1 ms", "link": ["dc2", "dc5"], "down": "true" }]"#,
    ),
];

/// Scenario with two datacenters of four hosts each, and one link that marks packets and has a tenth of a host's rate.
const BOTTLENECK: &str = "
name: bottleneck
topology:
  dcs: [{ name: dc1, hosts: 4 }, { name: dc2, hosts: 4 }]
  links:
    - between: [dc1, dc2]
      rate: 10 Gbit
      delay: 20 us
      ecn: { k_min: 40 kB, k_max: 400 kB, p_max: 0.2 }
traffic:
  - flows:
      - { from: dc1/h1, to: dc2/h1, size: 2 MB }
      - { from: dc1/h2, to: dc2/h2, size: 2 MB, start: 5 us }
      - { from: dc1/h3, to: dc2/h3, size: 2 MB, start: 10 us }
      - { from: dc2/h1, to: dc1/h1, size: 1 MB, start: 20 us }
      - { from: dc2/h2, to: dc1/h2, size: 1 MB, start: 30 us }
policies: [ecmp]
generator: { tool: verbs }
transport: { cc: dcqcn }
measure: { queues: 50 us, links: 200 us, switches: 200 us }
scale: { rate: 1/10, time: 10 }
";

/// Scenario with a datacenter of one spine and two leaves of two hosts each, and a datacenter without a fabric.
const FABRIC: &str = "
name: fabric
topology:
  dcs:
    - name: dc1
      fabric:
        spines: 1
        leaves: 2
        hosts_per_leaf: 2
        host_link: { rate: 40 Gbit, buffer: 100 kB }
        leaf_spine: { rate: 40 Gbit, buffer: 100 kB }
        spine_dci: { rate: 40 Gbit, buffer: 100 kB }
    - { name: dc2, hosts: 4 }
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 20 us }]
traffic:
  - flows:
      - { from: dc1/h1, to: dc2/h1, size: 500 kB }
      - { from: dc1/h2, to: dc2/h1, size: 500 kB }
      - { from: dc1/h3, to: dc2/h2, size: 500 kB }
      - { from: dc2/h1, to: dc1/h1, size: 500 kB }
      - { from: dc2/h2, to: dc1/h1, size: 500 kB }
      - { from: dc2/h3, to: dc1/h4, size: 500 kB }
policies: [ecmp]
generator: { tool: verbs }
measure: { queues: 50 us, links: 200 us, switches: 200 us }
scale: { rate: 1/10, time: 10 }
";

/// Candidates of [`DIAMOND`] by delay: dc2 and dc3, with 2 ms and 2.4 ms. From dc4, 3 ms are left, more than from dc1.
const DOWNHILL: &[(&str, &str)] = &[(
    "routing",
    r#"{ "candidates": "downhill-delay", "stretch": 3 }"#,
)];

/// Tunnels of [`DIAMOND`]: three, over dc2, dc3 and dc4.
const TUNNELS: &[(&str, &str)] = &[(
    "routing",
    r#"{ "candidates": "tunnels", "tunnels": { "k": 3 } }"#,
)];

/// Change that makes dc4 a third candidate, from which 1.5 ms are left.
const THREE_DOWNHILL: &[(&str, &str)] = &[DOWNHILL[0], ("topology.links[5].delay", "1500 us")];

/// Scenario with a network made of a graph file.
const IMPORTED: &str = "
name: imported
topology:
  import: square.gml
  missing_coordinates: neighbours
  unlabelled: number
  largest_component: true
traffic:
  - workload: { sizes: sizes.csv, pairs: all-to-all, load: 2%, duration: 2 ms }
policies: [ecmp]
generator: { tool: verbs }
measure: { queues: 100 us, links: 200 us, switches: 200 us }
scale: { rate: 1/10, time: 2 }
";

/// Changes after which links without coordinates have a default delay.
const DEFAULT_DELAY: &[(&str, &str)] = &[
    ("topology.missing_coordinates", "error"),
    ("topology.default_delay", "1 ms"),
];

const MARKS: &str = r#"{ "k_min": "20 kB", "k_max": "60 kB", "p_max": 0.5 }"#;

/// Entries for all scenario keys that take a value of their own, except [`super::DESCRIBING`] and keys that no engine
/// reads.
pub(super) const ENTRIES: &[Entry] = &[
    entry("extends", EXTENDING, "pair-reseeded.yaml"),
    entry("seed", DIAMOND, "2"),
    entry("repetitions", DIAMOND, "2"),
    entry("repetitions.lab", DIAMOND, "2"),
    entry("repetitions.sim", DIAMOND, "2"),
    entry("max_table_age", DIAMOND, "50 us"),
    entry("generator", DIAMOND, "perftest"),
    entry("generator.tool", DIAMOND, "ib_read_bw"),
    entry("generator.mtu", DIAMOND, "1024"),
    entry("generator.traffic_class", BOTTLENECK, "0"),
    entry("scale", DIAMOND, "auto"),
    entry("scale.rate", DIAMOND, "1/5"),
    entry("scale.time", DIAMOND, "4"),
    entry("routing.candidates", DIAMOND, "downhill-delay"),
    entry("routing.stretch", DIAMOND, "1.1").with(DOWNHILL),
    entry("routing.max", DIAMOND, "2").with(THREE_DOWNHILL),
    entry("routing.tunnels.k", DIAMOND, "2").with(TUNNELS),
    entry("routing.reconverge.after", DIAMOND, "4 ms").with(RECONVERGING),
    entry("measure.{queues,links,switches}", DIAMOND, "500 us"),
    entry("measure.from", DIAMOND, "1 ms"),
    entry("measure.to", DIAMOND, "2 ms"),
    // Keys of links.
    entry("topology.defaults.host_link.rate", DIAMOND, "50 Gbit"),
    entry("topology.defaults.host_link.delay", DIAMOND, "5 us"),
    entry("topology.defaults.host_link.buffer", DIAMOND, "20 kB").with(NARROW_HOSTS),
    entry("topology.defaults.host_link.loss", DIAMOND, "0.01"),
    entry("topology.defaults.host_link.ecn", DIAMOND, MARKS).with(NARROW_HOSTS),
    entry("topology.defaults.host_link.ecn.k_min", DIAMOND, "0 B").with(MARKING_HOSTS),
    entry("topology.defaults.host_link.ecn.k_max", DIAMOND, "500 kB").with(MARKING_HOSTS),
    entry("topology.defaults.host_link.ecn.p_max", DIAMOND, "0.1").with(MARKING_HOSTS),
    entry("topology.defaults.inter_dc.buffer", DIAMOND, "50 kB"),
    entry("topology.defaults.inter_dc.loss", DIAMOND, "0.01"),
    entry("topology.defaults.inter_dc.ecn", DIAMOND, "none").with(MARKING_LINKS),
    entry("topology.defaults.inter_dc.ecn.k_min", DIAMOND, "0 B").with(MARKING_LINKS),
    entry("topology.defaults.inter_dc.ecn.k_max", DIAMOND, "500 kB").with(MARKING_LINKS),
    entry("topology.defaults.inter_dc.ecn.p_max", DIAMOND, "0.1").with(MARKING_LINKS),
    entry("topology.links[].between", DIAMOND, r#"["dc1", "dc5"]"#),
    entry("topology.links[].rate", DIAMOND, "5 Gbit"),
    entry("topology.links[].delay", DIAMOND, "2 ms"),
    entry("topology.links[].buffer", DIAMOND, "50 kB"),
    entry("topology.links[].loss", DIAMOND, "0.01"),
    entry("topology.links[].ecn", BOTTLENECK, "none"),
    entry("topology.links[].ecn.k_min", BOTTLENECK, "20 kB"),
    entry("topology.links[].ecn.k_max", BOTTLENECK, "200 kB"),
    entry("topology.links[].ecn.p_max", BOTTLENECK, "1"),
    // Keys of graphs.
    entry("topology", IMPORTED, "zoo:Arpanet196912"),
    entry("topology.zoo", IMPORTED, "Arpanet196912"),
    entry("topology.import", IMPORTED, "chain.csv"),
    entry("topology.km_per_ms", IMPORTED, "100"),
    entry("topology.default_rate", IMPORTED, "20 Gbit"),
    entry("topology.default_delay", IMPORTED, "3 ms").with(DEFAULT_DELAY),
    entry("topology.hosts", IMPORTED, "2"),
    entry("topology.hosts_at", IMPORTED, "degree>=3"),
    entry("topology.parallel", IMPORTED, "keep"),
    entry("topology.missing_coordinates", IMPORTED, "error"),
    entry("topology.unlabelled", IMPORTED, "error"),
    entry("topology.largest_component", IMPORTED, "false"),
    // Keys of datacenters.
    entry("topology.dcs[].agent", DIAMOND, "legacy"),
    entry("topology.dcs[].hosts", DIAMOND, "3"),
    entry("topology.dcs[].fabric.spines", FABRIC, "2"),
    entry("topology.dcs[].fabric.leaves", FABRIC, "4"),
    entry("topology.dcs[].fabric.hosts_per_leaf", FABRIC, "3"),
    entry(
        "topology.dcs[].fabric.{host_link,leaf_spine,spine_dci}.rate",
        FABRIC,
        "10 Gbit",
    )
    .with(NARROW_TIER),
    entry(
        "topology.dcs[].fabric.{host_link,leaf_spine,spine_dci}.delay",
        FABRIC,
        "5 us",
    )
    .with(NARROW_TIER),
    entry(
        "topology.dcs[].fabric.{host_link,leaf_spine,spine_dci}.buffer",
        FABRIC,
        "20 kB",
    )
    .with(NARROW_TIER),
    entry(
        "topology.dcs[].fabric.{host_link,leaf_spine,spine_dci}.loss",
        FABRIC,
        "0.01",
    )
    .with(NARROW_TIER),
    entry(
        "topology.dcs[].fabric.{host_link,leaf_spine,spine_dci}.ecn",
        FABRIC,
        MARKS,
    )
    .with(NARROW_TIER),
    entry(
        "topology.dcs[].fabric.{host_link,leaf_spine,spine_dci}.ecn.k_min",
        FABRIC,
        "0 B",
    )
    .with(MARKING_TIER),
    entry(
        "topology.dcs[].fabric.{host_link,leaf_spine,spine_dci}.ecn.k_max",
        FABRIC,
        "100 kB",
    )
    .with(MARKING_TIER),
    entry(
        "topology.dcs[].fabric.{host_link,leaf_spine,spine_dci}.ecn.p_max",
        FABRIC,
        "0.05",
    )
    .with(MARKING_TIER),
    // Keys of flows.
    entry("traffic[].workload.sizes", DIAMOND, "larger.csv"),
    entry("traffic[].workload.pairs", DIAMOND, "all-to-all"),
    entry("traffic[].workload.pairs[].from", DIAMOND, "dc2"),
    entry("traffic[].workload.pairs[].to", DIAMOND, "dc2"),
    entry("traffic[].workload.pairs[].both_ways", DIAMOND, "true"),
    entry("traffic[].workload.load", DIAMOND, "20%"),
    entry("traffic[].workload.load_base", DIAMOND, "dci-egress"),
    entry("traffic[].workload.arrivals", DIAMOND, "even"),
    entry("traffic[].workload.bursts", DIAMOND, "1 ms"),
    entry("traffic[].workload.duration", DIAMOND, "2 ms"),
    entry("traffic[].workload.target_flows", DIAMOND, "20"),
    entry("traffic[].workload.min_duration", DIAMOND, "2 ms").with(ONE_FLOW),
    entry("traffic[].workload.max_flows", DIAMOND, "20"),
    entry("traffic[].demands.file", DIAMOND, "mirrored.csv").with(MATRIX),
    entry("traffic[].demands.scale", DIAMOND, "200%").with(MATRIX),
    entry("traffic[].demands.sizes", DIAMOND, "larger.csv").with(MATRIX),
    entry("traffic[].demands.arrivals", DIAMOND, "even").with(MATRIX),
    entry("traffic[].demands.bursts", DIAMOND, "1 ms").with(MATRIX),
    entry("traffic[].demands.duration", DIAMOND, "2 ms").with(MATRIX),
    entry("traffic[].demands.target_flows", DIAMOND, "3").with(MATRIX),
    entry("traffic[].demands.min_duration", DIAMOND, "9 ms").with(ONE_FLOW_OF_MATRIX),
    entry("traffic[].demands.max_flows", DIAMOND, "3").with(MATRIX),
    entry("traffic[].flows[].from", DIAMOND, "dc2/h1").with(LISTED),
    entry("traffic[].flows[].to", DIAMOND, "dc5/h2").with(LISTED),
    entry("traffic[].flows[].size", DIAMOND, "2 MB").with(LISTED),
    entry("traffic[].flows[].start", DIAMOND, "0 ms").with(LISTED),
    entry("traffic[].flow_file", DIAMOND, "flows.txt"),
    // Keys of faults.
    entry("faults[].at", DIAMOND, "2 ms").with(SLOWER),
    entry("faults[].link", DIAMOND, r#"["dc1", "dc3"]"#).with(SLOWER),
    entry("faults[].links[]", DIAMOND, r#"["dc1", "dc3"]"#).with(&[(
        "faults",
        r#"[{ "at": "1 ms", "links": [["dc1", "dc2"]], "rate": "1 Gbit" }]"#,
    )]),
    entry("faults[].dc", DIAMOND, "dc3").with(&[(
        "faults",
        r#"[{ "at": "1 ms", "dc": "dc2", "rate": "1 Gbit" }]"#,
    )]),
    entry("faults[].agent", DIAMOND, "dc2").with(&[(
        "faults",
        r#"[{ "at": "1 ms", "agent": "dc1", "down": "true" }]"#,
    )]),
    entry("faults[].down", DIAMOND, "true").with(FAULTY),
    entry("faults[].up", DIAMOND, "true")
        .with(CUT)
        .at("faults[1].up"),
    entry("faults[].rate", DIAMOND, "1 Gbit").with(FAULTY),
    entry("faults[].delay", DIAMOND, "2 ms").with(FAULTY),
    entry("faults[].loss", DIAMOND, "0.1").with(FAULTY),
    entry("faults[].random.mtbf", DIAMOND, "2 ms").with(RANDOM),
    entry("faults[].random.mttr", DIAMOND, "2 ms").with(RANDOM),
    entry("faults[].random.groups[][]", DIAMOND, r#"[["dc1", "dc3"]]"#)
        .with(&[(
            "faults",
            r#"[{ "random": { "mtbf": "1 ms", "mttr": "1 ms", "groups": [[["dc1", "dc2"]]] } }]"#,
        )])
        .at("faults[].random.groups[]"),
    entry("faults[].random.keep_connected", DIAMOND, "false").with(RANDOM),
    entry("faults[].random.seed", DIAMOND, "2").with(RANDOM),
    // Keys of policies.
    entry("policies[]", DIAMOND, "te-100ms"),
    entry("policies[].{ecmp,wcmp,ucmp-artifact}", DIAMOND, "{}"),
    entry("policies[].own.name", DIAMOND, "two-choice")
        .with(&[("policies[].own", r#"{ "name": "delay-only" }"#)]),
    entry("policies[].ebpf", DIAMOND, "mine.bpf.o"),
    entry("policies[].redte.weights", DIAMOND, "maddpg-2").with(REDTE),
    entry("policies[].redte.train", DIAMOND, "auto").with(REDTE),
    entry("policies[].redte-direct.weights", DIAMOND, "direct-2").with(DIRECT),
    entry("policies[].redte-direct.train", DIAMOND, "auto").with(DIRECT),
    entry("policies[].static.weights", DIAMOND, "static-2").with(STATIC),
    entry("policies[].static.train", DIAMOND, "auto").with(STATIC),
    entry("policies[].te.interval", DIAMOND, "1 ms").with(TE),
    entry("policies[].te.buckets", DIAMOND, "3").with(TE),
    entry("policies[].ucmp.alpha", DIAMOND, "5").with(UCMP),
    entry("policies[].ucmp.quantum", DIAMOND, "500 us").with(UCMP),
    entry("policies[].ucmp.ageing", DIAMOND, "false").with(UCMP),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.preset",
        DIAMOND,
        "artifact",
    )
    .with(PLAIN_LCMP),
    entry("policies[].{lcmp,rm-alpha,rm-beta}.alpha", DIAMOND, "1").with(LCMP),
    entry("policies[].{lcmp,rm-alpha,rm-beta}.beta", DIAMOND, "5").with(LCMP),
    entry("policies[].{lcmp,rm-alpha,rm-beta}.w_dl", DIAMOND, "1").with(LCMP),
    entry("policies[].{lcmp,rm-alpha,rm-beta}.w_lc", DIAMOND, "3").with(LCMP),
    entry("policies[].{lcmp,rm-alpha,rm-beta}.s_path", DIAMOND, "1").with(LCMP),
    entry("policies[].{lcmp,rm-alpha,rm-beta}.w_ql", DIAMOND, "4").with(LCMP),
    entry("policies[].{lcmp,rm-alpha,rm-beta}.w_tl", DIAMOND, "4").with(LCMP),
    entry("policies[].{lcmp,rm-alpha,rm-beta}.w_dp", DIAMOND, "4").with(LCMP),
    entry("policies[].{lcmp,rm-alpha,rm-beta}.s_cong", DIAMOND, "1").with(LCMP),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.max_delay",
        DIAMOND,
        "4096 us",
    )
    .with(LCMP),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.max_capacity",
        DIAMOND,
        "40 Gbit",
    )
    .with(LCMP),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.trend_shift",
        DIAMOND,
        "1",
    )
    .with(LCMP),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.duration_shift",
        DIAMOND,
        "0",
    )
    .with(LCMP),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.high_water",
        DIAMOND,
        "110",
    )
    .with(LCMP),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.low_water",
        DIAMOND,
        "20",
    )
    .with(LCMP),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.level_buffer",
        DIAMOND,
        "100 kB",
    )
    .with(LCMP),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.sample_interval",
        DIAMOND,
        "300 us",
    )
    .with(LCMP),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.gc_interval",
        DIAMOND,
        "300 us",
    )
    .with(COLLECTING),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.idle_timeout",
        DIAMOND,
        "300 us",
    )
    .with(COLLECTING),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.flow_table_entries",
        DIAMOND,
        "4",
    )
    .with(LCMP),
    entry("policies[].{lcmp,rm-alpha,rm-beta}.keep", DIAMOND, "floor").with(LCMP),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.congested_threshold",
        DIAMOND,
        "0",
    )
    .with(LCMP),
    entry(
        "policies[].{lcmp,rm-alpha,rm-beta}.drop_threshold",
        DIAMOND,
        "0",
    )
    .with(AUTHORS_LCMP),
    // Keys of hosts and switches.
    entry("transport.semantics", BOTTLENECK, "artifact"),
    entry("transport.payload", BOTTLENECK, "1000"),
    entry("transport.window", BOTTLENECK, "20 kB"),
    entry("transport.ack_priority", BOTTLENECK, "true"),
    entry("transport.pfc", BOTTLENECK, "true").with(&[("transport.dci_buffer", "1500 kB")]),
    entry("transport.nack_interval", BOTTLENECK, "50 us")
        .with(&[("topology.links[].loss", "0.05")]),
    entry("transport.retransmit_timeout", BOTTLENECK, "1 ms")
        .with(&[("topology.links[].loss", "0.05")]),
    entry("transport.fabric_buffer", FABRIC, "200 kB")
        .with(&[("transport", r#"{ "cc": "dcqcn", "pfc": true }"#)]),
    entry("transport.dci_buffer", BOTTLENECK, "1500 kB").with(&[("transport.pfc", "true")]),
    entry("transport.routes", DIAMOND, "routes.csv"),
    entry("transport.cc", BOTTLENECK, "none"),
    entry("transport.cc.none", BOTTLENECK, "{}"),
    entry(
        "transport.cc.{dcqcn,hpcc,timely,dctcp}.preset",
        BOTTLENECK,
        "artifact",
    )
    .with(&[("transport.cc.{dcqcn,hpcc,timely,dctcp}", "{}")]),
    entry("transport.cc.dcqcn.gain", BOTTLENECK, "1/16"),
    entry("transport.cc.dcqcn.cnp_interval", BOTTLENECK, "100 us"),
    entry("transport.cc.dcqcn.alpha_interval", BOTTLENECK, "100 us"),
    entry("transport.cc.dcqcn.increase_interval", BOTTLENECK, "100 us"),
    entry("transport.cc.dcqcn.byte_counter", BOTTLENECK, "100 kB"),
    entry("transport.cc.dcqcn.fast_recovery", BOTTLENECK, "1"),
    entry("transport.cc.dcqcn.additive_rate", BOTTLENECK, "1 Gbit").with(FAST),
    entry("transport.cc.dcqcn.hyper_rate", BOTTLENECK, "2 Gbit").with(FAST),
    entry("transport.cc.dcqcn.min_rate", BOTTLENECK, "5 Gbit"),
    entry("transport.cc.dcqcn.decrease_interval", BOTTLENECK, "100 us")
        .with(&[("transport.cc.dcqcn.preset", "artifact")]),
    entry("transport.cc.hpcc.utilisation", BOTTLENECK, "0.5").with(&[("transport.cc.hpcc", "{}")]),
    entry("transport.cc.hpcc.max_stage", BOTTLENECK, "1").with(&[("transport.cc.hpcc", "{}")]),
    entry("transport.cc.hpcc.additive_rate", BOTTLENECK, "1 Gbit")
        .with(&[("transport.cc.hpcc", "{}")]),
    entry("transport.cc.hpcc.min_rate", BOTTLENECK, "5 Gbit").with(&[("transport.cc.hpcc", "{}")]),
    entry("transport.cc.hpcc.int_hops", BOTTLENECK, "1").with(&[("transport.cc.hpcc", "{}")]),
    entry("transport.cc.timely.segment", BOTTLENECK, "64 kB").with(TIMELY),
    entry("transport.cc.timely.difference_weight", BOTTLENECK, "0.1").with(TIMELY),
    entry("transport.cc.timely.decrease", BOTTLENECK, "0.2").with(TIMELY),
    entry("transport.cc.timely.t_low", BOTTLENECK, "100 us").with(TIMELY),
    entry("transport.cc.timely.t_high", BOTTLENECK, "200 us").with(TIMELY),
    entry("transport.cc.timely.min_rtt", BOTTLENECK, "100 us").with(TIMELY),
    entry("transport.cc.timely.additive_rate", BOTTLENECK, "1 Gbit").with(TIMELY),
    entry("transport.cc.timely.hyper_rate", BOTTLENECK, "2 Gbit")
        .with(&[("transport.cc.timely", r#"{ "hyper_after": 0 }"#)]),
    entry("transport.cc.timely.hyper_after", BOTTLENECK, "0").with(TIMELY),
    entry("transport.cc.timely.min_rate", BOTTLENECK, "5 Gbit").with(TIMELY),
    entry(
        "transport.cc.dctcp.{additive_rate,min_rate}",
        BOTTLENECK,
        "5 Gbit",
    )
    .with(&[("transport.cc.dctcp", "{}")]),
    entry("transport.cc.dctcp.gain", BOTTLENECK, "1").with(&[("transport.cc.dctcp", "{}")]),
];

/// Changes that make host links so slow that queues form.
const NARROW_HOSTS: &[(&str, &str)] = &[
    ("topology.defaults.host_link.rate", "5 Gbit"),
    ("traffic[].workload.load", "300%"),
];

/// Changes that give host links queues that mark packets.
const MARKING_HOSTS: &[(&str, &str)] = &[
    NARROW_HOSTS[0],
    NARROW_HOSTS[1],
    ("topology.defaults.host_link.ecn", MARKS),
];

const MARKING_LINKS: &[(&str, &str)] = &[("topology.defaults.inter_dc.ecn", MARKS)];

/// Changes that make the links of a fabric tier so slow that queues form.
const NARROW_TIER: &[(&str, &str)] = &[(
    "topology.dcs[].fabric.{host_link,leaf_spine,spine_dci}.rate",
    "5 Gbit",
)];

/// Changes that give the links of a fabric tier queues that mark packets.
const MARKING_TIER: &[(&str, &str)] = &[
    NARROW_TIER[0],
    (
        "topology.dcs[].fabric.{host_link,leaf_spine,spine_dci}.ecn",
        MARKS,
    ),
];

const PLAIN_LCMP: &[(&str, &str)] = &[("policies[].{lcmp,rm-alpha,rm-beta}", "{}")];

const LCMP: &[(&str, &str)] = &[(
    "policies[].{lcmp,rm-alpha,rm-beta}",
    r#"{ "sample_interval": "100 us", "max_delay": "8192 us" }"#,
)];

/// Changes that let flow-cache garbage collection find idle flows while other flows run.
const COLLECTING: &[(&str, &str)] = &[(
    "policies[].{lcmp,rm-alpha,rm-beta}",
    r#"{ "sample_interval": "100 us", "gc_interval": "1 ms", "idle_timeout": "1 ms" }"#,
)];

const AUTHORS_LCMP: &[(&str, &str)] = &[(
    "policies[].{lcmp,rm-alpha,rm-beta}",
    r#"{ "preset": "artifact", "sample_interval": "100 us" }"#,
)];

/// Changes that make the policy one with trained weights.
const REDTE: &[(&str, &str)] = &[("policies[].redte", r#"{ "weights": "maddpg-1" }"#)];

/// As [`REDTE`], by another trainer.
const DIRECT: &[(&str, &str)] = &[("policies[].redte-direct", r#"{ "weights": "direct-1" }"#)];

/// As [`REDTE`], by another trainer.
const STATIC: &[(&str, &str)] = &[("policies[].static", r#"{ "weights": "static-1" }"#)];

const TE: &[(&str, &str)] = &[("policies[].te", r#"{ "interval": "500 us" }"#)];

/// Changes that make UCMP flows age at 500 kB (5 MB / α): from that size on, the path with 20 Gbit/s and 6 ms costs no
/// more than the path with 10 Gbit/s and 2 ms.
const UCMP: &[(&str, &str)] = &[
    ("policies[].ucmp", r#"{ "alpha": 10 }"#),
    ("traffic[].workload.sizes", "larger.csv"),
];

/// Change that ends the duration when one flow has arrived.
const ONE_FLOW: &[(&str, &str)] = &[("traffic[].workload.target_flows", "1")];

/// The same of a demand matrix in place of the workload.
const ONE_FLOW_OF_MATRIX: &[(&str, &str)] = &[(
    "traffic[].demands",
    r#"{ "file": "matrix.csv", "sizes": "sizes.csv", "duration": "10 ms", "target_flows": 1 }"#,
)];

/// Demand matrix in place of the workload.
const MATRIX: &[(&str, &str)] = &[(
    "traffic[].demands",
    r#"{ "file": "matrix.csv", "sizes": "sizes.csv", "duration": "10 ms" }"#,
)];

/// Changes that let DCQCN raise its rate again while flows run.
const FAST: &[(&str, &str)] = &[(
    "transport.cc.dcqcn",
    r#"{ "increase_interval": "20 us", "byte_counter": "50 kB", "fast_recovery": 1 }"#,
)];

const TIMELY: &[(&str, &str)] = &[("transport.cc.timely", "{}")];
