//! Tests of `sim`, `import`, `validate` and `flow`: exit codes, messages, records, and records that are identical byte
//! for byte on any number of threads.

mod common;

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use lab_artifact::{ids, published};
use lab_records::{FlowRow, FlowStatus, RunDir};
use tempfile::TempDir;

use self::common::{
    Outcome, command_in, interrupt_at_flows, interrupt_when, root, write_long_scenario,
};

/// Working directory of the tested commands.
struct Bench(TempDir);

impl Bench {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        command_in(self.0.path(), arguments)
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs a command, which must end with exit code `exit`.
    #[track_caller]
    fn expect_exit(&self, arguments: &[&str], exit: i32) -> Outcome {
        let out = self.run(arguments);
        assert_eq!(out.exit, Some(exit), "{arguments:?}: {out:?}");
        out
    }

    /// Simulates the smallest scenario, which must end with exit code `exit`; returns the run.
    #[track_caller]
    fn sim_smoke(&self, more: &[&str], exit: i32) -> Run {
        let smoke = root().join("scenarios").join("smoke.yaml");
        let arguments = [&["sim", smoke.to_str().unwrap()], more].concat();
        self.expect_exit(&arguments, exit);
        self.latest()
    }

    /// Returns the run that the link `latest` points to.
    fn latest(&self) -> Run {
        let latest = self.0.path().join("results/latest");
        Run(latest.canonicalize().unwrap())
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Run directory of a simulation.
struct Run(PathBuf);

impl Run {
    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text("run.json")).unwrap()
    }

    fn flows(&self) -> Vec<FlowRow> {
        RunDir::open(&self.0).unwrap().flows().unwrap().rows
    }

    /// Returns the plan and all tables of a simulation, as texts.
    fn tables(&self) -> Vec<String> {
        let tables = [
            "flows",
            "links",
            "queues",
            "decisions",
            "ports",
            "pfc",
            "story",
        ];
        let read = |table: &str| fs::read_to_string(self.0.join(format!("{table}.csv")));
        tables
            .iter()
            .map(|table| match read(table) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                Err(error) => panic!("{table}: {error}"),
            })
            .chain([self.text("plan.json")])
            .collect()
    }
}

/// Two hosts send 100 Gbit/s each to one host. On the link between the datacenters (200 Gbit/s, 5 ms), 250 MB are in
/// flight per round trip. A buffer of 1 MB cannot hold what arrives after a pause, so the ingress port drops packets.
#[test]
fn drops_in_spite_of_pfc_are_a_reason_to_doubt_the_run() {
    let bench = Bench::new();
    let flows = ["h1", "h2"].map(|host| format!("{{ from: dc1/{host}, to: dc2/h1, size: 4 MB }}"));
    let text = |buffer: &str| {
        format!(
            "name: lossy\n\
             topology:\n  \
               dcs: [{{ name: dc1, hosts: 2 }}, {{ name: dc2, hosts: 1 }}]\n  \
               links: [{{ between: [dc1, dc2], rate: 200 Gbit, delay: 5 ms }}]\n\
             traffic:\n  - flows: [{}]\n\
             policies: [ecmp]\n\
             scale: {{ rate: 1, time: 1 }}\n\
             transport: {{ pfc: true, dci_buffer: {buffer} }}\n",
            flows.join(", ")
        )
    };
    bench.write("lossy.yaml", &text("1 MB"));
    let out = bench.expect_exit(&["sim", "lossy.yaml"], 4);
    assert!(
        out.stderr.contains("packets dropped despite PFC"),
        "{out:?}"
    );
    bench.write("lossless.yaml", &text("6 GB"));
    bench.expect_exit(&["sim", "lossless.yaml"], 0);
}

#[test]
fn a_simulation_ends_with_its_table_and_report() {
    let bench = Bench::new();
    let smoke = root().join("scenarios").join("smoke.yaml");
    let out = bench.expect_exit(&["sim", smoke.to_str().unwrap()], 0);
    assert!(out.stdout.starts_with("FCT slowdown"), "{out:?}");
    assert!(out.stderr.contains("6/6 flows in "), "{out:?}");
    let run = bench.latest();
    let flows = run.flows();
    assert_eq!(flows.len(), 12, "six of each policy");
    assert!(flows.iter().all(|flow| flow.status == FlowStatus::Finished));
    let report = run.0.join("report.html");
    assert!(
        out.stdout
            .ends_with(&format!("report: {}\n", report.display())),
        "{out:?}"
    );
    assert!(report.is_file());
    let last_end = |policy| {
        let ends = flows
            .iter()
            .filter(|flow| flow.policy == policy)
            .map(|flow| flow.start_ns.get() + flow.fct_ns.unwrap().get());
        ends.max().unwrap()
    };
    let both = last_end("ecmp") + last_end("lcmp");
    let of_run = run.json()["outcome"]["end"]["sim"]["virtual_ns"].as_u64();
    assert_eq!(
        of_run.map(|nanos| nanos.abs_diff(both) < 10),
        Some(true),
        "each policy ends with its last flow"
    );
}

#[test]
fn simulations_are_the_same_bytes_each_time_and_on_any_number_of_threads() {
    let bench = Bench::new();
    let story = ["--story", "all"];
    let once = bench
        .sim_smoke(&[&story[..], &["--threads", "1"]].concat(), 0)
        .tables();
    let empty = once.iter().filter(|table| table.is_empty()).count();
    assert_eq!(empty, 1, "nothing was paused, all else has rows");
    for threads in ["1", "2", "3"] {
        let again = bench.sim_smoke(&[&story[..], &["--threads", threads]].concat(), 0);
        assert!(again.tables() == once, "on {threads} threads");
    }
}

