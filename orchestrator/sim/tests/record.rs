//! Tests of the rows that a recorded simulation writes.

use std::{collections::BTreeSet, fs, path::Path};

use lab_plan::{Engine, Plan, PlanOptions};
use lab_recorder::{RowBatch, RunSetting, Witness, run_info};
use lab_records::{
    DecisionRow, Evidence, FlowRow, FlowStatus, LinkRow, Mechanism, PathRow, QueueRow, RateRow,
    Row, RunDir, RunInfo, RunWriter, StoryEvent, StoryRow, SwitchRow,
};
use lab_sample as sample;
use lab_sim::{EndReason, Job, Outcome, RunOptions, Samples, SimTime, TraceFilter, record};
use lab_units::{FlowId, Nanos};

/// Scenario with two paths, each of two inter-DC links, and three consecutive flows.
const DIAMOND: &str = "
name: diamond
topology:
  dcs: [{ name: dc1, hosts: 2 }, { name: dc2 }, { name: dc3 }, { name: dc4, hosts: 2 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc2, dc4], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc1, dc3], rate: 40 Gbit, delay: 2 ms }
    - { between: [dc3, dc4], rate: 40 Gbit, delay: 2 ms }
traffic:
  - flows:
      - { from: dc1/h1, to: dc4/h1, size: 2 MB }
      - { from: dc1/h2, to: dc4/h1, size: 4 MB, start: 1 ms }
      - { from: dc4/h2, to: dc1/h1, size: 1 MB, start: 50 ms }
policies: [ecmp, lcmp]
measure: { links: 5 ms, queues: 5 ms, switches: 5 ms }
";

fn plan(text: &str, is_scaled: bool) -> Plan {
    let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).expect("a scenario");
    let options = PlanOptions {
        engine: Engine::Sim,
        is_scaled,
        ..PlanOptions::default()
    };
    lab_plan::resolve(&scenario, text, &lab_scenario::Files::new(), &options).expect("a plan")
}

fn info(plan: &Plan) -> RunInfo {
    let setting = RunSetting::simulated(plan, 1, None, String::new());
    run_info(plan, "", &setting)
}

fn run(dir: &Path, plan: &Plan, options: &RunOptions) -> Vec<Outcome> {
    witnessed(dir, plan, options).0
}

/// Records a run of all policies in `dir`, and returns also the evidence that was collected meanwhile.
fn witnessed(dir: &Path, plan: &Plan, options: &RunOptions) -> (Vec<Outcome>, Evidence) {
    let info = info(plan);
    let mut writer = RunWriter::create_in(dir, sample::now(), &info).expect("a run");
    let mut witness = Witness::new(plan, &info.engine);
    let outcomes = (0..plan.policies.len())
        .map(|policy| {
            let job = Job::new(plan, policy, 0);
            let sink = &mut |rows: &RowBatch| {
                witness.add(rows);
                rows.write(&mut writer)
            };
            record(job, options, sink, &mut |_| true).expect("a simulation")
        })
        .collect();
    writer.finish(sample::end()).expect("an end");
    (outcomes, witness.evidence(&info))
}

fn rows<R: Row>(dir: &Path) -> Vec<R> {
    let run = RunDir::open(dir).expect("a run directory");
    let mut rows = Vec::new();
    run.visit(|row| rows.push(row)).expect("its rows");
    rows
}

#[test]
fn a_run_directory_has_every_flow_with_its_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(DIAMOND, false);
    run(folder.path(), &plan, &RunOptions::default());
    let flows: Vec<FlowRow> = rows(folder.path());
    assert_eq!(flows.len(), 6);
    for flow in &flows {
        assert_eq!(flow.status, FlowStatus::Finished);
        assert!(flow.slowdown.expect("it finished") >= 1.0, "{flow:?}");
        let path = flow.path.as_ref().expect("it crossed a link").as_str();
        let ack_path = flow
            .ack_path
            .as_ref()
            .expect("it was acknowledged")
            .as_str();
        let ends = (&*flow.src_dc, &*flow.dst_dc);
        let paths = match ends {
            ("dc1", "dc4") => ["dc1-dc2-dc4", "dc1-dc3-dc4", "dc4-dc2-dc1", "dc4-dc3-dc1"],
            _ => ["dc4-dc2-dc1", "dc4-dc3-dc1", "dc1-dc2-dc4", "dc1-dc3-dc4"],
        };
        assert!(paths[..2].contains(&path), "{ends:?} by {path}");
        assert!(
            paths[2..].contains(&ack_path),
            "{ends:?}: ACKs by {ack_path}"
        );
    }
}

