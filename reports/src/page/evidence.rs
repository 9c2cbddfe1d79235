//! Evidence that the run exercised what it ranks.

use maud::{Markup, html};

use crate::{at_work, summary::Summary};

/// Returns the warnings, the flows that met, and the policies' mechanisms; nothing without evidence.
pub fn tables(summary: &Summary) -> Markup {
    let policies = &summary.evidence.policies;
    html! {
        @if !policies.is_empty() {
            h3 { "Mechanisms at work" }
            @if let Some(load) = at_work::load(&summary.evidence) { p.note { "Load: " (load) "." } }
            @if let Some(note) = summary.evidence.failover_note() { p.note { (note) } }
            div.wide.mechanisms {
                table {
                    thead {
                        tr {
                            th { "policy" }
                            @for head in &at_work::HEADS[1..] { th.n { (head) } }
                            th { "mechanism" }
                        }
                    }
                    tbody {
                        @for policy in policies {
                            tr {
                                @let [name, cells @ ..] = at_work::row(policy);
                                th { (name) }
                                @for cell in cells { td.n { (cell) } }
                                td.s {
                                    (policy.sentence())
                                    @if let Some(tables) = &policy.tables { "; " (tables.sentence()) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
