//! Packet filters that drop a lab's packets in the root namespace.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde::Deserialize;

use super::finding::{Finding, Requirement};

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

pub(super) fn judge(listing: &Listing) -> Finding {
    let why = "hosts in the root namespace receive by UDP port 4791";
    let about = Requirement("packet filter", why);
    let chains = listing.nftables.iter();
    let chains = chains.filter_map(|object| object.chain.as_ref());
    let dropping = chains.filter(|chain| chain.drops()).map(Chain::path);
    let dropping: Vec<String> = dropping.collect();
    let Some(first) = dropping.first() else {
        return about.ok("no chain drops packets that no rule knows");
    };
    let names = dropping.join("`, `");
    let finding = about.warn(format!(
        "packets that no rule knows are dropped by `{names}`"
    ));
    finding.with_fix(format!("nft insert rule {first} udp dport 4791 accept"))
}

/// Output of `nft --json`, see libnftables-json(5).
#[derive(Debug, Deserialize)]
pub(super) struct Listing {
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