#[test]
fn a_flows_path_follows_its_decision() {
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), &plan(DIAMOND, false), &RunOptions::default());
    let flows: Vec<FlowRow> = rows(folder.path());
    let decisions: Vec<DecisionRow> = rows(folder.path());
    // Each flow gets one decision for its data and one for its ACKs.
    assert_eq!(decisions.len(), 2 * flows.len());
    for decision in decisions {
        let is_its = |flow: &&FlowRow| {
            Some(flow.flow_id) == decision.flow_id && flow.policy == decision.policy
        };
        let flow = flows.iter().find(is_its).expect("a decision is a flow's");
        let path = if decision.switch == flow.src_dc {
            &flow.path
        } else {
            &flow.ack_path
        };
        let chosen = decision.chosen.expect("it chose");
        let path = path.as_ref().expect("known").as_str();
        assert!(path.contains(&chosen), "{chosen} is not on {path}");
    }
}

#[test]
fn rates_of_queue_pairs_are_recorded_under_dcqcn_alone() {
    // Hosts have 100 Gbit/s; the links of the paths have 40 Gbit/s and mark packets.
    let marking = "delay: 100 us, ecn: { k_min: 40 kB, k_max: 160 kB, p_max: 0.2 } }";
    let text = DIAMOND
        .replace("delay: 5 ms }", marking)
        .replace("delay: 2 ms }", marking)
        .replace("rate: 100 Gbit", "rate: 40 Gbit")
        .replace("size: 2 MB", "size: 40 MB");
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), &plan(&text, false), &RunOptions::default());
    assert_eq!(
        rows::<RateRow>(folder.path()),
        [],
        "without congestion control"
    );

    let text = text + "transport: { cc: dcqcn }\n";
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), &plan(&text, false), &RunOptions::default());
    let rates: Vec<RateRow> = rows(folder.path());
    let of_first: Vec<&RateRow> = rates
        .iter()
        .filter(|row| row.policy == "ecmp" && row.flow_id == FlowId(0))
        .collect();
    let times: Vec<u64> = of_first.iter().map(|row| row.time_ns.get()).collect();
    assert!(
        times.len() > 10 && times.iter().all(|time| time % 220_000 == 0),
        "{times:?}"
    );
    // α is 1 until the first cut, which halves the rate, and decays afterwards.
    let cut = of_first
        .iter()
        .find(|row| row.cnps > 0)
        .expect("a CNP came");
    assert!(
        cut.rate_bps.get() < 100_000_000_000 && cut.alpha > 0.9,
        "{cut:?}"
    );
    let last = of_first.last().expect("a sample");
    assert!(
        last.alpha < cut.alpha && last.target_bps >= last.rate_bps,
        "{last:?}"
    );
}

/// The switches of dc1 and dc4 have two next hops each, and make the decisions for the three flows that start in their
/// datacenters.
#[test]
fn a_flow_without_a_decision_of_its_sources_switch_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(DIAMOND, false);
    run(folder.path(), &plan, &RunOptions::default());
    let undecided = || {
        let evidence = lab_recorder::evidence(&plan, folder.path()).expect("readable");
        evidence
            .policies
            .into_iter()
            .map(|policy| policy.undecided)
            .collect::<Vec<_>>()
    };
    assert_eq!(undecided(), [0, 0]);
    let path = folder.path().join("decisions.csv");
    let text = fs::read_to_string(&path).expect("readable");
    let is_of_dc1_for_lcmp = |line: &str| line.contains("lcmp") && line.contains(",dc1,");
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| !is_of_dc1_for_lcmp(line))
        .collect();
    fs::write(&path, kept.join("\n") + "\n").expect("writable");
    assert_eq!(undecided(), [0, 2], "the third starts at dc4");
}

/// While a run goes on, a flow's row comes after its decisions and after samples of its links; in a run directory, it
/// comes first. A cut re-routes flows, TE installs splits every 20 ms, and UCMP's flows age within 10 µs.
#[test]
fn evidence_of_a_run_is_that_of_its_rows() {
    let policies = "policies:
  - ecmp
  - lcmp
  - ucmp: { ageing: true, alpha: 10, quantum: 10 us }
  - te: { interval: 20 ms }
faults:
  - { at: 100 us, link: [dc1, dc2], down: true }
  - { at: 30 ms, link: [dc1, dc2], up: true }
";
    let text = DIAMOND.replace("policies: [ecmp, lcmp]\n", policies);
    let plan = plan(&text, false);
    let folder = tempfile::tempdir().expect("a folder");
    let (_, during) = witnessed(folder.path(), &plan, &RunOptions::default());
    let after = lab_recorder::evidence(&plan, folder.path()).expect("readable");
    assert_eq!(during, after);
    let of_lcmp = &during.policies[1];
    assert!(of_lcmp.failovers[0].decisions > 0, "{of_lcmp:?}");
    assert!(of_lcmp.met.busiest.is_some(), "{of_lcmp:?}");
    let [ucmp, te] = [2, 3].map(|at: usize| &during.policies[at].mechanism);
    assert!(
        matches!(ucmp, Mechanism::FlowAgeing { rerouted: 1.., .. }),
        "{ucmp:?}"
    );
    assert!(
        matches!(te, Mechanism::Splits(splits) if splits.installed > 0),
        "{te:?}"
    );
}