#[test]
fn a_run_without_a_report_has_a_verdict_and_can_get_the_report_later() {
    let bench = Bench::new();
    let run = bench.sim_smoke(&["--no-report", "--trains=1", "--story", "0"], 0);
    assert!(!run.0.join("report.html").exists() && run.0.join("run.json").is_file());
    bench.run(&["report", run.0.to_str().unwrap()]);
    assert!(run.0.join("report.html").is_file());
    let smoke = root().join("scenarios/smoke.yaml");
    let out = bench.run(&["sim", smoke.to_str().unwrap(), "--no-report", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(
        (&json["verdict"], &json["exit"]),
        (&"valid".into(), &0.into())
    );
    assert_eq!(json["reasons"], serde_json::json!([]));
}

/// The second run ends before the last flow's start, which is at 5 ms.
#[test]
fn a_run_that_keeps_only_flows_has_the_evidence_of_all_rows() {
    let bench = Bench::new();
    for (until, exit) in [(&[][..], 0), (&["--until", "1 ms"], 4)] {
        let simulate =
            |more: &[&str]| bench.sim_smoke(&[until, &["--no-report"], more].concat(), exit);
        let full = simulate(&[]);
        for threads in ["1", "2"] {
            let flows = simulate(&["--records", "flows", "--threads", threads]);
            assert!(flows.text("flows.csv") == full.text("flows.csv"));
            for key in ["evidence", "retransmissions"] {
                let end = |run: &Run| run.json()["outcome"]["end"][key].clone();
                assert_eq!(end(&flows), end(&full), "{key}");
                assert!(end(&full).is_object(), "{key}");
            }
            assert!(!flows.0.join("plan.json").exists());
            for table in ["queues.csv", "decisions.csv"] {
                assert_eq!(
                    flows.text(table).lines().count(),
                    1,
                    "the header of {table}"
                );
            }
            let bundle = bench.expect_exit(&["bundle", flows.0.to_str().unwrap()], 2);
            assert!(bundle.stderr.contains("has no `plan.json`"), "{bundle:?}");
            let shown = bench.expect_exit(&["flow", flows.0.to_str().unwrap(), "0"], 0);
            assert!(shown.stdout.contains("decisions are unknown"), "{shown:?}");
        }
    }
}

/// A run that kept only flows is compared as one that kept all: by its settings, and flow by flow.
#[test]
fn runs_that_keep_only_flows_are_compared_like_others() {
    let bench = Bench::new();
    let smoke = root().join("scenarios/smoke.yaml");
    let slow = "name: smoke\ntransport: { window: 20 kB }\n";
    bench.write(
        "slow.yaml",
        &format!("extends: {}\n{slow}", smoke.display()),
    );
    let full = bench.sim_smoke(&["--no-report"], 0);
    let flows = bench.sim_smoke(&["--no-report", "--records", "flows"], 0);
    let arguments = ["sim", "slow.yaml", "--no-report", "--records", "flows"];
    bench.expect_exit(&arguments, 0);
    let slow = bench.latest();
    let compare = |runs: [&Run; 2], exit| {
        let [first, second] = runs.map(|run| run.0.to_str().unwrap());
        bench.expect_exit(&["compare", first, second], exit)
    };
    for runs in [[&full, &flows], [&flows, &full], [&flows, &flows]] {
        let same = compare(runs, 0).stdout;
        assert!(same.contains("Both runs measure the same flows"), "{same}");
    }
    for runs in [[&full, &slow], [&flows, &slow]] {
        let differ = compare(runs, 2).stderr;
        assert!(differ.contains("settings: "), "{differ}");
        assert!(differ.contains("window"), "{differ}");
        assert!(!differ.contains("cc "), "only what differs: {differ}");
    }
}

/// No figure of a report shows these parameters, but flows depend on them.
#[test]
fn runs_whose_links_differ_in_any_parameter_are_unlike() {
    let bench = Bench::new();
    let run = |host: &str, link: &str, fault: &str| {
        let text = format!(
            "name: links
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]
  links: [{{ between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms{link} }}]
  defaults: {{ host_link: {{ delay: {host} }} }}
traffic: [{{ flows: [{{ from: dc1/h1, to: dc2/h1, size: 1 MB }}] }}]
faults: [{{ at: 1 ms, link: [dc1, dc2], delay: {fault} }}]
transport: {{ cc: dcqcn }}
policies: [ecmp]
"
        );
        bench.write("links.yaml", &text);
        bench.expect_exit(
            &["sim", "links.yaml", "--no-report", "--records", "flows"],
            0,
        );
        bench.latest()
    };
    let differ = |one: &Run, other: &Run| {
        let [one, other] = [one, other].map(|run| run.0.to_str().unwrap());
        bench.expect_exit(&["compare", one, other], 2).stderr
    };
    let plain = run("1 us", "", "2 ms");
    let lossy = run("1 us", ", loss: 1/1000000", "2 ms");
    let found = differ(&plain, &lossy);
    assert!(
        found.contains("network: ") && found.contains("loss 1/1000000 on dc1-dc2"),
        "{found}"
    );
    let marked = ", ecn: { k_min: 1 MB, k_max: 4 MB, p_max: 1/5 }";
    let found = differ(&plain, &run("1 us", marked, "2 ms"));
    assert!(
        found.contains("ECN k_min 1 MB, k_max 4 MB, p_max 1/5 on dc1-dc2"),
        "{found}"
    );
    let found = differ(&plain, &run("2 us", "", "2 ms"));
    assert!(
        found.contains("delay 2 us, buffer 32 MB on 2 links of hosts"),
        "{found}"
    );
    let found = differ(&plain, &run("1 us", "", "3 ms"));
    assert!(
        found.contains("faults: ") && found.contains("delay 3 ms"),
        "{found}"
    );
    assert!(!found.contains("network: "), "{found}");
}

#[test]
fn a_run_of_trains_says_so_and_is_the_same_on_any_number_of_threads() {
    let bench = Bench::new();
    let run = bench.sim_smoke(&["--trains=16", "--threads", "1"], 0);
    let json = run.json();
    assert_eq!(json["info"]["engine"]["sim"]["trains"], 16);
    assert_eq!(json["info"]["provenance"]["asked"]["trains"], 16);
    assert!(
        run.text("report.html")
            .contains("simulator, trains of 16 packets")
    );
    let again = bench.sim_smoke(&["--trains=16", "--threads", "3"], 0);
    assert!(again.tables() == run.tables());

    let packets = bench.sim_smoke(&[], 0);
    assert_ne!(
        packets.flows(),
        run.flows(),
        "the times of 16 packets as one"
    );
    assert_eq!(packets.json()["info"]["engine"]["sim"].get("trains"), None);
    let one = bench.sim_smoke(&["--trains=1"], 0);
    assert!(
        one.tables() == packets.tables(),
        "one packet a train is a packet"
    );
    let compared = bench.run(&[
        "fidelity",
        packets.0.to_str().unwrap(),
        run.0.to_str().unwrap(),
    ]);
    assert!(
        compared.stdout.contains("packets against trains"),
        "{compared:?}"
    );
}

#[test]
fn seed_and_policies_override_the_scenarios() {
    let bench = Bench::new();
    let plain = bench.sim_smoke(&[], 0).flows();
    let same = bench.sim_smoke(&["--seed", "2"], 0).flows();
    assert_eq!(same, plain, "the scenario's own seed is 2");
    let other = bench
        .sim_smoke(&["--seed", "3", "--policies", "lcmp"], 0)
        .flows();
    assert!(other.iter().all(|flow| flow.policy == "lcmp"));
    assert_eq!(other.len() * 2, plain.len());
    let starts = |flows: &[FlowRow]| {
        let of_lcmp = flows.iter().filter(|flow| flow.policy == "lcmp");
        of_lcmp
            .map(|flow| (flow.start_ns, flow.size_bytes))
            .collect::<Vec<_>>()
    };
    assert_ne!(starts(&other), starts(&plain));
}

#[test]
fn flows_unfinished_at_the_time_limit_make_a_run_doubtful() {
    let bench = Bench::new();
    let run = bench.sim_smoke(&["--until", "4 ms"], 4);
    let flows = run.flows();
    let count = |status| flows.iter().filter(|flow| flow.status == status).count();
    let [finished, late, unborn] = [
        FlowStatus::Finished,
        FlowStatus::TimedOut,
        FlowStatus::NotReady,
    ]
    .map(count);
    assert!(late > 0 && unborn > 0, "{flows:?}");
    assert_eq!(finished + late + unborn, 12);
    assert_eq!(run.json()["outcome"]["end"]["sim"]["virtual_ns"], 8_000_000);
}

#[test]
fn arguments_that_cannot_be_simulated_are_usage_errors() {
    let bench = Bench::new();
    let path = root().join("scenarios").join("smoke.yaml");
    let smoke = path.to_str().unwrap();
    for (arguments, expected) in [
        (["sim"].as_slice(), "<SCENARIO"),
        (&["sim", "none.yaml"], "cannot read `none.yaml`"),
        (&["sim", smoke, "--threads", "0"], "'0' for '--threads"),
        (&["sim", smoke, "--until", "soon"], "'soon' for '--until"),
        (&["sim", smoke, "--policies", "lcpm"], "`lcpm`"),
        (&["sim", smoke, "--story", "99"], "99"),
        (
            &["sim", smoke, "--trains=0"],
            "a train has 1 to 65535 packets",
        ),
        (
            &["sim", smoke, "--trains=65536"],
            "a train has 1 to 65535 packets",
        ),
        (
            &["sim", smoke, "--trains", "--story", "0"],
            "`--story` records",
        ),
        (
            &["sim", smoke, "--trains", "--scaled"],
            "`--scaled` simulates SoftRoCE",
        ),
        (
            &["sim", smoke, "--records", "flows", "--story", "0"],
            "`--story` needs all records",
        ),
        (
            &["sim", smoke, "--records", "none"],
            "[possible values: full, flows]",
        ),
        (&["sim", smoke, "--artifact", "a", "b"], "--artifact"),
        (&["sim", smoke, "--routes", "r.csv"], "--routes"),
        (&["sim", "--artifact", "none.txt", "b"], "none.txt"),
        (&["import", "none.txt", "b"], "cannot read `b`"),
        (&["validate", "--artifact", "none"], "none/"),
        (&["flow", "none", "1"], "none"),
    ] {
        let message = bench.expect_exit(arguments, 2).stderr;
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    assert!(!bench.0.path().join("results").exists());
}

/// Returns a scenario on the smallest network with `count` flows of 100 GB.
fn huge(count: usize) -> String {
    let text = fs::read_to_string(root().join("scenarios").join("smoke.yaml")).unwrap();
    let (network, rest) = text.split_once("traffic:\n").unwrap();
    let (_, policies) = rest.split_once("\npolicies:").unwrap();
    let mut traffic = "traffic:\n  - flows:\n".to_owned();
    for _ in 0..count {
        traffic.push_str("      - { from: dc1/h1, to: dc2/h1, size: 100 GB }\n");
    }
    format!("{network}{traffic}\npolicies:{policies}")
}

#[test]
fn a_simulation_of_days_is_refused_with_the_estimate() {
    let bench = Bench::new();
    bench.write("days.yaml", &huge(8_000));
    let message = bench.expect_exit(&["sim", "days.yaml"], 2).stderr;
    assert!(
        message.contains("the simulation is too large: 16000 flows of ")
            && message.contains(" packet-hops, which take about ")
            && message.contains("the maximum duration is 24 h (hint: --until"),
        "{message}"
    );
    assert!(!bench.0.path().join("results").exists());
}

#[test]
fn a_simulation_without_enough_memory_is_refused_with_the_estimate() {
    let bench = Bench::new();
    let far = huge(8_000).replacen(
        "rate: 100 Gbit, delay: 5 ms",
        "rate: 90 Tbit, delay: 9 s",
        1,
    );
    bench.write("far.yaml", &far);
    let message = bench.expect_exit(&["sim", "far.yaml"], 3).stderr;
    assert!(
        message.contains("the simulation is too large") && message.contains("this machine has "),
        "{message}"
    );
    assert!(!bench.0.path().join("results").exists());
}

#[test]
fn an_interrupted_simulation_keeps_finished_flows_and_names_policies_not_begun() {
    let bench = Bench::new();
    write_long_scenario(bench.0.path());
    let command = bench.command(&["sim", "long.yaml", "--threads", "1"]);
    let (out, run) = interrupt_at_flows(command, &bench.0.path().join("results"));
    let run = Run(run);
    assert_eq!(out.exit, Some(4), "{out:?}");
    let not_begun = "the run was interrupted; jobs not started: lcmp";
    for part in ["interrupted: keeping the rows written so far", not_begun] {
        assert!(out.stderr.contains(part), "{part}: {}", out.stderr);
    }
    assert!(run.text("run.json").contains(not_begun));
    let flows = run.flows();
    let count = |status| flows.iter().filter(|flow| flow.status == status).count();
    let [finished, interrupted] = [FlowStatus::Finished, FlowStatus::Interrupted].map(count);
    assert!(finished >= 5 && interrupted > 0, "{finished} {interrupted}");
    assert_eq!(finished + interrupted, flows.len());
    assert!(flows.iter().all(|flow| flow.policy == "ecmp"));
    assert!(run.0.join("report.html").is_file());
}

const TRAINED: &str = "
name: trained
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2 }, { name: dc3 }, { name: dc4, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc1, dc3], rate: 40 Gbit, delay: 5 ms }
    - { between: [dc2, dc4], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc3, dc4], rate: 40 Gbit, delay: 5 ms }
