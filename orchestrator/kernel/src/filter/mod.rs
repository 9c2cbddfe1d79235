//! Packet filters in the root namespace, read to name the chain that drops the datagrams from a lab's hosts.
//!
//! Nothing is concluded from the filters before datagrams are lost: filters accept by sets, marks and programs, which
//! only the kernel can evaluate.
//!
//! - `chains`: chains of both kinds of tables, and the chains that drop packets; pure
//! - `nft`: chains of nf_tables, by `nft`, including chains of `iptables-nft` and firewalld
//! - `legacy`: chains of the older tables, by `iptables-legacy-save`
//! - `listing`: output of these programs

mod chains;
mod legacy;
mod listing;
mod nft;

pub(crate) use self::chains::{Direction, Dropper};

/// Returns the chains that drop a host's datagrams in a direction, the likely ones first, and the reasons for
/// which some chains are not known.
pub(crate) fn droppers(direction: Direction) -> (Vec<Dropper>, Vec<String>) {
    let mut found = Vec::new();
    let mut unknown = Vec::new();
    for chains in [nft::chains(), legacy::chains()] {
        match chains {
            Ok(chains) => found.extend(chains.droppers(direction)),
            Err(reason) => unknown.push(reason),
        }
    }
    found.sort_by_key(|dropper| !dropper.is_certain);
    (found, unknown)
}