/// The plan in the records has the addresses of lab slot 0; a lab's rows have the addresses of its own slot.
#[test]
fn rows_of_a_lab_in_another_slot_give_the_same_evidence() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(DIAMOND, false);
    run(folder.path(), &plan, &RunOptions::default());
    let evidence = |plan: &Plan| lab_recorder::evidence(plan, folder.path()).expect("readable");
    let own = evidence(&plan);
    assert_eq!(evidence(&plan.in_slot(3)), own);
}

/// A flow of 6.25 MB starts every millisecond for 8 ms, which offers half of 100 Gbit/s. Five flows start before the
/// time limit of 5 ms, and offer the same load: 31.25 MB in 5 ms are 50 Gbit/s. The start of the fifth flow determines
/// the fraction of the 8 ms that the run covers.
#[test]
fn a_cut_run_offers_the_load_of_the_workloads_flows_that_started() {
    let text = "
name: cut
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms }]
traffic:
  - workload:
      sizes: sizes.csv
      pairs: [{ from: dc1, to: dc2 }]
      load: 0.5
      load_base: dci-egress
      arrivals: even
      duration: 8 ms
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 1 MB, start: 10 ms }]
policies: [ecmp]
";
    let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).expect("a scenario");
    let sizes = "bytes,percent\n6250000,0\n6250001,100\n".to_owned();
    let files = lab_scenario::Files::from([("sizes.csv".to_owned(), sizes)]);
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    let plan = lab_plan::resolve(&scenario, text, &files, &options).expect("a plan");
    let folder = tempfile::tempdir().expect("a folder");
    let options = RunOptions {
        until: Some(SimTime::from_micros(5_000)),
        ..RunOptions::default()
    };
    run(folder.path(), &plan, &options);
    let evidence = lab_recorder::evidence(&plan, folder.path()).expect("readable");
    let is_near = |found: f64, expected: f64| (found - expected).abs() < 1e-6;
    assert!(is_near(evidence.load[0].offered, 0.5), "{evidence:?}");
    let fifth = plan.flows[4].paper_start_ns;
    assert!(fifth <= Nanos::from_millis(5), "{fifth}");
    let covered = evidence.covered.expect("a workload");
    let ratio = FlowRow::slowdown_of(fifth, Nanos::from_millis(8)).expect("a duration");
    assert!(is_near(covered, ratio), "{covered} {ratio}");
    let listed = (evidence.listed.flows, evidence.listed.bytes.get());
    assert_eq!(listed, (1, 1_000_000));
}

/// There are 16,383 flow labels. Without additional source addresses, two more flows between two hosts would have the
/// five-tuples of the first two and find their table entries. With additional source addresses, each flow gets its own
/// decision.
#[test]
fn more_flows_between_two_hosts_than_ports_are_each_decided() {
    let folder = tempfile::tempdir().expect("a folder");
    // The scenario's text is close to its maximum size, one mebibyte.
    let flow = |n: u32| format!("    - {{from: dc1/h1, to: dc4/h1, size: 100 B, start: {n} us}}\n");
    let flows: String = (0..16_385).map(flow).collect();
    let (topology, _) = DIAMOND.split_once("traffic:").expect("its traffic");
    let text = format!(
        "{topology}traffic:\n  - flows:\n{flows}policies: [ecmp]\ngenerator: {{ tool: verbs }}\n"
    );
    let plan = plan(&text, false);
    run(folder.path(), &plan, &RunOptions::default());
    let decisions: Vec<DecisionRow> = rows(folder.path());
    let of_data = decisions.iter().filter(|row| row.switch == "dc1");
    let tuples: BTreeSet<_> = of_data.map(|row| (row.src, row.dst, row.sport)).collect();
    assert_eq!(tuples.len(), 16_385);
    let flows: Vec<FlowRow> = rows(folder.path());
    assert!(
        flows
            .iter()
            .all(|row| row.path.is_some() && row.ack_path.is_some())
    );
}

