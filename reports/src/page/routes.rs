//! Routes of each policy's flows.

use std::collections::BTreeMap;

use lab_units::{Bytes, Nanos};
use maud::{Markup, html};

use super::{NONE, Page, counted, or_none, policy_name};
use crate::{error::ReportError, frames::RouteShare, text};

/// Returns the table of routes, the least delay first.
pub fn table(page: &Page<'_>) -> Result<Markup, ReportError> {
    let mut shares: BTreeMap<(u8, Nanos, String), BTreeMap<&str, RouteShare>> = BTreeMap::new();
    let (policies, routes) = (&page.run.flows.policies, &page.run.routes);
    for (index, policy) in policies.iter().enumerate() {
        for share in page.run.flows.routes(index)? {
            let delay = routes.delay(&routes.named(&share.route));
            let (unknown, delay) = delay.map_or((1, Nanos::ZERO), |delay| (0, delay));
            let key = (unknown, delay, share.route.clone());
            shares.entry(key).or_default().insert(policy, share);
        }
    }
    if shares.is_empty() {
        return Ok(html! { p { "No flow's path is known." } });
    }
    Ok(html! {
        div.wide {
            table {
                thead {
                    tr {
                        th { "route" }
                        th.n { "one-way delay" }
                        @for policy in policies { th.n { (policy_name(page.run, policy)) } }
                    }
                }
                tbody {
                    @for ((unknown, delay, route), by_policy) in &shares {
                        tr {
                            th { (route) }
                            td.n { (or_none((*unknown == 0).then(|| text::time(*delay)))) }
                            @for policy in policies {
                                @match by_policy.get(policy.as_str()) {
                                    Some(share) => td.n {
                                        (counted(share.flows, "flow"))
                                        span.ci { (text::size(Bytes::new(share.bytes))) }
                                    },
                                    None => td.n { (NONE) },
                                }
                            }
                        }
                    }
                }
            }
        }
        p.note { "Routes of the flows' data, either direction." }
    })
}
