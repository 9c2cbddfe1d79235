//! Packet filters of the root namespace, read to name what drops the datagrams of a lab's hosts.
//!
//! Nothing is concluded from them before datagrams are lost: a filter accepts by sets, marks and programs that
//! only the kernel evaluates.
//!
//! - `chains`: chains of both kinds of tables, and those that drop what no rule accepts; pure
//! - `nft`: chains of nf_tables, by `nft`; those of `iptables-nft` and firewalld are among them
//! - `legacy`: chains of the older tables, by `iptables-legacy-save`

mod chains;
mod legacy;
mod nft;

use std::process::{Command, Stdio};

pub(crate) use self::chains::{Direction, Dropper};

/// Returns the chains that drop a host's datagrams in a direction, the likely ones first, and the reasons for
/// which some chains are not known.
pub(crate) fn droppers(direction: Direction) -> (Vec<Dropper>, Vec<String>) {
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for chains in [nft::chains(), legacy::chains()] {
        match chains {
            Ok(chains) => found.extend(chains.droppers(direction)),
            Err(reason) => unknown.push(reason),
        }
    }
    found.sort_by_key(|dropper| !dropper.is_certain);
    (found, unknown)
}

/// Returns what a program prints, or why it prints nothing.
fn output(program: &str, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`{program}` cannot list its rules: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let why = why.lines().next().unwrap_or_default();
    Err(format!("`{program}` cannot list its rules: {why}"))
}