/// A SoftRoCE flow of 200 packets sends its window, 129 packets, then 66 at its first ACK and 5 at its second, 400 ms
/// apart. Twenty flows that start 4 ms apart are all in dc1's table at 100, 500 and 900 ms. The table has a capacity of
/// 16 flows and is sampled every 100 ms. The first four flows are the least recently seen each time: they are evicted
/// and, after the first two times, decided again.
#[test]
fn a_full_table_evicts_the_least_recently_seen_flows_at_a_sample() {
    let folder = tempfile::tempdir().expect("a folder");
    let flow = |n: u32| {
        let start = 4 * n;
        format!("    - {{from: dc1/h1, to: dc4/h1, size: 40960 kB, start: {start} ms}}\n")
    };
    let flows: String = (0..20).map(flow).collect();
    let (topology, _) = DIAMOND.split_once("traffic:").expect("its traffic");
    let topology = topology
        .replace("delay: 5 ms", "delay: 100 ms")
        .replace("40 Gbit, delay: 2 ms", "100 Gbit, delay: 100 ms");
    let text = format!(
        "{topology}traffic:\n  - flows:\n{flows}policies:\n  - lcmp: {{ beta: 0, flow_table_entries: 16, \
         sample_interval: 100 ms, idle_timeout: 10 s, gc_interval: 10 s }}\n\
         generator: {{ tool: verbs, mtu: 1024 }}\nscale: {{ rate: 1/200, time: 1 }}\n"
    );
    run(folder.path(), &plan(&text, true), &RunOptions::default());
    let decisions: Vec<DecisionRow> = rows(folder.path());
    let times = |flow| {
        let is_its = |row: &&DecisionRow| row.switch == "dc1" && row.flow_id == Some(FlowId(flow));
        decisions.iter().filter(is_its).count()
    };
    let times: Vec<usize> = (0..20).map(times).collect();
    assert_eq!(times[..4], [3; 4]);
    assert_eq!(times[4..], [1; 16]);
    let switches: Vec<SwitchRow> = rows(folder.path());
    let last = switches
        .iter()
        .rfind(|row| row.switch == "dc1")
        .expect("a sample");
    assert_eq!((last.evicted, last.occupancy), (12, 16));
}

#[test]
fn links_carry_the_flows_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), &plan(DIAMOND, false), &RunOptions::default());
    let links: Vec<LinkRow> = rows(folder.path());
    let last = |from: &str| -> u64 {
        let sent = |to: &str| {
            let of_link =
                |row: &&LinkRow| row.policy == "ecmp" && row.from_dc == from && row.to_dc == to;
            links
                .iter()
                .rfind(of_link)
                .expect("a sample")
                .tx_bytes
                .get()
        };
        sent("dc2") + sent("dc3")
    };
    // 6 MB go in one direction and 1 MB in the other, plus headers; ACKs are less than a tenth of that.
    assert!(
        (6_000_000..6_600_000).contains(&last("dc1")),
        "{}",
        last("dc1")
    );
    assert!(
        (1_000_000..1_600_000).contains(&last("dc4")),
        "{}",
        last("dc4")
    );
    let queues: Vec<QueueRow> = rows(folder.path());
    assert!(
        queues
            .iter()
            .any(|row| row.time_ns == Nanos::from_millis(5))
    );
}

#[test]
fn a_switchs_counters_agree_with_its_decisions() {
    let folder = tempfile::tempdir().expect("a folder");
    // The third flow is active when a link at its datacenter is cut.
    let text = format!(
        "{DIAMOND}transport: {{ retransmit_timeout: 50 ms }}\n\
         faults: [{{ at: 50050 us, link: [dc4, dc3], down: true }}]\n"
    );
    run(folder.path(), &plan(&text, false), &RunOptions::default());
    let decisions: Vec<DecisionRow> = rows(folder.path());
    let switches: Vec<SwitchRow> = rows(folder.path());
    assert!(decisions.iter().any(|row| row.reason == "failover"));
    for switch in &switches {
        let made = decisions.iter().filter(|row| {
            let is_its = row.policy == switch.policy && row.switch == switch.switch;
            is_its && row.time_ns <= switch.time_ns
        });
        let (failovers, others): (Vec<_>, Vec<_>) = made.partition(|row| row.reason == "failover");
        let fallbacks = others
            .iter()
            .filter(|row| row.reason.ends_with("-fallback"));
        assert_eq!(switch.decisions, (failovers.len() + others.len()) as u64);
        assert_eq!(switch.failovers, failovers.len() as u64);
        assert!(switch.fallbacks >= fallbacks.count() as u64);
        let pinned = switch.occupancy + switch.evicted + switch.expired;
        assert_eq!(pinned, others.len() as u64, "each flow is entered once");
        assert_eq!((switch.stale, switch.restarts), (0, 0));
    }
    // There is a sample every 5 ms, and one at the end.
    let of_dc1: Vec<&SwitchRow> = switches
        .iter()
        .filter(|row| (&*row.policy, &*row.switch) == ("lcmp", "dc1"))
        .collect();
    assert_eq!(of_dc1[1].time_ns, Nanos::from_millis(10));
    // Two decisions fall into the first 5 ms; a third one is for the last flow's ACKs.
    assert_eq!(of_dc1[0].decisions_per_s, 400);
    let last = of_dc1.last().expect("rows");
    assert_eq!(last.decisions, 3);
    // Every packet that needs no decision is a table hit.
    let sent = 6_000_000_u64.div_ceil(4096);
    assert!(last.hits >= sent - 2, "{}", last.hits);
}

#[test]
fn the_same_plan_gives_the_same_bytes_on_any_number_of_threads() {
    let plan = plan(DIAMOND, false);
    let tables = |threads: usize| {
        let folder = tempfile::tempdir().expect("a folder");
        let options = RunOptions {
            threads,
            trace_filter: TraceFilter::All,
            ..RunOptions::default()
        };
        run(folder.path(), &plan, &options);
        let read = |name: &str| fs::read(folder.path().join(name)).expect("a table");
        ["flows", "links", "queues", "decisions", "switches", "story"]
            .map(|table| read(&format!("{table}.csv")))
    };
    let once = tables(1);
    assert!(once.iter().all(|table| table.len() > 200));
    for threads in [1, 2, 4] {
        assert!(tables(threads) == once, "on {threads} threads");
    }
}

