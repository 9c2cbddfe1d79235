//! How runs agree with the published outputs, and what is out of bounds.

use std::fmt::Write;

use serde_json::{Value, json};

use super::Compared;

/// A table for each policy.
pub fn text(compared: &[Compared]) -> String {
    let mut text = String::new();
    for policy in compared {
        let _ = write!(text, "{}\n{}", policy.label, policy.flows);
        let _ = writeln!(
            text,
            "  average link utilisation, with a Gbit of 2^30 bit as the published averages have it:"
        );
        for link in &policy.links {
            let _ = writeln!(text, "  {link}");
        }
        text.push('\n');
    }
    text
}

/// The same as JSON.
pub fn json(compared: &[Compared]) -> Value {
    let policy = |policy: &Compared| {
        let flows = &policy.flows;
        let links = policy.links.iter().map(|link| {
            json!({
                "between": link.between,
                "published_percent": link.published,
                "simulated_percent": link.simulated,
            })
        });
        json!({
            "policy": policy.label,
            "published": flows.published,
            "compared": flows.compared,
            "unfinished": flows.unfinished,
            "unknown": flows.unknown,
            "same_standalone": flows.same_standalone,
            "same_fct": flows.same_fct,
            "other_path": flows.other_path,
            "difference_p50": flows.percentile(50),
            "difference_p99": flows.percentile(99),
            "links": links.collect::<Vec<_>>(),
            "out_of_bounds": out_of_bounds(std::slice::from_ref(policy)),
        })
    };
    compared.iter().map(policy).collect()
}

/// What is out of bounds, a sentence each.
pub fn out_of_bounds(compared: &[Compared]) -> Vec<String> {
    let mut broken = Vec::new();
    for Compared {
        label,
        flows,
        links,
    } in compared
    {
        if flows.compared < flows.published {
            broken.push(format!(
                "{label}: {} of {} flows are compared",
                flows.compared, flows.published
            ));
        }
        if flows.same_standalone < flows.published {
            broken.push(format!(
                "{label}: the standalone FCT of {} flows is not the published one",
                flows.published - flows.same_standalone
            ));
        }
        for (percent, bound) in [(50, P50), (99, P99)] {
            let difference = flows.percentile(percent).unwrap_or(f64::INFINITY);
            if difference > bound {
                broken.push(format!(
                    "{label}: |ΔFCT| / FCT p{percent} is {difference:.1e}, it must be at most \
                     {bound:.0e}"
                ));
            }
        }
        for link in links.iter().filter(|link| link.relative() > LINK) {
            broken.push(format!(
                "{label}: link {}-{} carries {:.2} %, published {:.2} %",
                link.between[0], link.between[1], link.simulated, link.published
            ));
        }
    }
    broken
}

/// Half of the flows differ by at most this share of their FCT.
const P50: f64 = 1e-3;

/// All but one in a hundred differ by at most this share.
const P99: f64 = 0.03;

/// Links' averages differ by at most this share.
const LINK: f64 = 0.01;
