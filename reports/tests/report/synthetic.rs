//! Synthetic runs: the paper's testbed with two policies.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use lab_records::{
    CertifiedRow, DcPath, DecisionRow, EngineInfo, FlowRow, FlowStatus, GuestCpu, LinkInfo,
    LinkRow, PfcRow, Phase, QueueRow, RateRow, RunEnd, RunInfo, RunWriter, UtcTime,
};
use lab_sample as sample;
use lab_sample::ROUTES;
use lab_units::{BitsPerSec, Bytes, FlowId, Nanos};

/// Flow size at the paper's scale divided by emulated flow size.
const SIZE_SCALE: u64 = 200;
/// Emulated time divided by time at the paper's scale.
const TIME_SCALE: u64 = 10;

/// Synthetic run, which tests change and then write.
#[derive(Clone)]
pub struct Synthetic {
    pub info: RunInfo,
    pub flows: Vec<FlowRow>,
    pub links: Vec<LinkRow>,
    pub queues: Vec<QueueRow>,
    pub decisions: Vec<DecisionRow>,
    pub pauses: Vec<PfcRow>,
    pub rates: Vec<RateRow>,
    pub end: Option<RunEnd>,
}

impl Synthetic {
    /// Returns a run of the testbed with `count` flows under each policy.
    pub fn testbed(count: u32) -> Self {
        let mut run = Self {
            info: info(count),
            flows: Vec::new(),
            links: Vec::new(),
            queues: Vec::new(),
            decisions: Vec::new(),
            pauses: Vec::new(),
            rates: Vec::new(),
            end: Some(end()),
        };
        for policy in ["ecmp", "lcmp"] {
            let mut random = Random(7);
            let flows: Vec<FlowRow> = (0..count)
                .map(|id| flow(&mut random, policy, id, count))
                .collect();
            let step = Nanos::from_millis(20);
            run.links
                .extend(link_rows(policy, &run.info.links, &flows, step));
            run.queues.extend(queue_rows(policy, &flows));
            run.decisions.extend(flows.iter().map(decision));
            run.flows.extend(flows);
        }
        run
    }

    /// Makes flow `flow` under `policy` end with a time-out.
    pub fn give_up(&mut self, policy: &str, flow: u32) {
        let row = self.flow_mut(policy, flow);
        row.status = FlowStatus::TimedOut;
        row.reason = "not ended 60 s after its start".into();
        (row.fct_ns, row.slowdown, row.emu_fct_ns) = (None, None, None);
    }

    /// Returns the row of flow `flow` under `policy`.
    pub fn flow_mut(&mut self, policy: &str, flow: u32) -> &mut FlowRow {
        self.flows
            .iter_mut()
            .find(|row| row.policy == policy && row.flow_id.0 == flow)
            .expect("the flow")
    }

    /// Writes the run directory of the test `name`, which is kept for inspection.
    pub fn write(&self, name: &str) -> PathBuf {
        let results = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("reports")
            .join(name);
        if results.exists() {
            fs::remove_dir_all(&results).expect("the run of the last test is removed");
        }
        let mut writer = RunWriter::create(&results, sample::now(), &self.info).expect("a run");
        for row in &self.flows {
            writer.append_flows([row]).expect("a flow");
        }
        writer.append(&self.links).expect("links");
        writer.append(&self.queues).expect("queues");
        writer.append(&self.decisions).expect("decisions");
        writer.append(&self.pauses).expect("pauses");
        writer.append(&self.rates).expect("rates");
        if matches!(self.info.engine, EngineInfo::Kernel) && self.end.is_some() {
            let rows: Vec<CertifiedRow> = self.info.links.iter().flat_map(certified).collect();
            writer.append(&rows).expect("the certificate");
        }
        let dir = writer.dir().to_owned();
        if let Some(end) = &self.end {
            writer.finish(end.clone()).expect("the end");
        }
        dir
    }
}

fn info(count: u32) -> RunInfo {
    let dc = |number: u32| {
        let hosts = if matches!(number, 1 | 8) { 4 } else { 0 };
        sample::dc(&format!("dc{number}"), hosts)
    };
    RunInfo {
        description:
            "The paper's 8-DC testbed, flows both ways between DC1 and DC8 over six routes".into(),
        scheduled_flows: count.into(),
        dcs: (1..=8).map(dc).collect(),
        links: testbed_links(),
        warnings: vec![
            "12 of 44 flows are larger than the 128 packets that rxe keeps in flight (hint: raise \
             `scale.rate`)"
                .into(),
        ],
        ..sample::info()
    }
}

