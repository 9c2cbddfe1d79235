//! A flow's tale for a person.

use std::fmt::Write;

use lab_plan::{about_bytes, about_time};
use lab_records::{DcPath, FlowRow, StoryRow};
use lab_units::Nanos;

use super::{Choice, Tale};

/// All policies' runs of a flow, one after the other.
pub fn text(tales: &[Tale]) -> String {
    let mut text = String::new();
    if let Some(tale) = tales.first() {
        text.push_str(&heading(&tale.flow));
    }
    for tale in tales {
        text.push('\n');
        text.push_str(&policy(tale));
    }
    text
}

fn heading(flow: &FlowRow) -> String {
    format!(
        "flow {}: {} from {} to {}, scheduled at {}, alone it takes {}\n",
        flow.flow_id,
        about_bytes(flow.size_bytes),
        flow.src_host,
        flow.dst_host,
        about_time(flow.start_ns),
        about_time(flow.ideal_fct_ns),
    )
}

fn policy(tale: &Tale) -> String {
    let flow = &tale.flow;
    let way = |path: &Option<DcPath>| match path {
        Some(path) => path.to_string(),
        None => "not known".to_owned(),
    };
    let mut text = format!("{} (congestion control {})\n", flow.policy, flow.cc);
    let end = match (flow.fct_ns, flow.slowdown) {
        (Some(fct), Some(slowdown)) => {
            format!(
                "finished after {}, FCT slowdown {slowdown:.3}",
                about_time(fct)
            )
        }
        (Some(fct), None) => format!("finished after {}", about_time(fct)),
        (None, _) => format!("{}: {}", flow.status.label(), flow.reason),
    };
    let _ = writeln!(text, "  {end}");
    let _ = writeln!(
        text,
        "  data by {}, acknowledgements by {}",
        way(&flow.path),
        way(&flow.ack_path)
    );
    for choice in &tale.decisions {
        text.push('\n');
        text.push_str(&decision(choice));
    }
    if !tale.story.is_empty() {
        text.push('\n');
    }
    for row in &tale.story {
        text.push_str(&event(row));
    }
    text
}

fn decision(choice: &Choice) -> String {
    let what = if choice.is_ack {
        "acknowledgements"
    } else {
        "data"
    };
    let mut text = format!(
        "  {:>10}  {} decides for {what} ({})\n",
        about_time(Nanos::new(choice.time_ns)),
        choice.switch,
        choice.reason,
    );
    let _ = writeln!(
        text,
        "              {:<10} {:>7} {:>7} {:>7}",
        "next DC", "C_path", "C_cong", "C"
    );
    for scores in &choice.candidates {
        let fate = match (scores.is_chosen, scores.is_kept) {
            (true, _) => "  chosen",
            (false, true) => "  kept",
            (false, false) => "",
        };
        let _ = writeln!(
            text,
            "              {:<10} {:>7} {:>7} {:>7}{fate}",
            scores.to_dc, scores.c_path, scores.c_cong, scores.cost
        );
    }
    text
}

fn event(row: &StoryRow) -> String {
    let mut text = format!(
        "  {:>10}  {:<10} {}",
        about_time(row.time_ns),
        row.node,
        row.event.label()
    );
    if row.count > 1 {
        let _ = write!(text, " {} times", row.count);
    }
    if let Some(peer) = &row.peer {
        let _ = write!(text, ", {peer}");
    }
    if let Some(rate) = row.rate_bps {
        let _ = write!(text, ", at {}", lab_plan::about_rate(rate.get()));
    }
    if let Some(offset) = row.offset_bytes {
        let _ = write!(text, ", byte {}", offset.get());
    }
    text.push('\n');
    text
}