traffic:
  - workload: { sizes: sizes.csv, pairs: all-to-all, load: 0.3, duration: 10 ms }
policies: [redte-direct: { train: auto }]
scale: { rate: 1/2000, time: 100 }
";

#[test]
fn an_interrupted_training_leaves_no_weights_and_goes_on_in_the_next_run() {
    let bench = Bench::new();
    bench.write("trained.yaml", TRAINED);
    bench.write("sizes.csv", "bytes,percent\n1000,0\n1000000,100\n");
    let cache = bench.0.path().join("cache/weights");
    let sim = || {
        let mut command = bench.command(&["sim", "trained.yaml"]);
        command.env("LCMP_LAB_CACHE", bench.0.path().join("cache"));
        command
    };
    let entries = || {
        let entries = fs::read_dir(&cache).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let out = interrupt_when(sim(), || {
        entries().iter().any(|it| it.join("lock").exists())
    });
    assert_eq!(out.exit, Some(4), "{out:?}");
    assert!(out.stderr.contains("goes on from there"), "{out:?}");
    let left = entries();
    assert!(left.len() == 1 && left[0].is_dir(), "{left:?}");

    let out: Outcome = sim().output().unwrap().into();
    assert_eq!(out.exit, Some(0), "{out:?}");
    assert!(out.stderr.contains("goes on at step 10\n"), "{out:?}");
    let kept = entries();
    assert!(kept.len() == 1 && kept[0].is_file(), "{kept:?}");
    let inputs = bench.latest().0.join("inputs.json");
    let inputs = fs::read_to_string(inputs).unwrap();
    assert!(inputs.contains("\"trained:redte-direct\""), "{inputs}");

    let out: Outcome = sim().output().unwrap().into();
    assert_eq!(out.exit, Some(0), "{out:?}");
    assert!(!out.stderr.contains("training"), "{out:?}");
}

#[test]
fn flow_shows_the_events_of_a_flow() {
    let bench = Bench::new();
    bench.sim_smoke(&["--story", "0"], 0);
    let text = bench
        .expect_exit(&["flow", "results/latest", "0"], 0)
        .stdout;
    assert!(
        text.starts_with("flow 0: 5 MB from dc1/h1 to dc2/h1"),
        "{text}"
    );
    for part in [
        "\necmp (",
        "\nlcmp (",
        "data path dc1-dc2",
        " started",
        " finished",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let one = bench.expect_exit(&["flow", "results/latest", "0", "--policy", "lcmp"], 0);
    assert!(!one.stdout.contains("\necmp ("), "{}", one.stdout);
    let json = bench.expect_exit(&["--json", "flow", "results/latest", "0"], 0);
    let tales: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(tales.as_array().map(Vec::len), Some(2));
    assert_eq!(tales[0]["flow"]["size_bytes"], 5_000_000);
    let message = bench
        .expect_exit(&["flow", "results/latest", "99"], 2)
        .stderr;
    assert!(message.contains("99"), "{message}");
}

/// Network in the artifact's format: two hosts, each on a DCI switch, 5 ms apart.
const TOPOLOGY: &str = "4 0 2 3\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 40Gbps 5ms 0\n";

/// Flows: source, destination, size in bytes, start in ns. Pairs of flows share a NIC: the artifact's clock rounds down
/// to ns, so that a single flow would take slightly less than its standalone FCT.
const FLOWS: [(u32, u32, u64, u64); 4] = [
    (0, 1, 20_000, 1_000),
    (0, 1, 10_000, 1_500),
    (1, 0, 6_000, 100_000_000),
    (1, 0, 5_000, 100_000_000),
];

/// Next hops of all nodes, as a routing table in the artifact's format.
const ROUTES: &str = "src_id,dst_id,next_hop_id\n0,1,2\n2,1,3\n3,1,1\n1,0,3\n3,0,2\n2,0,0\n";

fn flow_file() -> String {
    let mut text = format!("{}\n", FLOWS.len());
    for (src, dst, size, start) in FLOWS {
        let seconds = 2 + start / 1_000_000_000;
        let nanos = start % 1_000_000_000;
        let _ = writeln!(text, "{src} {dst} 3 100 {size} {seconds}.{nanos:09}");
    }
    text
}

#[test]
fn files_of_the_artifact_are_simulated_as_their_import_is() {
    let bench = Bench::new();
    bench.write("topology.txt", TOPOLOGY);
    bench.write("flows.txt", &flow_file());
    bench.write("routes.csv", ROUTES);
    let files = ["topology.txt", "flows.txt"];
    bench.expect_exit(&[&["sim", "--artifact"], &files[..]].concat(), 0);
    let direct = bench.latest();
    let flows = direct.flows();
    assert_eq!(flows.len(), 12, "four of each policy");
    assert!(direct.text("flows.csv").contains(",artifact,"));
    let policies = ["ecmp", "ucmp-artifact", "lcmp"];
    assert!(
        policies
            .iter()
            .all(|name| direct.text("run.json").contains(name))
    );

    let routed = [
        &["sim", "--artifact"],
        &files[..],
        &["--routes", "routes.csv"],
    ]
    .concat();
    bench.expect_exit(&routed, 0);
    assert_eq!(bench.latest().flows(), flows, "there is only one path");

    let out = bench.expect_exit(
        &[&["import"], &files[..], &["-o", "made/it.yaml"]].concat(),
        2,
    );
    assert!(out.stderr.contains("cannot read `made`"), "{out:?}");
    let out = bench.expect_exit(&[&["import"], &files[..], &["-o", "it.yaml"]].concat(), 0);
    assert_eq!(
        (out.stdout.as_str(), out.stderr.as_str()),
        ("", "wrote it.yaml\n")
    );
    let printed = bench
        .expect_exit(&[&["import"], &files[..]].concat(), 0)
        .stdout;
    let written = fs::read_to_string(bench.0.path().join("it.yaml")).unwrap();
    assert_eq!(printed.trim_end(), written.trim_end());
    bench.expect_exit(&["sim", "it.yaml"], 0);
    assert_eq!(bench.latest().flows(), flows);

    let by_import = ["-o", "it.yaml", "--routes", "routes.csv"];
    bench.expect_exit(&[&["import"], &files[..], &by_import].concat(), 0);
    bench.expect_exit(&["sim", "it.yaml"], 0);
    assert_eq!(bench.latest().flows(), flows);

    bench.write("routes.csv", &ROUTES.replace("3,1,1", "3,1,9"));
    let message = bench.expect_exit(&["sim", "it.yaml"], 2).stderr;
    assert!(message.contains("routes.csv"), "{message}");
    let message = bench.expect_exit(&routed, 2).stderr;
    assert!(message.contains("routes.csv"), "{message}");
    bench.write(
        "topology.txt",
        &TOPOLOGY.replace("100Gbps 1us 0\n1", "100GB 1us 0\n1"),
    );
    let message = bench
        .expect_exit(&[&["import"], &files[..]].concat(), 2)
        .stderr;
    assert!(message.contains("topology.txt:3"), "{message}");
}

/// With the published order of equal-cost next hops and the published delay limit, a run through `import` has the same
/// rows as one without.
#[test]
fn a_published_routing_table_survives_its_import() {
    let Some(artifact) = published::beside(
        env!("CARGO_MANIFEST_DIR"),
        "a_published_routing_table_survives_its_import",
    ) else {
        return;
    };
    let path = |name: &str| artifact.join(name).display().to_string();
    let topology = path(published::TOPOLOGY);
    let flows = path(published::FLOWS);
    let routes = path(published::ROUTES);
    let options = ["--routes", &routes, "--max-delay", "512 ms"];
    let until = ["--until", "8 ms"];
    let bench = Bench::new();
    let direct = [
        &["sim", "--artifact", &topology, &flows],
        &options[..],
        &until,
    ]
    .concat();
    bench.expect_exit(&direct, 4);
    let direct = bench.latest();
    let import = [
        &["import", &topology, &flows, "-o", "it.yaml"],
        &options[..],
    ]
    .concat();
    bench.expect_exit(&import, 0);
    bench.expect_exit(&[&["sim", "it.yaml"], &until[..]].concat(), 4);
    let imported = bench.latest();
    assert!(direct.text("decisions.csv").lines().count() > 3);
    for table in fs::read_dir(&direct.0).unwrap() {
        let name = table.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".csv") || name.ends_with(".parquet") {
            let read = |run: &Run| fs::read(run.0.join(&name)).unwrap();
            assert!(read(&direct) == read(&imported), "{name} differs");
        }
    }
}

/// Writes a directory like the artifact's, with [`FLOWS`] and with a simulation's results as published output.
fn published_by(bench: &Bench) {
    let folder = |name: &str| format!("artifact/{name}");
    bench.write(&folder(published::TOPOLOGY), TOPOLOGY);
    bench.write(&folder(published::FLOWS), &flow_file());
    bench.write(&folder(published::ROUTES), ROUTES);
    let files = [published::TOPOLOGY, published::FLOWS].map(folder);
    bench.expect_exit(&["sim", "--artifact", &files[0], &files[1]], 0);
    let simulated = bench.latest().flows();
    let names = published::POLICIES.map(|(_, name)| name);
    for (policy, name) in ["ecmp", "ucmp-artifact", "lcmp"].into_iter().zip(names) {
        let mut text = String::new();
        for flow in simulated.iter().filter(|flow| flow.policy == policy) {
            let place = flow.flow_id.index();
            let (src, dst, size, start) = FLOWS[place];
            let [src, dst] = [src, dst].map(|host| ids::address(host).to_bits());
            // The second flow between two hosts has the next port number.
            let port = 10_000 + u32::from(place % 2 == 1);
            let start = 2_000_000_000 + start;
            let fct = flow.fct_ns.unwrap().get();
            let _ = writeln!(
                text,
                "{src:08x} {dst:08x} {port} 100 {size} {start} {fct} {}",
                flow.ideal_fct_ns.get()
            );
        }
        bench.write(&folder(&published::fct(name)), &text);
    }
    let head = format!("Link,{}\n", names.join(","));
    let utilisation = folder(published::UTILISATION);
    bench.write(&utilisation, &format!("{head}2-3,1,1,1\n"));
    let compared = bench.expect_exit(&[&["--json"], &VALIDATE[..]].concat(), 1);
    let compared: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
    let averages = [0, 1, 2].map(|policy: usize| {
        let link = &compared["policies"][policy]["links"][0];
        link["simulated_percent"].to_string()
    });
    bench.write(&utilisation, &format!("{head}2-3,{}\n", averages.join(",")));
}

const VALIDATE: [&str; 5] = ["validate", "--artifact", "artifact", "--threads", "1"];

#[test]
fn validate_passes_equal_outputs_and_fails_others() {
    let bench = Bench::new();
    published_by(&bench);
    let out = bench.expect_exit(&VALIDATE, 0);
    for policy in ["ECMP\n", "UCMP\n", "LCMP\n"] {
        assert!(out.stdout.contains(policy), "{}", out.stdout);
    }
    let agreed = "4 of 4 published flows compared; 0 unfinished in the simulation, 0 unknown to it";
    assert_eq!(out.stdout.matches(agreed).count(), 3, "{}", out.stdout);
    let json = bench
        .expect_exit(&[&["--json"], &VALIDATE[..]].concat(), 0)
        .stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["verdict"], &json["exit"]),
        (&"pass".into(), &0.into())
    );
    assert_eq!(json["policies"][2]["policy"], "LCMP");
    assert_eq!(json["policies"][2]["same_fct"], 4);
    assert_eq!(json["policies"][2]["links"].as_array().unwrap().len(), 1);

    let ours = format!("artifact/{}", published::fct("Ours"));
    let text = fs::read_to_string(bench.0.path().join(&ours)).unwrap();
    let first = text.lines().next().unwrap();
    let fields: Vec<&str> = first.split(' ').collect();
    let slower: u64 = fields[6].parse::<u64>().unwrap() * 2;
    bench.write(&ours, &text.replacen(fields[6], &slower.to_string(), 1));
    let out = bench.expect_exit(&VALIDATE, 1);
    assert!(
        out.stderr
            .contains("out of bounds: LCMP: |ΔFCT| / FCT p99 is 5.0e-1"),
        "{}",
        out.stderr
    );
    assert!(
        !out.stderr.contains("out of bounds: ECMP"),
        "{}",
        out.stderr
    );
}