fn testbed_links() -> Vec<LinkInfo> {
    let links = |&(middle, gbit, delay_ms): &(&str, u64, u64)| {
        [("dc1", middle), (middle, "dc8")].map(|(a, b)| sample::link(a, b, gbit, delay_ms))
    };
    ROUTES.iter().flat_map(links).collect()
}

fn end() -> RunEnd {
    let phases = [
        ("build-up", 410, None),
        ("ecmp flows", 41_200, Some(44_100)),
        ("lcmp flows", 22_300, Some(26_000)),
    ];
    let phase = |(name, millis, virtual_millis): (&str, u64, Option<u64>)| Phase {
        name: name.into(),
        took_ns: Nanos::from_millis(millis),
        virtual_ns: virtual_millis.map(Nanos::from_millis),
    };
    RunEnd {
        ended_at: UtcTime::new(sample::now() + Duration::from_millis(93_412)),
        phases: phases.map(phase).into(),
        guest_cpu: Some(GuestCpu {
            busy_ns: Nanos::from_millis(13_200),
            available_ns: Nanos::from_millis(63_500),
        }),
        ..sample::end()
    }
}

/// Returns the link certificate rows (measured and planned values) for both directions of a link.
fn certified(link: &LinkInfo) -> [CertifiedRow; 2] {
    let rate = link.rate_bps.get() / (SIZE_SCALE * TIME_SCALE);
    let delay = link.delay_ns.get() * TIME_SCALE;
    [(&link.a, &link.b), (&link.b, &link.a)].map(|(from, to)| CertifiedRow {
        emu_rate_bps: BitsPerSec::new(rate).expect("a positive rate"),
        emu_measured_rate_bps: BitsPerSec::new(rate * 999 / 1_000 - 12_345),
        emu_delay_ns: Nanos::new(delay),
        emu_measured_delay_ns: Some(Nanos::new(delay + 31_250)),
        ..sample::certified(from, to)
    })
}

/// Returns a flow between hosts of DC1 and DC8, whose FCT is the route's delay plus the transmission time plus a random
/// queueing delay.
fn flow(random: &mut Random, policy: &str, id: u32, count: u32) -> FlowRow {
    let size = 20_000_000 * (1 + random.below(12)) + 1_000_000 * random.below(20);
    let start = u64::from(id) * 200_000_000 / u64::from(count) + random.below(3_000_000);
    let src_host = 1 + random.below(4);
    let dst_host = 1 + random.below(4);
    let forth = random.below(2) == 0;
    let any = random.below(6);
    let best = random.below(10);
    let queueing = random.below(1_000);
    let route = match policy {
        "ecmp" => any,
        // This policy takes the lower half by cost, and rarely the fourth candidate.
        _ => [4, 4, 4, 2, 2, 2, 2, 0, 0, 5][usize::try_from(best).expect("an index")],
    };
    let (middle, gbit, delay_ms) = ROUTES[usize::try_from(route).expect("an index")];
    // The ideal FCT is that of the path of least delay: 10 ms one way, 40 Gbit/s.
    let ideal = 20_000_000 + size * 8 / 40;
    let crowd = if policy == "ecmp" { 900 } else { 500 };
    let sending = size * 8 / gbit;
    let loaded = 4 * delay_ms * 1_000_000 + sending + sending * queueing * crowd / 100_000;
    let fct = loaded.max(ideal + ideal * queueing / 40_000);
    let path = if forth {
        ["dc1", middle, "dc8"]
    } else {
        ["dc8", middle, "dc1"]
    };
    let nanos = Nanos::new;
    FlowRow {
        flow_id: FlowId(id),
        src_host: format!("{}/h{src_host}", path[0]),
        dst_host: format!("{}/h{dst_host}", path[2]),
        src_dc: path[0].into(),
        dst_dc: path[2].into(),
        size_bytes: Bytes::new(size),
        start_ns: nanos(start),
        fct_ns: Some(nanos(fct)),
        ideal_fct_ns: nanos(ideal),
        slowdown: FlowRow::slowdown_of(nanos(fct), nanos(ideal)),
        path: Some(DcPath::new(path)),
        ack_path: Some(DcPath::new(path.iter().rev())),
        launch_lateness_ns: Some(nanos(random.below(90_000))),
        emu_size_bytes: Bytes::new(size / SIZE_SCALE),
        emu_start_ns: nanos(start * TIME_SCALE),
        emu_fct_ns: Some(nanos(fct * TIME_SCALE)),
        emu_ideal_fct_ns: nanos(ideal * TIME_SCALE),
        ..sample::flow(policy)
    }
}

