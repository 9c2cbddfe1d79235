//! Evidence that the run exercised what it ranks.

use maud::{Markup, html};

use crate::{at_work, summary::Summary, words};

/// Returns the load, the flows that met, and the policies' mechanisms; nothing without evidence.
pub fn tables(summary: &Summary) -> Markup {
    let evidence = &summary.evidence;
    html! {
        @if !evidence.policies.is_empty() {
            h3 { "Mechanisms at work" }
            @if let Some(load) = at_work::load(evidence) { p.note { "Load: " (load) "." } }
            @if let Some(note) = words::failover_note(evidence) { p.note { (note) } }
            div.mechanisms { (at_work::table(evidence).html()) }
        }
    }
}
