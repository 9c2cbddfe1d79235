//! Packet filters that drop a lab's packets in the root namespace.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde::Deserialize;

use super::finding::Finding;

/// Lists base chains whose policy drops packets. Returns `None` without a packet filter or without
/// `nft` to list it; a chain whose last rule drops is not detected.
pub(super) fn finding() -> Option<Finding> {
    // Listing would load the module, which would stay.
    if !Path::new("/sys/module/nf_tables").exists() {
        return None;
    }
    let listing = Command::new("nft")
        .args(["--json", "list", "chains"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    if !listing.status.success() {
        return None;
    }
    let listing: Listing = serde_json::from_slice(&listing.stdout).ok()?;
    Some(judge(&listing))
}

fn judge(listing: &Listing) -> Finding {
    let (subject, why) = (
        "packet filter",
        "hosts in the root namespace receive by UDP port 4791",
    );
    let chains = listing
        .nftables
        .iter()
        .filter_map(|object| object.chain.as_ref());
    let dropping: Vec<&Chain> = chains.filter(|chain| chain.drops()).collect();
    let Some(first) = dropping.first() else {
        return Finding::ok(subject, "no chain drops packets that no rule knows", why);
    };
    let names = dropping
        .iter()
        .map(|chain| format!("`{}`", chain.path()))
        .collect::<Vec<_>>();
    let what = format!(
        "packets that no rule knows are dropped by {}",
        names.join(", ")
    );
    Finding::warn(subject, what, why).with_fix(format!(
        "nft insert rule {} udp dport 4791 accept",
        first.path()
    ))
}

/// Output of `nft --json`, see libnftables-json(5).
#[derive(Debug, Deserialize)]
struct Listing {
    nftables: Vec<Object>,
}

#[derive(Debug, Deserialize)]
struct Object {
    chain: Option<Chain>,
}

#[derive(Debug, Deserialize)]
struct Chain {
    family: String,
    table: String,
    name: String,
    hook: Option<String>,
    policy: Option<String>,
}

impl Chain {
    fn drops(&self) -> bool {
        matches!(self.family.as_str(), "ip" | "inet")
            && matches!(
                self.hook.as_deref(),
                Some("prerouting" | "input" | "output" | "postrouting")
            )
            && self.policy.as_deref() == Some("drop")
    }

    fn path(&self) -> String {
        format!("{} {} {}", self.family, self.table, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    /// Output of nft 1.0.6, with line breaks.
    const LISTING: &str = r#"{"nftables": [
        {"metainfo": {"version": "1.0.6", "release_name": "Lester Gooch #5", "json_schema_version": 1}},
        {"chain": {"family": "ip", "table": "filter", "name": "INPUT", "handle": 1, "type": "filter",
                   "hook": "input", "prio": 0, "policy": "drop"}},
        {"chain": {"family": "ip", "table": "filter", "name": "FORWARD", "handle": 2, "type": "filter",
                   "hook": "forward", "prio": 0, "policy": "drop"}},
        {"chain": {"family": "ip", "table": "filter", "name": "ufw-user", "handle": 3}},
        {"chain": {"family": "inet", "table": "other", "name": "out", "handle": 1, "type": "filter",
                   "hook": "output", "prio": 0, "policy": "accept"}}]}"#;

    #[test]
    fn an_input_chain_that_drops_is_found_and_a_forward_chain_is_not() {
        let finding = judge(&serde_json::from_str(LISTING).unwrap());
        assert_eq!(finding.level, Level::Warn);
        assert_eq!(
            finding.what,
            "packets that no rule knows are dropped by `ip filter INPUT`"
        );
        let fix = "nft insert rule ip filter INPUT udp dport 4791 accept";
        assert_eq!(finding.fix.as_deref(), Some(fix));
    }

    #[test]
    fn chains_that_accept_are_ok() {
        let listing = LISTING.replace("\"drop\"", "\"accept\"");
        let finding = judge(&serde_json::from_str(&listing).unwrap());
        assert_eq!(finding.level, Level::Ok);
    }
}