/// Of the samples every 3 ms, the first after the last flow's start at 4 ms counts.
#[test]
fn totals_are_enough_for_the_evidence() {
    let links = DIAMOND.split_once("traffic:").expect("its traffic").0;
    let text = format!(
        "{links}traffic:
  - flows:
      - {{ from: dc1/h1, to: dc4/h1, size: 5 MB }}
      - {{ from: dc1/h1, to: dc4/h1, size: 20 MB, start: 4 ms }}
measure: {{ links: 3 ms, queues: 1 ms }}
policies: [ecmp, lcmp]
"
    );
    let plan = plan(&text, false);
    let record = |samples: Samples, until: Option<SimTime>| {
        let folder = tempfile::tempdir().expect("a folder");
        let options = RunOptions {
            samples,
            until,
            ..RunOptions::default()
        };
        let (_, evidence) = witnessed(folder.path(), &plan, &options);
        let links: Vec<LinkRow> = rows(folder.path());
        let queues = rows::<QueueRow>(folder.path()).len();
        let decisions = rows::<DecisionRow>(folder.path()).len();
        (evidence, links, [queues, decisions])
    };
    let (series, all, sampled) = record(Samples::Series, None);
    let (totals, few, none) = record(Samples::Totals, None);
    assert_eq!(totals, series);
    assert!(totals.policies.iter().all(|it| it.met.busiest.is_some()));
    // The last flow starts after this end.
    let until = Some(SimTime::from_micros(3_500));
    assert_eq!(
        record(Samples::Totals, until).0,
        record(Samples::Series, until).0
    );
    // The first sample after the last start, and the last one, which is taken at the end of a window of virtual time. Two
    // samples of eight link directions, for each of two policies.
    let counts = |links: &[LinkRow], is_needed: &dyn Fn(&LinkRow, Nanos) -> bool| {
        let end = |row: &LinkRow| {
            let of_policy = links.iter().filter(|it| it.policy == row.policy);
            of_policy.map(|it| it.time_ns).max().unwrap_or_default()
        };
        let needed = links.iter().filter(|row| is_needed(row, end(row)));
        let counts: Vec<_> = needed
            .map(|row| (row.policy.clone(), row.from_dc.clone(), row.tx_bytes))
            .collect();
        counts
    };
    let first = Nanos::from_millis(6);
    let needed = counts(&all, &|row, end| row.time_ns == first || row.time_ns == end);
    assert_eq!(needed.len(), 32);
    assert!(sampled.iter().all(|&rows| rows > 0), "{sampled:?}");
    assert_eq!((counts(&few, &|_, _| true), none), (needed, [0, 0]));
    assert!(few.iter().any(|row| row.time_ns == first));
}

#[test]
fn a_run_ends_with_its_last_flow() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(DIAMOND, false);
    let outcomes = run(folder.path(), &plan, &RunOptions::default());
    let flows: Vec<FlowRow> = rows(folder.path());
    for (outcome, policy) in outcomes.iter().zip(["ecmp", "lcmp"]) {
        let of_policy = flows.iter().filter(|flow| flow.policy == policy);
        let ends = of_policy.map(|flow| flow.start_ns.saturating_add(flow.fct_ns.expect("an end")));
        assert_eq!(Some(outcome.end.nanos_trunc()), ends.max(), "{policy}");
    }
}

#[test]
fn an_interrupted_run_keeps_its_finished_flows() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(DIAMOND, false);
    let mut writer = RunWriter::create_in(folder.path(), sample::now(), &sample::info())
        .expect("a run directory");
    let outcome = record(
        Job::new(&plan, 0, 0),
        &RunOptions::default(),
        &mut |rows| rows.write(&mut writer),
        &mut |progress| progress.work.finished < 2,
    );
    assert_eq!(outcome.expect("it ran").reason, EndReason::Stopped);
    writer.finish(sample::end()).expect("an end");
    let flows: Vec<FlowRow> = rows(folder.path());
    let finished = flows.iter().filter(|flow| flow.status.is_finished());
    assert_eq!((flows.len(), finished.count()), (3, 2));
    assert_eq!(flows[2].status, FlowStatus::Interrupted);
    assert!(
        flows[2]
            .reason
            .contains("the flow should have started at 50 ms"),
        "{}",
        flows[2].reason
    );
    assert_eq!((flows[2].fct_ns, flows[2].launch_lateness_ns), (None, None));
}

