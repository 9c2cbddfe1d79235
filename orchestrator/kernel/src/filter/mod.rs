//! Packet filters in the root namespace, read to name the chain that drops the datagrams from a lab's hosts.
//!
//! Nothing is concluded from the filters before datagrams are lost: filters accept by sets, marks and programs, which
//! only the kernel can evaluate.
//!
//! - `chains`: chains of both kinds of tables, and the chains that drop packets; pure
//! - `nft`: chains of nf_tables, by `nft`, including chains of `iptables-nft` and firewalld
//! - `legacy`: chains of the older tables, by `iptables-legacy-save`

mod chains;
mod legacy;
mod nft;

use std::{
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

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

/// Returns the output of a program, or the reason why there is none.
fn output(program: &str, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .process_group(0)
        .output()
        .map_err(|error| format!("`{program}` cannot list its rules: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let why = why.lines().next().unwrap_or_default();
    Err(format!("`{program}` cannot list its rules: {why}"))
}