#[test]
fn validate_cannot_decide_on_links_without_published_averages() {
    let bench = Bench::new();
    published_by(&bench);
    let utilisation = format!("artifact/{}", published::UTILISATION);
    let text = fs::read_to_string(bench.0.path().join(&utilisation)).unwrap();
    let lines = text.lines().map(|line| line.rsplit_once(',').unwrap().0);
    let without_ours: Vec<&str> = lines.collect();
    bench.write(&utilisation, &without_ours.join("\n"));
    let out = bench.expect_exit(&VALIDATE, 4);
    let expected = format!(
        "undecided: LCMP: `{}` has no average utilisation of a link\n",
        published::UTILISATION
    );
    assert!(out.stderr.ends_with(&expected), "{}", out.stderr);
    assert_eq!(out.stderr.matches("undecided: ").count(), 1);
}

/// In a network of eight datacenters at high load, each policy's mechanism acts, and its counts are in the closing
/// text, in `run.json` and on the page.
#[test]
fn a_run_shows_each_policys_mechanism_at_work() {
    let bench = Bench::new();
    let scenario = fs::read_to_string(root().join("scenarios/8dc.yaml")).unwrap();
    let head = &scenario[..scenario.find("traffic:").unwrap()];
    // The buffer is smaller than the paper's, which does not fill within 15 ms: C_cong is relative to the buffer.
    let head = head.replace(" ms }", " ms, buffer: 200 MB }");
    let loaded = "traffic:
  - workload:
      sizes: workloads/bulk.csv
      pairs: [{ from: dc1, to: dc8, both_ways: true }]
      load: 0.6
      duration: 15 ms
policies:
  - ecmp
  - lcmp: { max_delay: 524288 us }
  - rm-beta: { max_delay: 524288 us }
  - ucmp: { alpha: 10 }
  - min-delay
  - te: { interval: 2 ms }
scale: { rate: 1/2000, time: 100 }
";
    bench.write("loaded.yaml", &format!("{head}{loaded}"));
    let sizes = fs::read_to_string(root().join("scenarios").join("workloads/bulk.csv")).unwrap();
    bench.write("workloads/bulk.csv", &sizes);
    let out = bench.expect_exit(&["sim", "loaded.yaml"], 0);
    let run = bench.latest();
    let evidence = &run.json()["outcome"]["end"]["evidence"]["policies"];
    let mechanism = |policy: usize| evidence[policy]["mechanism"].clone();
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let lcmp = mechanism(1)["lcmp"].clone();
    let flows = RunDir::open(&run.0).unwrap().info().scheduled_flows;
    assert_eq!(
        number(&lcmp["decisions"]),
        flows,
        "each flow is decided once"
    );
    assert_eq!(number(&lcmp["unexplained"]), 0);
    assert!(number(&lcmp["congestion"]["order"]) > 0, "{lcmp}");
    assert_eq!(lcmp["against_rm_beta"]["policy"], "rm-beta");
    let rm_beta = mechanism(2)["lcmp"].clone();
    assert_eq!(number(&rm_beta["path"]["kept"]), flows);
    assert!(rm_beta["congestion"].is_null() && rm_beta["against_rm_beta"].is_null());
    assert!(number(&mechanism(3)["flow-ageing"]["rerouted"]) > 0);
    let min_delay = mechanism(4)["min-delay"].clone();
    assert_eq!(min_delay["decisions"], min_delay["least_delay"]);
    let splits = mechanism(5)["splits"].clone();
    assert!(number(&splits["changed"]) > 0 && number(&splits["after_first"]) > 0);
    for sentence in ["lcmp: of ", "min-delay: ", "splits installed", "at work"] {
        assert!(out.stdout.contains(sentence), "{sentence}: {}", out.stdout);
    }
    let page = run.text("report.html");
    assert!(page.contains("Did each policy's mechanism act?") && page.contains("splits installed"));
    let summary: serde_json::Value = serde_json::from_str(&run.text("summary.json")).unwrap();
    let warnings = &summary["unexercised"];
    assert!(
        !warnings.to_string().contains("does not test"),
        "{warnings}"
    );
}