#[test]
fn flows_beyond_the_time_limit_have_rows_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = RunOptions {
        until: Some(SimTime::from_micros(4_000)),
        ..RunOptions::default()
    };
    let outcomes = run(folder.path(), &plan(DIAMOND, false), &options);
    assert_eq!(outcomes[0].reason, EndReason::Until);
    assert_eq!(outcomes[0].end, SimTime::from_micros(4_000));
    let flows: Vec<FlowRow> = rows(folder.path());
    let statuses: Vec<FlowStatus> = flows.iter().map(|flow| flow.status).collect();
    let once = [
        FlowStatus::TimedOut,
        FlowStatus::TimedOut,
        FlowStatus::NotReady,
    ];
    assert_eq!(statuses, once.repeat(2));
    assert_eq!(flows[0].reason, "not finished at the time limit of 4 ms");
}

/// The only link is cut for good at 1 ms. The first packet's time-outs of 50 ms expire at 50, 100, … 350 ms,
/// InfiniBand's seven retries, and the QP fails at 400 ms, whether the run ends then or later at its time limit.
#[test]
fn a_flow_whose_qp_gave_up_says_so() {
    let text = "
name: cut
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }]
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 1 MB }]
policies: [ecmp]
faults: [{ at: 1 ms, link: [dc1, dc2], down: true }]
transport: { retransmit_timeout: 50 ms }
";
    let ends = [
        (None, EndReason::Stuck),
        (Some(SimTime::from_micros(500_000)), EndReason::Until),
    ];
    for (until, reason) in ends {
        // Another flow keeps the run going until its time limit.
        let later = ", { from: dc2/h1, to: dc1/h1, size: 1 MB, start: 1 s }]";
        let text = match until {
            None => text.to_owned(),
            Some(_) => text.replace("MB }]", &format!("MB }}{later}")),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let options = RunOptions {
            until,
            ..RunOptions::default()
        };
        let outcomes = run(folder.path(), &plan(&text, false), &options);
        assert_eq!(outcomes[0].reason, reason);
        let flows: Vec<FlowRow> = rows(folder.path());
        assert_eq!(flows[0].status, FlowStatus::Failed);
        let said = "the flow's QP gave up at 400 ms: 7 retries got no answer";
        assert!(flows[0].reason.starts_with(said), "{}", flows[0].reason);
    }
}

/// The delay decreases from 100 ms to 1 ms at 10 ms. After that, a flow of 1,000 B takes 2.004 ms, which is also its
/// ideal FCT.
#[test]
fn a_shortened_delay_makes_no_flow_faster_than_its_ideal() {
    let text = "
name: shorter
topology:
  dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 2 }]
  links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 100 ms }]
traffic:
  - flows:
      - { from: dc1/h1, to: dc2/h1, size: 4 MB }
      - { from: dc1/h2, to: dc2/h2, size: 1000 B, start: 20 ms }
policies: [ecmp]
faults: [{ at: 10 ms, link: [dc1, dc2], delay: 1 ms }]
";
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), &plan(text, false), &RunOptions::default());
    let flows: Vec<FlowRow> = rows(folder.path());
    assert!(
        flows.iter().all(|flow| flow.slowdown >= Some(1.0)),
        "{flows:?}"
    );
    let late = flows
        .iter()
        .find(|flow| flow.flow_id == FlowId(1))
        .expect("a flow");
    assert_eq!(late.fct_ns, Some(Nanos::new(2_004_268)));
    assert_eq!(late.ideal_fct_ns, Nanos::new(2_004_268));
}

/// 2 MB are 489 packets, which reach dc2 from 5.0 to 5.17 ms. The second link of the only path is cut at 5.1 ms. Some
/// packets are on its wire, one is partly sent, and the others find no next hop at dc2; all of them count as sent from
/// dc2 to dc3.
#[test]
fn the_links_table_has_the_drops_of_a_cut_where_they_were_sent() {
    let text = "
name: line
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2 }, { name: dc3, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc2, dc3], rate: 100 Gbit, delay: 5 ms }
traffic:
  - flows: [{ from: dc1/h1, to: dc3/h1, size: 2 MB }]
policies: [ecmp]
measure: { links: 1 ms }
transport: { retransmit_timeout: 500 ms }
faults:
  - { at: 5100 us, link: [dc2, dc3], down: true }
  - { at: 400 ms, link: [dc2, dc3], up: true }
";
    let folder = tempfile::tempdir().expect("a folder");
    let outcomes = run(folder.path(), &plan(text, false), &RunOptions::default());
    assert_eq!(outcomes[0].reason, EndReason::Finished);
    assert_eq!(outcomes[0].work.drops, 489);
    let links: Vec<LinkRow> = rows(folder.path());
    let mut drops = std::collections::BTreeMap::new();
    for row in links.iter().filter(|row| row.drops > 0) {
        drops.insert((&*row.from_dc, &*row.to_dc), row.drops);
    }
    assert_eq!(
        drops.into_iter().collect::<Vec<_>>(),
        [(("dc2", "dc3"), 489)]
    );
}

