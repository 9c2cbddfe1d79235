//! Packet filters that would not let a lab's packets into the root namespace.

use std::process::{Command, Stdio};

use serde::Deserialize;

use super::finding::Finding;

/// Base chains that drop what no rule lets in or out. Nothing is found where `nft` is not
/// installed, and a chain whose last rule drops is not seen: that takes a packet to find out.
pub(super) fn finding() -> Option<Finding> {
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
        return Finding::ok(subject, "no chain drops what it does not know", why);
    };
    let names = dropping
        .iter()
        .map(|chain| format!("`{}`", chain.path()))
        .collect::<Vec<_>>();
    let what = format!("{} drop what they do not know", names.join(", "));
    Finding::warn(subject, what, why).mended_by(format!(
        "nft insert rule {} udp dport 4791 accept",
        first.path()
    ))
}

/// `nft --json`, see libnftables-json(5).
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
