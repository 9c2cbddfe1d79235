//! Chains of nf_tables, as listed by `nft`; see libnftables-json(5).

use std::{collections::BTreeMap, fs, path::Path};

use lab_abi::rows::ROCE_PORT;
use serde::Deserialize;
use serde_json::Value;

use super::{
    chains::{Chain, Chains, FilterRule, FilterVerdict},
    listing::output,
};
use crate::doctor::modules_directory;

/// Returns the chains of the namespace in which the calling thread is; empty if nf_tables is not in use.
pub(super) fn chains() -> Result<Chains, String> {
    if is_unloaded_module() {
        return Ok(Chains::default());
    }
    parse(&output("nft", &["--json", "list", "ruleset"])?)
}

/// Returns true if nf_tables is a module that is not loaded: then there are no rules, and listing them would load the
/// module. Returns false on a kernel with built-in nf_tables, whose `modules.dep` does not list it.
fn is_unloaded_module() -> bool {
    let modules = fs::read_to_string(modules_directory().join("modules.dep"));
    let is_module = modules.is_ok_and(|modules| modules.contains("/nf_tables.ko"));
    is_module && !Path::new("/sys/module/nf_tables").exists()
}

/// Parses the ruleset that `nft --json list ruleset` prints.
pub(super) fn parse(listing: &[u8]) -> Result<Chains, String> {
    let listing: Listing = serde_json::from_slice(listing)
        .map_err(|error| format!("the rules that `nft` listed cannot be parsed: {error}"))?;
    let mut chains = Chains::default();
    for object in &listing.nftables {
        if let Some(listed) = &object.chain {
            let at = format!("{} {} {}", listed.family, listed.table, listed.name);
            let hook = listed.hook.clone().filter(|_| listed.sees_hosts());
            let chain = Chain {
                hook,
                drops_rest: listed.policy.as_deref() == Some("drop"),
                rules: Vec::new(),
                fix: match listed.table.as_str() {
                    // firewalld recreates its rules from time to time, so the fix must be made through firewalld.
                    "firewalld" => format!("firewall-cmd --add-port={ROCE_PORT}/udp"),
                    _ => format!("nft insert rule {at} udp dport {ROCE_PORT} accept"),
                },
            };
            chains.0.insert(at, chain);
        }
    }
    for rule in listing.nftables.iter().filter_map(|it| it.rule.as_ref()) {
        let table = format!("{} {}", rule.family, rule.table);
        if let Some(chain) = chains.0.get_mut(&format!("{table} {}", rule.chain)) {
            chain.rules.push(rule.read(&table));
        }
    }
    Ok(chains)
}

/// Output of `nft --json`.
#[derive(Debug, Deserialize)]
struct Listing {
    nftables: Vec<Object>,
}

#[derive(Debug, Deserialize)]
struct Object {
    chain: Option<ListedChain>,
    rule: Option<ListedRule>,
}

#[derive(Debug, Deserialize)]
struct ListedChain {
    family: String,
    table: String,
    name: String,
    hook: Option<String>,
    policy: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ListedRule {
    family: String,
    table: String,
    chain: String,
    /// Statements of the rule, each of which is an object with a single field.
    expr: Vec<BTreeMap<String, Value>>,
}

impl ListedChain {
    /// Returns true if IPv4 packets of hosts may pass through the chain.
    fn sees_hosts(&self) -> bool {
        matches!(self.family.as_str(), "ip" | "inet")
    }
}

impl ListedRule {
    fn read(&self, table: &str) -> FilterRule {
        let mut rule = FilterRule {
            is_conditional: false,
            verdict: FilterVerdict::Other,
        };
        for (name, value) in self.expr.iter().flatten() {
            let text = |field: &str| value.get(field).and_then(Value::as_str);
            match (name.as_str(), text("type"), text("name")) {
                ("drop", ..) | ("xt", Some("target"), Some("DROP")) => {
                    rule.verdict = FilterVerdict::Drop;
                }
                ("reject", ..) | ("xt", Some("target"), Some("REJECT")) => {
                    rule.verdict = FilterVerdict::Reject;
                }
                ("jump" | "goto", ..) => {
                    let to = text("target").unwrap_or_default();
                    rule.verdict = FilterVerdict::Jump(format!("{table} {to}"));
                }
                ("counter" | "log" | "accept" | "return" | "continue", ..) => {}
                _ => rule.is_conditional = true,
            }
        }
        rule
    }
}
