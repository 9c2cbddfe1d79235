//! Sentences that explain how a flow differs between two runs.

use lab_units::{Bytes, Nanos};

use super::side::{Bottleneck, FlowSide};
use crate::text;

/// Describes how and why a flow differs between two runs, in one sentence. Of two values next to each other, the first
/// is from the first run.
pub fn explain(difference: f64, sides: &[FlowSide; 2], names: [&str; 2]) -> String {
    let clauses = [
        Some(paths(sides, names)),
        queues(sides),
        sharing(sides),
        lateness(sides, names),
        drops(sides, names),
        retransmissions(sides, names),
    ];
    let fcts = sides
        .each_ref()
        .map(|side| text::time_exact(Nanos::new(side.fct_ns)));
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    format!(
        "FCT {} in the {}, {} in the {} ({}): {}.",
        fcts[0],
        names[0],
        fcts[1],
        names[1],
        text::small_change(difference),
        clauses.join("; ")
    )
}

fn paths(sides: &[FlowSide; 2], names: [&str; 2]) -> String {
    let data = sides.each_ref().map(|side| shown(side.path.as_deref()));
    let acks = sides.each_ref().map(|side| shown(side.ack_path.as_deref()));
    if data[0] == data[1] && acks[0] == acks[1] {
        return format!(
            "data over {}, acknowledgements over {} in both",
            data[0], acks[0]
        );
    }
    let one_or_two = |[first, second]: [&str; 2]| {
        if first == second {
            return format!("over {first} in both");
        }
        format!(
            "over {first} in the {} but {second} in the {}",
            names[0], names[1]
        )
    };
    format!(
        "data {}, acknowledgements {}",
        one_or_two(data),
        one_or_two(acks)
    )
}

fn shown(path: Option<&str>) -> &str {
    path.unwrap_or("an unknown path")
}

/// Describes the longest queue on the flow's path in each run with the time of its sample; `None` if a run has no queue
/// samples on the path.
fn queues(sides: &[FlowSide; 2]) -> Option<String> {
    let longest = |side: &FlowSide| {
        let queues = side.queues.iter().rev();
        let longest = queues.max_by_key(|queue| queue.backlog_bytes)?;
        let apart = text::time(Nanos::new(longest.time_ns.abs_diff(side.start_ns)));
        let order = if longest.time_ns < side.start_ns {
            "before"
        } else {
            "after"
        };
        let queue = (longest.backlog_bytes > 0).then(|| {
            let size = text::size(Bytes::new(longest.backlog_bytes));
            format!("{size} ({} to {})", longest.switch, longest.to_dc)
        });
        Some((queue, format!("{apart} {order}")))
    };
    let [first, second] = sides.each_ref().map(longest);
    let first = first?;
    let second = second?;
    if first.0.is_none() && second.0.is_none() {
        return Some(format!(
            "egress queues on the flow's path empty {} and {} the flow's start",
            first.1, second.1
        ));
    }
    let [first, second] = [first, second].map(|(queue, apart)| {
        let queue = queue.unwrap_or_else(|| "empty".to_owned());
        format!("{queue} {apart}")
    });
    Some(format!(
        "longest egress queue on the flow's path: {first} and {second} the flow's start"
    ))
}

fn sharing(sides: &[FlowSide; 2]) -> Option<String> {
    let [first, second] = sides.each_ref().map(|side| side.bottleneck.as_ref());
    let first = first?;
    let second = second?;
    let link = |it: &Bottleneck| format!("{} to {}", it.from_dc, it.to_dc);
    let flows = |it: &Bottleneck| {
        let count = usize::try_from(it.other_flows).unwrap_or(usize::MAX);
        text::count(count, "other flow")
    };
    let is_same = first.other_flows == second.other_flows;
    Some(match (link(first) == link(second), is_same) {
        (true, true) => format!(
            "{} on the flow's bottleneck {} during the flow, in both",
            flows(first),
            link(first)
        ),
        (true, false) => format!(
            "{} and {} on the flow's bottleneck {} during the flow",
            first.other_flows,
            flows(second),
            link(first)
        ),
        (false, _) => format!(
            "{} on the flow's bottleneck {} and {} on {} during the flow",
            flows(first),
            link(first),
            second.other_flows,
            link(second)
        ),
    })
}

/// Describes starts whose lateness is not negligible against the FCT ([`MIN_LATENESS`]); `None` if there are no such
/// starts.
fn lateness(sides: &[FlowSide; 2], names: [&str; 2]) -> Option<String> {
    let late = sides.iter().zip(names).filter_map(|(side, name)| {
        let late = side.lateness_ns?;
        let is_long = late.saturating_mul(MIN_LATENESS) >= side.fct_ns;
        let time = text::time(Nanos::new(late));
        is_long.then(|| format!("started {time} late in the {name}"))
    });
    joined(late)
}

fn drops(sides: &[FlowSide; 2], names: [&str; 2]) -> Option<String> {
    let drops = sides.iter().zip(names).filter_map(|(side, name)| {
        let packets = counted(side.drops)?;
        Some(format!(
            "{packets} dropped on the flow's path during the flow in the {name}"
        ))
    });
    joined(drops)
}

fn retransmissions(sides: &[FlowSide; 2], names: [&str; 2]) -> Option<String> {
    let again = sides.iter().zip(names).filter_map(|(side, name)| {
        let packets = counted(side.retransmissions)?;
        Some(format!("{packets} retransmitted in the {name}"))
    });
    joined(again)
}

/// Formats a number of packets with its noun; `None` if it is 0 or unknown.
fn counted(packets: Option<u64>) -> Option<String> {
    let packets = packets.filter(|&packets| packets > 0)?;
    let packets = usize::try_from(packets).unwrap_or(usize::MAX);
    Some(text::count(packets, "packet"))
}

fn joined(clauses: impl Iterator<Item = String>) -> Option<String> {
    let clauses: Vec<String> = clauses.collect();
    (!clauses.is_empty()).then(|| clauses.join(", "))
}

/// A late start is mentioned if the lateness is at least the FCT divided by this number.
const MIN_LATENESS: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::{super::side::Queue, *};

    fn side(backlog_bytes: u64) -> FlowSide {
        let queue = Queue {
            switch: "a".to_owned(),
            to_dc: "b".to_owned(),
            backlog_bytes,
            time_ns: 2_000,
        };
        FlowSide {
            start_ns: 1_000,
            fct_ns: 1,
            slowdown: None,
            path: None,
            ack_path: None,
            lateness_ns: None,
            bottleneck: None,
            queues: vec![queue],
            drops: None,
            retransmissions: None,
        }
    }

    #[test]
    fn an_empty_queue_has_no_size() {
        let said = |first, second| queues(&[side(first), side(second)]).unwrap();
        let longest = "longest egress queue on the flow's path: ";
        assert_eq!(
            said(0, 0),
            "egress queues on the flow's path empty 1 µs after and 1 µs after the flow's start"
        );
        assert_eq!(
            said(2_000, 0),
            format!("{longest}2 kB (a to b) 1 µs after and empty 1 µs after the flow's start")
        );
        assert_eq!(
            said(0, 2_000),
            format!("{longest}empty 1 µs after and 2 kB (a to b) 1 µs after the flow's start")
        );
    }
}