/// SoftRoCE's retry count means no limit: the lab aborts the flow at its deadline, and the simulator reports the same.
#[test]
fn a_flow_that_the_lab_would_give_up_has_the_labs_reason() {
    let text = format!("{DIAMOND}scale: {{ rate: 1/100, time: 10 }}\nfaults:\n");
    let cut = |dc| format!("  - {{ at: 10 us, link: [{dc}, dc4], down: true }}\n");
    let plan = plan(&[text, cut("dc2"), cut("dc3")].concat(), true);
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), &plan, &RunOptions::default());
    let flows: Vec<FlowRow> = rows(folder.path());
    let said = format!("not finished after {}", plan.rdma.flow_deadline_ns);
    for flow in &flows {
        assert_eq!((flow.status, &flow.reason), (FlowStatus::TimedOut, &said));
    }
}

#[test]
fn a_scaled_plan_is_recorded_in_paper_units() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!("{DIAMOND}scale: {{ rate: 1/100, time: 10 }}\n");
    run(folder.path(), &plan(&text, true), &RunOptions::default());
    let flows: Vec<FlowRow> = rows(folder.path());
    let last = flows
        .iter()
        .find(|flow| flow.flow_id == FlowId(2))
        .expect("a flow");
    assert_eq!(last.start_ns, Nanos::from_millis(50));
    assert_eq!(last.emu_start_ns, Nanos::from_millis(500));
    assert_eq!(last.size_bytes.get(), 1_000_000);
    assert_eq!(last.emu_size_bytes.get(), 100_000);
    let fct = last.fct_ns.expect("it finished").get();
    let emulated = last.emu_fct_ns.expect("it finished").get();
    assert_eq!(
        (emulated + 5) / 10,
        fct,
        "ten times as long, to the nearest nanosecond"
    );
}

#[test]
fn a_requested_flow_has_a_story_from_start_to_finish() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = RunOptions {
        trace_filter: TraceFilter::Flows([FlowId(1)].into()),
        ..RunOptions::default()
    };
    run(folder.path(), &plan(DIAMOND, false), &options);
    let story: Vec<StoryRow> = rows(folder.path());
    assert!(story.iter().all(|row| row.flow_id == FlowId(1)));
    let of_lcmp: Vec<&StoryRow> = story.iter().filter(|row| row.policy == "lcmp").collect();
    let first = of_lcmp[0];
    let last = of_lcmp[of_lcmp.len() - 1];
    assert_eq!((first.event, &*first.node), (StoryEvent::Started, "dc1/h2"));
    assert_eq!(first.time_ns, Nanos::from_millis(1));
    assert_eq!((last.event, &*last.node), (StoryEvent::Finished, "dc1/h2"));
    let decided = of_lcmp
        .iter()
        .find(|row| row.event == StoryEvent::Decided)
        .expect("dc1 had a choice");
    assert_eq!(&*decided.node, "dc1");
    assert!(decided.peer.is_some());
}

/// Returns a scenario with the links of [`DIAMOND`] and six 30 MB flows from dc1 to dc4, so that data flows in one
/// direction and ACKs in the other. A data packet has 58 bytes of headers.
fn one_way(policies: &str, more: &str) -> String {
    let (topology, _) = DIAMOND.split_once("traffic:").expect("its traffic");
    let flow = |n: u32| {
        let from = 1 + n % 2;
        let to = 1 + n / 2 % 2;
        format!("      - {{ from: dc1/h{from}, to: dc4/h{to}, size: 30 MB, start: {n} ms }}\n")
    };
    let flows: String = (0..6).map(flow).collect();
    format!(
        "{topology}traffic:\n  - flows:\n{flows}policies: {policies}\ngenerator: {{ tool: verbs, mtu: 1024 }}\n\
         measure: {{ links: 5 ms }}\n{more}"
    )
}

/// Returns the data bytes of each flow on each of its paths under `policy`, from the path rows if the flow was
/// re-routed, else from its flow row.
fn path_bytes(dir: &Path, policy: &str) -> Vec<(FlowId, String, u64)> {
    let paths: Vec<PathRow> = rows(dir);
    let flows: Vec<FlowRow> = rows(dir);
    let mut found = Vec::new();
    for flow in flows.iter().filter(|row| row.policy == policy) {
        let of_flow = |row: &&PathRow| row.policy == policy && row.flow_id == flow.flow_id;
        let own: Vec<&PathRow> = paths.iter().filter(of_flow).collect();
        let sum: u64 = own.iter().map(|row| row.sent_bytes.get()).sum();
        assert!(own.is_empty() || sum == flow.size_bytes.get(), "{own:?}");
        let first = flow.path.as_ref().expect("a path").to_string();
        match own.as_slice() {
            [] => found.push((flow.flow_id, first, flow.size_bytes.get())),
            own => {
                assert_eq!(own[0].path.to_string(), first);
                let rows = own.iter();
                found.extend(
                    rows.map(|row| (row.flow_id, row.path.to_string(), row.sent_bytes.get())),
                );
            }
        }
    }
    found
}

