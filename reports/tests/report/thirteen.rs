//! Synthetic run of the simulator: the paper's 13 datacenters, all-to-all traffic, five policies.

use lab_records::{
    Clock, Conduct, DcPath, EngineInfo, FlowRow, Location, PfcEvent, PfcRow, Phase, RunEnd,
    RunInfo, ScaleInfo, Semantics, SimInfo, SimWork, UtcTime,
};
use lab_sample as sample;
use lab_sample::THIRTEEN_DCS;
use lab_units::{Bytes, FlowId, Nanos, Ratio};

use crate::synthetic::{Random, Synthetic, link_rows};

/// Labels of the policies, and the number of shortest routes that flows choose from under each policy.
const POLICIES: [(&str, u64); 5] = [
    ("ecmp", 4),
    ("lcmp", 1),
    ("ucmp", 2),
    ("te-100ms", 3),
    ("wcmp", 4),
];

/// Returns a run in the network of 13 datacenters, with `count` flows under each policy.
pub fn run(count: u32) -> Synthetic {
    let info = info(count);
    let mut run = Synthetic {
        flows: Vec::new(),
        links: Vec::new(),
        queues: Vec::new(),
        decisions: Vec::new(),
        rates: Vec::new(),
        pauses: Vec::new(),
        end: Some(end()),
        info,
    };
    for (policy, choice) in POLICIES {
        let mut random = Random(13);
        let flow = |id| flow(&mut random, policy, choice, id, count);
        let flows: Vec<FlowRow> = (0..count).map(flow).collect();
        let step = Nanos::from_millis(2);
        let mut links = link_rows(policy, &run.info.links, &flows, step);
        for row in &mut links {
            row.tx_packets = Some(row.tx_bytes.get() / 1_000);
            row.marks = Some(row.tx_bytes.get() / 50_000 * choice);
        }
        run.links.extend(links);
        run.pauses.extend(pauses(policy, choice));
        run.flows.extend(flows);
    }
    run
}

fn info(count: u32) -> RunInfo {
    let link = |(a, b, gbit, delay_ms): (u32, u32, u64, u64)| {
        sample::link(&format!("dc{a}"), &format!("dc{b}"), gbit, delay_ms)
    };
    RunInfo {
        scenario: "13dc".into(),
        description: "The paper's 13 datacenters, all to all".into(),
        engine: EngineInfo::Sim(SimInfo {
            semantics: Semantics::Paper,
            cc: POLICIES.map(|_| "dcqcn".to_owned()).into(),
            threads: 2,
            trains: None,
        }),
        location: Location::Here,
        clock: Clock::Virtual,
        accel: None,
        scale_fits: None,
        scale: ScaleInfo {
            rate: Ratio::ONE,
            time: Ratio::ONE,
            size: Ratio::ONE,
        },
        policies: POLICIES.map(|(policy, _)| policy.to_owned()).into(),
        scheduled_flows: count.into(),
        dcs: (1..=13)
            .map(|dc| sample::dc(&format!("dc{dc}"), 16))
            .collect(),
        links: THIRTEEN_DCS.map(link).into(),
        warnings: Vec::new(),
        ..sample::info()
    }
}

fn end() -> RunEnd {
    let phase = |(policy, _): (&str, u64)| Phase {
        name: policy.to_owned(),
        took_ns: Nanos::from_millis(4_200),
        virtual_ns: None,
    };
    RunEnd {
        ended_at: UtcTime::new(sample::now() + std::time::Duration::from_millis(21_400)),
        phases: POLICIES.map(phase).into(),
        guest_cpu: None,
        lab: None,
        sim: Some(SimWork {
            events: 412_345_678,
            packet_hops: 231_987_654,
            virtual_ns: Nanos::from_millis(640),
            wall_ns: Nanos::from_millis(21_000),
            peak_memory_bytes: Some(Bytes::new(187_000_000)),
        }),
        conduct: Conduct::default(),
        ..sample::end()
    }
}

