//! Chains of the kernel's older packet filter tables (x_tables), as listed by `iptables-legacy-save`.

use std::{collections::BTreeMap, fs};

use lab_abi::rows::ROCE_PORT;

use super::{
    chains::{Chain, Chains, FilterRule, FilterVerdict},
    listing::output,
};

/// Returns the chains of the namespace in which the calling thread is; empty if no iptables-legacy table has been used
/// in that namespace.
pub(super) fn chains() -> Result<Chains, String> {
    // The file lists the tables that have been used in this namespace; it does not exist if the kernel has no such
    // tables.
    let tables = fs::read_to_string("/proc/thread-self/net/ip_tables_names").unwrap_or_default();
    if tables.trim().is_empty() {
        return Ok(Chains::default());
    }
    let listing = output("iptables-legacy-save", &[])?;
    Ok(parse(&String::from_utf8_lossy(&listing)))
}

/// Parses a listing of lines such as `*table`, `:CHAIN POLICY [0:0]` and `-A CHAIN … -j TARGET …`.
pub(super) fn parse(listing: &str) -> Chains {
    let mut chains = BTreeMap::new();
    let mut table = "";
    for line in listing.lines() {
        if let Some(name) = line.strip_prefix('*') {
            table = name;
        } else if let Some(head) = line.strip_prefix(':') {
            let mut words = head.split(' ');
            let name = words.next().unwrap_or_default();
            let policy = words.next();
            let chain = Chain {
                // Only base chains have a policy, and their names are those of the hooks.
                hook: (policy != Some("-")).then(|| name.to_ascii_lowercase()),
                drops_rest: policy == Some("DROP"),
                rules: Vec::new(),
                fix: fix(table, name),
            };
            chains.insert(format!("{table} {name}"), chain);
        } else if let Some(words) = line.strip_prefix("-A ") {
            let words: Vec<&str> = words.split(' ').collect();
            let name = words.first().copied().unwrap_or_default();
            if let Some(chain) = chains.get_mut(&format!("{table} {name}")) {
                chain.rules.push(rule(table, &words[1..]));
            }
        }
    }
    Chains(chains)
}

/// Parses the matches and the target of a rule.
fn rule(table: &str, words: &[&str]) -> FilterRule {
    let at = words.iter().position(|word| matches!(*word, "-j" | "-g"));
    let target = at.and_then(|at| words.get(at + 1)).copied();
    FilterRule {
        is_conditional: at != Some(0),
        verdict: match target {
            Some("DROP") => FilterVerdict::Drop,
            Some("REJECT") => FilterVerdict::Reject,
            Some(target) => FilterVerdict::Jump(format!("{table} {target}")),
            None => FilterVerdict::Other,
        },
    }
}

fn fix(table: &str, chain: &str) -> String {
    let table = match table {
        "filter" => String::new(),
        table => format!(" -t {table}"),
    };
    format!("iptables-legacy{table} -I {chain} -p udp --dport {ROCE_PORT} -j ACCEPT")
}