/// A script gets the run, verdict and figures as a single JSON object; all other output goes to standard error.
#[test]
fn a_simulation_ends_with_one_object_that_names_its_run() {
    let bench = Bench::new();
    let smoke = root().join("scenarios").join("smoke.yaml");
    let arguments = [
        "--json",
        "sim",
        smoke.to_str().unwrap(),
        "--policies",
        "lcmp,ecmp",
    ];
    let out = bench.expect_exit(&arguments, 0);
    let json: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    let run = bench.latest();
    assert_eq!(json["run"], run.0.to_str().unwrap());
    assert_eq!(
        (&json["verdict"], &json["exit"]),
        (&"valid".into(), &0.into())
    );
    assert_eq!(json["reasons"], serde_json::json!([]));
    let p99 = &json["policies"][0]["slowdown"]["p99"];
    assert!(p99["value"].as_f64() >= p99["low"].as_f64(), "{json:#}");

    let provenance = &run.json()["info"]["provenance"];
    let command = provenance["command"].as_array().unwrap();
    assert_eq!(command[1..], arguments.map(serde_json::Value::from));
    assert_eq!(provenance["policies"].as_array().unwrap().len(), 2);
    assert!(
        provenance["tool_commit"]
            .as_str()
            .is_some_and(|it| !it.is_empty())
    );
    let traffic = provenance["traffic"][1].as_str().unwrap();
    assert!(
        traffic.contains("load 6 % of the hosts' links"),
        "{traffic}"
    );
}

