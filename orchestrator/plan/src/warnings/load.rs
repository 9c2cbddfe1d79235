//! Warnings about plans whose flows offer less load than requested.

use lab_units::show::{about_time, commas};

use super::inspection::{Inspection, warning};
use crate::model::{Flow, Warning};

/// Returns a warning about datacenters whose flows offer less than 80 % of the load that their workloads request.
pub(super) fn short(inspection: &Inspection<'_>) -> Option<Warning> {
    let load = inspection.load;
    if load.kept == 0 {
        return None;
    }
    let short: Vec<_> = load
        .senders
        .iter()
        .filter(|sender| sender.is_short())
        .collect();
    let worst = short
        .iter()
        .min_by_key(|sender| (sender.offered_percent(), sender.dc))?;
    let also = match short.len() - 1 {
        0 => String::new(),
        1 => ", and one more datacenter falls short".to_owned(),
        more => format!(", and {more} more datacenters fall short"),
    };
    let why = if load.kept < load.arrivals {
        format!(
            "`max_flows` keeps {} of {} arrivals{also} (hint: a shorter `duration` instead of \
             `max_flows` keeps the load)",
            commas(load.kept),
            commas(load.arrivals),
        )
    } else {
        format!("the workload has few large flows by chance{also} (hint: a longer `duration`)")
    };
    let of = if load.network.is_empty() {
        "its capacity"
    } else {
        "its rate at a load of 1"
    };
    let text = format!(
        "`{}` offers {} % of {of} where the workload asks for {} %: {why}; policies that \
         differ only under load look alike",
        inspection.network.dcs[worst.dc.index()].name,
        worst.offered_percent(),
        worst.requested_percent(),
    );
    Some(warning("low-load", text))
}

/// Returns a warning if all repetitions have the same flows, because none is drawn.
pub(super) fn same_repetitions(inspection: &Inspection<'_>) -> Option<Warning> {
    Flow::are_same_again(inspection.flows).then(|| {
        let text = "the flows are listed, so every repetition has the same ones, and intervals over repetitions do not show \
                    how other flows would vary (hint: a `workload`, or one repetition)";
        warning("same-repetitions", text.to_owned())
    })
}

/// Returns a warning if all flows start in the first 90 % of the workloads' duration.
pub(super) fn early_end(inspection: &Inspection<'_>) -> Option<Warning> {
    let load = inspection.load;
    load.ends_early().then(|| {
        let text = format!(
            "the last flow starts at {} of {}: the network carries flows for {} % of the duration (hint: \
             more flows)",
            about_time(load.paper_last_start_ns),
            about_time(load.paper_duration_ns),
            load.covered_percent(),
        );
        warning("early-end", text)
    })
}

/// Returns a warning if the window of measured flows ends after the last time at which flows start.
pub(super) fn late_window(inspection: &Inspection<'_>) -> Option<Warning> {
    let starts = inspection.flows.iter().map(|flow| flow.paper_start_ns);
    let end = starts.chain([inspection.load.paper_duration_ns]).max()?;
    let to = inspection.window?.paper_to_ns.filter(|&to| to > end)?;
    let text = format!(
        "`measure.to` is {}, but flows start until {} at most: the window ends there",
        about_time(to),
        about_time(end)
    );
    Some(warning("late-window", text))
}
