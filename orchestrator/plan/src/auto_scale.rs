//! Automatic scale (`scale: auto`): the finest scale that the reference guest can carry.
//!
//! Sizes first, because they decide granularity: the largest `s` of the series 1, 1/2, 1/5, 1/10 …
//! whose packets the guest forwards in [`MAX_CPU`] for one policy, and which lets 19 of 20 flows
//! fit SoftRoCE's window. Then time: the smallest `t` of 1, 2, 5, 10 … 1,000 that spreads those packets
//! so that at most half of the guest is taken, and that leaves no rate, `r = s / t`, above
//! [`MAX_RATE`].

use std::collections::BTreeMap;

use lab_scenario::{Generator, Scenario};
use lab_units::{Nanos, NodeId, Ratio};

use crate::{
    drafts::Draft,
    error::PlanError,
    estimate::{self, Offer},
    frame,
    model::{LinkKind, Scale},
    network::Network,
    paths::{self, Paths},
    schedule, topology,
};

/// Returns the scale of `scenario`, given its unscaled network and flows.
pub(crate) fn pick(
    scenario: &Scenario,
    paper: &Network,
    paths: &Paths,
    drafts: &[(u32, Draft)],
) -> Result<Scale, PlanError> {
    let generator = &scenario.generator;
    let inter_dc = paper
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::InterDc);
    let fastest = inter_dc
        .map(|link| link.paper.rate_bps.get())
        .max()
        .unwrap_or(0);
    let sizes = series().filter(|size| fits_window(drafts, generator, *size));
    let mut why = "no scale of sizes lets 19 of 20 flows fit SoftRoCE's window";
    for size in sizes {
        let offers = offers(paper, paths, drafts, generator, size);
        let hops: u64 = offers.iter().map(|offer| offer.packet_hops).sum();
        if hops.saturating_mul(estimate::HOP_CPU.get()) > MAX_CPU.get() {
            why = "it has more packets than the guest forwards in 15 minutes";
            continue;
        }
        let times = series().filter_map(Ratio::inverse);
        for time in times.filter(|time| time.numerator() <= MAX_TIME) {
            let slow: Vec<Offer> = offers.iter().map(|offer| stretched(offer, time)).collect();
            if estimate::forwarding_percent(&slow) > MAX_PERCENT {
                why = "its packets come faster than the guest forwards them";
                continue;
            }
            let rate = time.inverse().and_then(|inverse| size.times(inverse));
            let Some(rate) = rate.filter(|rate| rate.scale_nearest(fastest) <= MAX_RATE) else {
                why = "its links are faster than the guest can shape";
                continue;
            };
            let scale = Scale::new(rate, time)?;
            if topology::build(&scenario.topology, 0, &scale).is_ok() {
                return Ok(scale);
            }
            why = "its rates, delays or buffers vanish";
        }
    }
    let why = why.to_owned();
    Err(PlanError::NoScale { why })
}

/// 1, 1/2, 1/5, 1/10 … 1/1,000,000.
fn series() -> impl Iterator<Item = Ratio> {
    let decades = (0..6).map(|decade| 10u64.pow(decade));
    let steps = decades.flat_map(|decade| [decade, 2 * decade, 5 * decade]);
    steps
        .chain([1_000_000])
        .filter_map(|step| Ratio::new(1, step))
}

fn fits_window(drafts: &[(u32, Draft)], generator: &Generator, size: Ratio) -> bool {
    let window = frame::rxe_window(generator.mtu).get();
    let over = drafts
        .iter()
        .filter(|(_, draft)| size.scale_nearest(draft.size.get()) > window);
    over.count() * 20 <= drafts.len()
}

fn offers(
    paper: &Network,
    paths: &Paths,
    drafts: &[(u32, Draft)],
    generator: &Generator,
    size: Ratio,
) -> Vec<Offer> {
    let mut lengths: BTreeMap<(NodeId, NodeId), usize> = BTreeMap::new();
    let offers = drafts.iter().map(|(repetition, draft)| {
        let links = *lengths
            .entry((draft.src, draft.dst))
            .or_insert_with(|| paths::host_path(paper, paths, draft.src, draft.dst, None).len());
        let (messages, message_bytes) = schedule::messages(size, draft.size, generator.tool);
        let packets = frame::packets(message_bytes, generator.mtu);
        Offer::new(*repetition, draft.start, messages, packets, links)
    });
    offers.collect()
}

fn stretched(offer: &Offer, time: Ratio) -> Offer {
    Offer {
        start: Nanos::new(time.scale_nearest(offer.start.get())),
        ..*offer
    }
}

/// Largest CPU time of forwarding for one policy, which a user waits for.
const MAX_CPU: Nanos = Nanos::from_millis(900_000);

/// Largest share of the guest taken by forwarding, percent; the rest generates and measures flows.
const MAX_PERCENT: u32 = 50;

/// Fastest inter-DC link in bits per second that the guest was seen to shape to within 2 %.
const MAX_RATE: u64 = 200_000_000;

/// Largest stretch of time; beyond it even short routes take seconds.
const MAX_TIME: u64 = 1_000;