/// A run directory without records, as of a run that failed at its start, never becomes `latest`.
#[test]
fn the_newest_run_has_records() {
    let bench = Bench::new();
    let first = bench.sim_smoke(&[], 0);
    fs::create_dir(
        bench
            .0
            .path()
            .join("results/29991231T000000Z-died-00000000"),
    )
    .unwrap();
    assert_eq!(bench.latest().0, first.0);
    let second = bench.sim_smoke(&["--seed", "7"], 0);
    assert_ne!(second.0, first.0);
    assert!(bench.latest().0.join("run.json").is_file());
}

/// `runs` finds runs by properties and tags; it deletes runs that match a filter only with `--yes`.
#[test]
fn runs_are_listed_tagged_and_deleted() {
    let bench = Bench::new();
    let first = bench.sim_smoke(&["--policies", "ecmp"], 0);
    let name = first.0.file_name().unwrap().to_str().unwrap();
    bench.sim_smoke(&["--policies", "lcmp", "--until", "1 ms"], 4);
    let listed = |arguments: &[&str]| -> serde_json::Value {
        let out = bench.expect_exit(&[&["--json", "runs"], arguments].concat(), 0);
        serde_json::from_str(&out.stdout).unwrap()
    };
    assert_eq!(listed(&[]).as_array().unwrap().len(), 2);
    let valid = listed(&["--verdict", "valid"]);
    assert_eq!(
        (&valid[0]["name"], &valid[0]["policies"][0]),
        (&name.into(), &"ecmp".into())
    );
    assert_eq!(valid.as_array().unwrap().len(), 1);
    assert!(
        valid[0]["size_bytes"].as_u64().unwrap() > 10_000,
        "{valid:#}"
    );

    bench.expect_exit(&["runs", "tag", name, "keep"], 0);
    assert_eq!(
        listed(&["--tag", "keep"])[0]["tags"],
        serde_json::json!(["keep"])
    );
    bench.expect_exit(&["runs", "tag", name, "two words"], 2);
    bench.expect_exit(&["runs", "delete"], 2);
    let shown = bench.expect_exit(&["runs", "delete", "--policy", "lcmp"], 2);
    assert!(
        shown.stderr.contains("these runs would be deleted"),
        "{shown:?}"
    );
    assert_eq!(listed(&[]).as_array().unwrap().len(), 2);
    bench.expect_exit(&["runs", "delete", "--policy", "lcmp", "--yes"], 0);
    assert_eq!(listed(&[])[0]["name"], name);
    assert_eq!(bench.latest().0, first.0);
    bench.expect_exit(&["runs", "delete", "latest"], 0);
    assert_eq!(listed(&[]), serde_json::json!([]));
}