fn ends_of(flow: &FlowRow) -> (u64, u64) {
    let fct = flow.fct_ns.expect("a finished flow");
    (flow.start_ns.get(), flow.start_ns.get() + fct.get())
}

/// Returns link counters at every `step`, with the bytes of each flow spread evenly over its time.
pub fn link_rows(policy: &str, links: &[LinkInfo], flows: &[FlowRow], step: Nanos) -> Vec<LinkRow> {
    let last = flows.iter().map(|flow| ends_of(flow).1).max().unwrap_or(0);
    let times = (0..=last / step.get() + 1).map(|sample| sample * step.get());
    let mut rows = Vec::new();
    for time in times {
        for link in links {
            for (from, to) in [(&link.a, &link.b), (&link.b, &link.a)] {
                let leg = format!("-{from}-{to}-");
                let crossing = flows.iter().filter(|flow| {
                    let path = flow.path.as_ref().expect("a path");
                    format!("-{path}-").contains(&leg)
                });
                let sent = |flow: &FlowRow| {
                    let (start, end) = ends_of(flow);
                    let elapsed = time.clamp(start, end) - start;
                    let size = u128::from(flow.size_bytes.get());
                    let sent = size * u128::from(elapsed) / u128::from(end - start);
                    u64::try_from(sent).expect("at most the size")
                };
                let bytes = crossing.map(sent).sum();
                rows.push(LinkRow {
                    time_ns: Nanos::new(time),
                    from_dc: from.clone(),
                    to_dc: to.clone(),
                    tx_bytes: Bytes::new(bytes),
                    emu_tx_bytes: Bytes::new(bytes / SIZE_SCALE),
                    ..sample::counter(link, policy)
                });
            }
        }
    }
    rows
}

fn queue_rows(policy: &str, flows: &[FlowRow]) -> Vec<QueueRow> {
    let backlog = flows.iter().take(12).map(|flow| flow.size_bytes.get() / 9);
    let row = |(backlog, &(middle, gbit, delay_ms)): (u64, &(&str, u64, u64))| QueueRow {
        time_ns: Nanos::from_millis(10),
        backlog_bytes: Bytes::new(backlog),
        emu_backlog_bytes: Bytes::new(backlog / SIZE_SCALE),
        ..sample::queue(&sample::link("dc1", middle, gbit, delay_ms), policy)
    };
    backlog.zip(&ROUTES).map(row).collect()
}

fn decision(flow: &FlowRow) -> DecisionRow {
    let candidates = ROUTES.iter().map(|(middle, ..)| (*middle).to_owned());
    DecisionRow {
        policy: flow.policy.clone(),
        repetition: 0,
        time_ns: flow.start_ns,
        switch: flow.src_dc.clone(),
        flow_id: Some(flow.flow_id),
        src: [10, 1, 0, 1].into(),
        dst: [10, 8, 0, 1].into(),
        sport: 50_000,
        reason: match flow.policy.as_str() {
            "ecmp" => "new_flow/hash".into(),
            _ => "new_flow/scored".into(),
        },
        signal_age_ns: None,
        stale_signals: None,
        candidates: candidates.collect(),
        c_path: ROUTES.iter().map(|_| 9).collect(),
        c_cong: ROUTES.iter().map(|_| 0).collect(),
        cost: ROUTES.iter().map(|_| 27).collect(),
        kept: ROUTES.iter().map(|_| 1).collect(),
        chosen: Some("dc4".into()),
    }
}

/// Linear congruential generator with Knuth's MMIX constants, which gives equal numbers on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
