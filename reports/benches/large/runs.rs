//! Generated runs of any size, which are equal on every machine.

use std::path::{Path, PathBuf};

use lab_records::{DcPath, DecisionRow, FlowRow, RunInfo, RunWriter};
use lab_sample as sample;
use lab_sample::{ROUTES, counter, queue};
use lab_units::{Bytes, FlowId, Nanos};

/// Labels of the policies in the runs.
pub const POLICIES: [&str; 5] = ["ecmp", "wcmp", "ucmp", "te-100ms", "lcmp"];

/// Writes a run with `flows` flows per policy and, if asked for, two decisions per flow; returns its directory.
pub fn write(results: &Path, flows: u32, with_decisions: bool) -> PathBuf {
    let links = ROUTES.iter().flat_map(|&(middle, gbit, delay)| {
        [("dc1", middle), (middle, "dc8")].map(|(a, b)| sample::link(a, b, gbit, delay))
    });
    let info = RunInfo {
        policies: POLICIES.map(str::to_owned).into(),
        scheduled_flows: flows.into(),
        dcs: (1..=8)
            .map(|dc| sample::dc(&format!("dc{dc}"), 4))
            .collect(),
        links: links.collect(),
        ..sample::info()
    };
    let mut writer = RunWriter::create(results, sample::now(), &info).expect("a run");
    for policy in POLICIES {
        let mut random = Random(7);
        for id in 0..flows {
            let row = flow(&mut random, policy, id, flows);
            writer.append_flows([&row]).expect("a flow");
        }
        for link in &info.links {
            writer.append(&[counter(link, policy)]).expect("a counter");
            writer.append(&[queue(link, policy)]).expect("a sample");
        }
        let decided = if with_decisions { 2 * flows } else { 0 };
        let ids: Vec<u32> = (0..decided).map(|number| number / 2).collect();
        for ids in ids.chunks(10_000) {
            let rows: Vec<_> = ids
                .iter()
                .map(|&id| decision(&mut random, policy, id))
                .collect();
            writer.append(&rows).expect("decisions");
        }
    }
    writer.finish(sample::end()).expect("the end").0
}

/// Returns a flow whose FCT is the route's delay plus the transmission time plus a random queueing delay.
fn flow(random: &mut Random, policy: &str, id: u32, count: u32) -> FlowRow {
    let size = 1_000 + (random.below(5_500) * random.below(5_500)) * random.below(4);
    let start = u64::from(id) * 1_500_000_000 / u64::from(count) + random.below(3_000_000);
    let src = 1 + random.below(4);
    let dst = 1 + random.below(4);
    let any = random.below(6);
    let queueing = random.below(1_000);
    let route = match policy {
        "lcmp" => [4, 4, 2, 2, 0, 5][usize::try_from(any).expect("an index")],
        _ => usize::try_from(any).expect("an index"),
    };
    let (middle, gbit, delay) = ROUTES[route];
    let ideal = 20_000_000 + size * 8 / 40;
    let fct = 4 * delay * 1_000_000 + size * 8 / gbit + ideal * queueing / 1_000;
    FlowRow {
        flow_id: FlowId(id),
        src_host: format!("dc1/h{src}"),
        dst_host: format!("dc8/h{dst}"),
        src_dc: "dc1".into(),
        dst_dc: "dc8".into(),
        size_bytes: Bytes::new(size),
        start_ns: Nanos::new(start),
        fct_ns: Some(Nanos::new(fct)),
        ideal_fct_ns: Nanos::new(ideal),
        slowdown: FlowRow::slowdown_of(Nanos::new(fct), Nanos::new(ideal)),
        path: Some(DcPath::new(["dc1", middle, "dc8"])),
        ack_path: Some(DcPath::new(["dc8", middle, "dc1"])),
        ..sample::flow(policy)
    }
}

fn decision(random: &mut Random, policy: &str, id: u32) -> DecisionRow {
    let chosen = usize::try_from(random.below(6)).expect("an index");
    DecisionRow {
        policy: policy.into(),
        repetition: 0,
        time_ns: Nanos::new(random.below(1_500_000_000)),
        switch: "dc1".into(),
        flow_id: Some(FlowId(id)),
        src: [10, 1, 0, 1].into(),
        dst: [10, 8, 0, 1].into(),
        sport: 50_000,
        reason: "new_flow/scored".into(),
        signal_age_ns: None,
        stale_signals: None,
        candidates: ROUTES
            .iter()
            .map(|(middle, ..)| (*middle).to_owned())
            .collect(),
        c_path: ROUTES.iter().map(|_| 9).collect(),
        c_cong: ROUTES.iter().map(|_| 0).collect(),
        cost: ROUTES.iter().map(|_| 27).collect(),
        kept: ROUTES.iter().map(|_| 1).collect(),
        chosen: Some(ROUTES[chosen].0.into()),
    }
}

/// Linear congruential generator with Knuth's MMIX constants, which gives equal numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