/// Runs of different plans are compared only if the command line declares all their differences.
#[test]
fn runs_are_compared_with_the_differences_that_are_meant() {
    let bench = Bench::new();
    let first = bench.sim_smoke(&[], 0);
    let second = bench.sim_smoke(&["--seed", "7"], 0);
    let paths = [&first, &second].map(|run| run.0.to_str().unwrap().to_owned());
    let compare = |more: &[&str], exit| {
        let arguments = [&["compare", &paths[0], &paths[1]], more].concat();
        bench.expect_exit(&arguments, exit)
    };
    let refused = compare(&[], 2);
    assert!(refused.stderr.contains("seed: 2 | 7"), "{refused:?}");
    assert!(refused.stderr.contains("`--differs seed`"), "{refused:?}");
    let wrong = compare(&["--differs", "colour"], 2);
    assert!(
        wrong.stderr.contains("one of scenario, network"),
        "{wrong:?}"
    );

    let out = compare(&["--differs", "seed", "--json"], 0);
    let json: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(
        json["differences"][0]["values"],
        serde_json::json!(["2", "7"])
    );
    assert_eq!(json["against"][0]["is_paired"], false);
    assert!(Path::new(json["page"].as_str().unwrap()).is_file());
}

/// Scenario with an overload for 100 ms, in which later flows wait longer.
const ARRIVALS: &str = "\
name: arrivals
topology:
  dcs:
    - { name: dc1, hosts: 2 }
    - { name: dc3, hosts: 2 }
  links:
    - { between: [dc1, dc3], rate: 1 Gbit, delay: 2 ms }
traffic:
  - workload:
      sizes: sizes.csv
      pairs: [{ from: dc1, to: dc3 }]
      load: 0.006
      duration: 100 ms
policies: [ecmp]
";

/// Simulates [`ARRIVALS`] for `duration`; returns the run directory.
fn sim_arrivals(bench: &Bench, duration: &str, more: &[&str], exit: i32) -> String {
    bench.write(
        "sizes.csv",
        "bytes,percent\n10000,0\n100000,50\n200000,100\n",
    );
    let text = ARRIVALS.replace("100 ms", duration);
    bench.write("arrivals.yaml", &text);
    bench.expect_exit(&[&["sim", "arrivals.yaml"], more].concat(), exit);
    bench.latest().0.to_str().unwrap().to_owned()
}

/// Compares two runs; returns the result for their only policy, and the whole comparison.
fn compare_arrivals(
    bench: &Bench,
    runs: [&str; 2],
    differs: &str,
    exit: i32,
) -> [serde_json::Value; 2] {
    let arguments = ["compare", runs[0], runs[1], "--differs", differs, "--json"];
    let out = bench.expect_exit(&arguments, exit);
    let json: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    let against = json["against"][0].clone();
    [against["policies"][0].clone(), against]
}

fn has_meaning(text: &str) -> bool {
    let words = ["better", "worse", "the same within", "no difference"];
    words.into_iter().any(|word| text.contains(word))
}

/// Half of the longer run's flows also belong to the shorter run. They must not be paired, because each column is about
/// all flows of its run.
#[test]
fn runs_of_which_only_some_flows_are_common_are_not_paired() {
    let bench = Bench::new();
    let short = sim_arrivals(&bench, "100 ms", &[], 0);
    let long = sim_arrivals(&bench, "200 ms", &[], 0);
    let differs = "traffic,settings";
    let [ecmp, against] = compare_arrivals(&bench, [&short, &long], differs, 0);
    assert_eq!(against["is_paired"], false);
    assert_eq!(against["intervals"], "none: one draw of arrivals");
    assert_eq!(ecmp["paired"], serde_json::Value::Null);
    let p50 = |run: &str| ecmp[run]["p50"]["value"].as_f64().unwrap();
    let change = &ecmp["change"]["p50"];
    let found = change["value"].as_f64().unwrap();
    assert!(
        (found - (p50("other") / p50("base") - 1.0)).abs() < 1e-12,
        "{ecmp}"
    );
    assert!(found > 0.3, "{ecmp}");
    assert_eq!(change["interval"], serde_json::Value::Null);
    // The shorter run has 157 flows, too few for a p99.
    assert_eq!(ecmp["change"]["p99"], serde_json::Value::Null);
    let text = bench.expect_exit(&["compare", &short, &long, "--differs", differs], 0);
    assert!(text.stdout.contains("% in this draw"), "{text:?}");
    assert!(
        text.stdout.contains("– (157 flows have no p99)"),
        "{text:?}"
    );
    assert!(!has_meaning(&text.stdout), "{text:?}");
}