/// Returns a flow between two datacenters, on one of the first `choice` shortest routes between them.
fn flow(random: &mut Random, policy: &str, choice: u64, id: u32, count: u32) -> FlowRow {
    let mut dc = || u32::try_from(1 + random.below(13)).expect("a DC");
    let src = dc();
    let dst = loop {
        let dst = dc();
        if dst != src {
            break dst;
        }
    };
    let size =
        10u64.pow(u32::try_from(3 + random.below(4)).expect("an exponent")) * (1 + random.below(9));
    let start = u64::from(id) * 10_000_000 / u64::from(count);
    let routes = shortest_routes(src, dst);
    let taken = random.below(60_060);
    let queueing = random.below(1_000);
    let min = routes.iter().map(|route| delay_ms(route)).min();
    let ideal = 2_000_000 * min.expect("a route") + size * 8 / 100;
    let of = choice.min(routes.len() as u64);
    let route = &routes[usize::try_from(taken % of).expect("an index")];
    let fct = 2_000_000 * delay_ms(route) + size * 8 / 100;
    let fct = fct + fct * queueing * choice / 400;
    let dc = |number: &u32| format!("dc{number}");
    let path: Vec<String> = route.iter().map(dc).collect();
    let nanos = Nanos::new;
    FlowRow {
        flow_id: FlowId(id),
        cc: "dcqcn".into(),
        semantics: Some(Semantics::Paper),
        src_host: format!("dc{src}/h{}", 1 + id % 16),
        dst_host: format!("dc{dst}/h{}", 1 + id / 16 % 16),
        src_dc: dc(&src),
        dst_dc: dc(&dst),
        size_bytes: Bytes::new(size),
        start_ns: nanos(start),
        fct_ns: Some(nanos(fct)),
        ideal_fct_ns: nanos(ideal),
        slowdown: FlowRow::slowdown_of(nanos(fct), nanos(ideal)),
        ack_path: Some(DcPath::new(path.iter().rev())),
        path: Some(DcPath::new(path)),
        generator: "sim".into(),
        emu_size_bytes: Bytes::new(size),
        emu_start_ns: nanos(start),
        emu_fct_ns: Some(nanos(fct)),
        emu_ideal_fct_ns: nanos(ideal),
        emu_fct_resolution_ns: Some(Nanos::ZERO),
        ..sample::flow(policy)
    }
}

/// Returns all routes with the fewest hops from `src` to `dst`.
fn shortest_routes(src: u32, dst: u32) -> Vec<Vec<u32>> {
    let mut routes = vec![vec![src]];
    loop {
        let arrived: Vec<Vec<u32>> = routes
            .iter()
            .filter(|route| route.last() == Some(&dst))
            .cloned()
            .collect();
        if !arrived.is_empty() {
            return arrived;
        }
        let longer = |route: &Vec<u32>| {
            let last = *route.last().expect("a DC");
            let next = THIRTEEN_DCS
                .iter()
                .filter_map(move |&(a, b, ..)| match last {
                    last if last == a => Some(b),
                    last if last == b => Some(a),
                    _ => None,
                });
            let route = route.clone();
            let fresh = next.filter(|dc| !route.contains(dc)).collect::<Vec<_>>();
            let extend = move |dc| route.iter().copied().chain([dc]).collect();
            fresh.into_iter().map(extend).collect::<Vec<Vec<u32>>>()
        };
        routes = routes.iter().flat_map(longer).collect();
    }
}

fn delay_ms(route: &[u32]) -> u64 {
    let leg = |leg: &[u32]| {
        let joins = |link: &&(u32, u32, u64, u64)| {
            (link.0, link.1) == (leg[0], leg[1]) || (link.1, link.0) == (leg[0], leg[1])
        };
        THIRTEEN_DCS.iter().find(joins).expect("a link").3
    };
    route.windows(2).map(leg).sum()
}

/// Returns pauses at a leaf switch, more for a policy that spreads flows more widely.
fn pauses(policy: &str, choice: u64) -> Vec<PfcRow> {
    let row = |(number, event): (u64, PfcEvent)| PfcRow {
        policy: policy.into(),
        repetition: 0,
        time_ns: Nanos::new(number * 100_000 + u64::from(event == PfcEvent::Resume) * 37_000),
        node: format!("dc13/l{}", 1 + number % 2),
        port: format!("p{}", number % 3),
        peer: "dc13/s1".into(),
        priority: 3,
        event,
    };
    let numbers = (0..3 * (choice - 1))
        .flat_map(|number| [PfcEvent::Pause, PfcEvent::Resume].map(|event| (number, event)));
    numbers.map(row).collect()
}