#[test]
fn bytes_of_the_paths_are_those_that_the_links_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let policies = "[ecmp, wcmp, { ucmp: { alpha: 10 } }, ucmp-artifact, te-100ms, rm-beta, lcmp]";
    let plan = plan(&one_way(policies, ""), false);
    let outcomes = run(folder.path(), &plan, &RunOptions::default());
    assert!(outcomes.iter().all(|outcome| outcome.work.drops == 0));
    let links: Vec<LinkRow> = rows(folder.path());
    for policy in &plan.policies {
        let bytes = path_bytes(folder.path(), &policy.label);
        for via in ["dc2", "dc3"] {
            let path = format!("dc1-{via}-dc4");
            let own = bytes.iter().filter(|(_, of, _)| *of == path);
            let wire: u64 = own
                .map(|(_, _, bytes)| bytes + bytes.div_ceil(1_024) * 58)
                .sum();
            for (from, to) in [("dc1", via), (via, "dc4")] {
                let counter = links.iter().rfind(|row| {
                    (&*row.policy, &*row.from_dc, &*row.to_dc) == (&*policy.label, from, to)
                });
                let counted = counter.map_or(0, |row| row.tx_bytes.get());
                assert_eq!(counted, wire, "{}: {from} to {to}", policy.label);
            }
        }
    }
    let moved: Vec<PathRow> = rows(folder.path());
    assert!(
        moved.iter().any(|row| row.policy == "ucmp"),
        "no flow was re-routed"
    );
    assert!(moved.iter().all(|row| row.policy == "ucmp"), "{moved:?}");
}

/// A cut on the path with less delay moves active flows to the other path, both at a switch that pins flows and at one
/// with plain ECMP, which does not.
#[test]
fn flows_that_a_cut_moves_have_both_paths() {
    for legacy in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let more = "transport: { retransmit_timeout: 20 ms }\n\
                    faults: [{ at: 6 ms, link: [dc1, dc3], down: true }]\n";
        let text = one_way("[ecmp]", more);
        let text = if legacy {
            text.replace(
                "{ name: dc1, hosts: 2 }",
                "{ name: dc1, hosts: 2, agent: legacy }",
            )
        } else {
            text
        };
        run(folder.path(), &plan(&text, false), &RunOptions::default());
        let bytes = path_bytes(folder.path(), "ecmp");
        let moved: Vec<PathRow> = rows(folder.path());
        assert!(!moved.is_empty(), "legacy: {legacy}");
        for pair in moved.chunks(2) {
            let paths = [&pair[0], &pair[1]].map(|row| row.path.to_string());
            assert_eq!(paths, ["dc1-dc3-dc4", "dc1-dc2-dc4"]);
            assert_eq!(pair[0].flow_id, pair[1].flow_id);
        }
        // Flow n starts at n ms, and a NIC of 100 Gbit/s sends 12.5 MB per millisecond until the cut at 6 ms.
        for first in moved.iter().step_by(2) {
            let [sent, start] = [first.sent_bytes.get(), u64::from(first.flow_id.0)];
            let most = 12_500_000 * (6 - start);
            assert!((1..=most).contains(&sent), "flow {start}: {sent} of {most}");
        }
        assert!(bytes.len() == 6 + moved.len() / 2, "{bytes:?}");
    }
}

/// After the cut behind dc2, dc1 has one candidate as before, but another one from 70 ms on. The NIC sends a packet of
/// 4,154 B in 3.3232 us, and the link to the switch has 1 us, so that 21,063 of the 24,415 packets reach the switch of dc1
/// before that: the others are 3,351 of 4,096 B and a last one of 256 B.
#[test]
fn a_flow_whose_only_next_hop_is_replaced_has_both_paths() {
    let text = "
name: replaced
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2 }, { name: dc3 }, { name: dc4 }, { name: dc5, hosts: 1 }]
  defaults: { host_link: { rate: 10 Gbit } }
  links:
    - { between: [dc1, dc2], rate: 10 Gbit, delay: 1 ms }
    - { between: [dc2, dc5], rate: 10 Gbit, delay: 1 ms }
    - { between: [dc1, dc3], rate: 100 Gbit, delay: 2 ms }
    - { between: [dc3, dc4], rate: 100 Gbit, delay: 2 ms }
    - { between: [dc4, dc5], rate: 100 Gbit, delay: 2 ms }
traffic: [{ flows: [{ from: dc1/h1, to: dc5/h1, size: 100 MB }] }]
policies: [ecmp]
transport: { window: none, retransmit_timeout: 300 ms }
routing: { reconverge: { after: 50 ms } }
faults: [{ at: 20 ms, link: [dc2, dc5], down: true }]
";
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), &plan(text, false), &RunOptions::default());
    let later = 3_351 * 4_096 + 256;
    let expected = [
        ("dc1-dc2-dc5", 100_000_000 - later),
        ("dc1-dc3-dc4-dc5", later),
    ];
    let found = path_bytes(folder.path(), "ecmp");
    let expected = expected.map(|(path, bytes)| (FlowId(0), path.to_owned(), bytes));
    assert_eq!(found, expected);
}