/// 30 flows in each of three repetitions are 90 flows, but the same 30 each time.
#[test]
fn repetitions_of_listed_flows_are_no_draws() {
    let bench = Bench::new();
    let flow =
        |at: u32| format!("      - {{ from: a/h1, to: b/h1, size: 1 MB, start: {at} ms }}\n");
    let flows: String = (0..30).map(flow).collect();
    let scenario = format!(
        "name: listed
topology:
  dcs: [{{ name: a, hosts: 1 }}, {{ name: b, hosts: 1 }}]
  links: [{{ between: [a, b], rate: 10 Gbit, delay: 1 ms }}]
traffic:
  - flows:
{flows}policies: [ecmp, wcmp]
repetitions: 3
"
    );
    bench.write("listed.yaml", &scenario);
    let out = bench.expect_exit(&["sim", "listed.yaml"], 0).stdout;
    let words: Vec<&str> = out.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("All have the same listed flows"), "{out}");
    assert!(text.contains("In this draw, ecmp"), "{out}");
    assert!(!text.contains("another draw"), "{out}");
}

#[test]
fn a_run_is_the_same_as_itself_over_its_repetitions() {
    let bench = Bench::new();
    let run = sim_arrivals(&bench, "50 ms", &["--repetitions", "3"], 0);
    let [ecmp, against] = compare_arrivals(&bench, [&run, &run], "seed", 0);
    assert_eq!(against["is_paired"], true);
    assert_eq!(against["intervals"], "student-t over repetitions");
    let interval = serde_json::json!({ "low": 0.0, "high": 0.0 });
    assert_eq!(ecmp["change"]["p50"]["interval"], interval);
    assert_eq!(ecmp["paired"]["cliffs_delta"], 0.0);
    let text = bench.expect_exit(&["compare", &run, &run], 0);
    assert!(
        text.stdout.contains("[±0.0, ±0.0]: the same within 1 %"),
        "{text:?}"
    );
}

#[test]
fn a_run_that_was_cut_has_lower_bounds_and_no_changes() {
    let bench = Bench::new();
    let whole = sim_arrivals(&bench, "100 ms", &[], 0);
    let cut = sim_arrivals(&bench, "100 ms", &["--until", "60 ms"], 4);
    let refused = bench.expect_exit(&["compare", &whole, &cut], 2);
    assert!(
        refused
            .stderr
            .contains("until: the last flow's end | 60 ms"),
        "{refused:?}"
    );
    let [ecmp, against] = compare_arrivals(&bench, [&whole, &cut], "until", 4);
    assert_eq!(against["is_paired"], true);
    assert_eq!(against["not_valid"], serde_json::json!(["B"]));
    assert_eq!(
        [&ecmp["change"], &ecmp["paired"], &ecmp["paper"]],
        [&serde_json::Value::Null; 3]
    );
    let [base, other] = [&ecmp["base"], &ecmp["other"]];
    assert_eq!(
        (&base["at_least"], &other["at_least"]),
        (&false.into(), &true.into())
    );
    assert_eq!(base["flows"], other["flows"]);
    let p50 = |run: &serde_json::Value| run["p50"]["value"].as_f64().unwrap();
    assert!(p50(other) <= p50(base), "{ecmp}");
    let text = bench.expect_exit(&["compare", &whole, &cut, "--differs", "until"], 4);
    assert!(text.stdout.contains("→ ≥ "), "{text:?}");
    assert!(text.stdout.contains("Not valid: B."), "{text:?}");
}

#[test]
fn a_hash_is_judged_by_its_decisions_before_the_first_fault() {
    let bench = Bench::new();
    let scenario = root().join("scenarios/failover.yaml");
    let out = bench.expect_exit(&["sim", "--scaled", scenario.to_str().unwrap()], 0);
    let words: Vec<&str> = out.stdout.split_whitespace().collect();
    let said = words.join(" ");
    let judged = "decisions before the first fault over 12 of 12 next hops";
    assert!(said.contains(judged), "{said}");
    assert!(!said.contains("does not spread"), "{said}");
}

#[test]
fn a_sweep_of_loads_is_a_run_of_each() {
    let bench = Bench::new();
    let scenario = fs::read_to_string(root().join("scenarios/smoke.yaml")).unwrap();
    let swept = scenario.replace("load: 0.06", "load: [0.02, 0.06]");
    bench.write("sweep.yaml", &swept);
    let sizes = fs::read_to_string(root().join("scenarios/workloads/bulk.csv")).unwrap();
    bench.write("workloads/bulk.csv", &sizes);
    let both = bench.expect_exit(&["sim", "sweep.yaml"], 0);
    assert!(both.stderr.contains("run 1 of 2: smoke-2\n"), "{both:?}");
    assert!(both.stderr.contains("run 2 of 2: smoke-6\n"), "{both:?}");
    let latest = || bench.latest().0.to_str().unwrap().to_owned();
    assert!(latest().contains("smoke-6"), "{}", latest());
    let one = ["sim", "sweep.yaml", "--load", "0.02", "--repetitions"];
    let twice = bench.expect_exit(&[&one[..], &["2"]].concat(), 0);
    assert!(!twice.stderr.contains("run 1"), "{twice:?}");
    assert!(latest().contains("smoke-2"), "{}", latest());
    assert_eq!(bench.latest().json()["info"]["repetitions"], 2);
    bench.expect_exit(&[&one[..], &["0"]].concat(), 2);
    bench.expect_exit(&["sim", "sweep.yaml", "--load", "0"], 2);
    bench.expect_exit(&["up", "sweep.yaml", "--keep"], 2);
}
