//! Packet filters in the root namespace. They are read to find the chain that drops datagrams of a lab's hosts.
//!
//! Filters are read only after datagrams were lost: rules may depend on sets, marks and programs, which only the kernel
//! can evaluate, so the rules alone do not show whether packets pass.
//!
//! - `chains`: model of the chains of both kinds of tables, and search for chains that drop packets
//! - `nft`: chains of nf_tables, listed by `nft`, including those of `iptables-nft` and firewalld
//! - `legacy`: chains of the older tables, listed by `iptables-legacy-save`
//! - `listing`: output of the two programs

mod chains;
mod legacy;
mod listing;
mod nft;

pub(crate) use self::chains::{Direction, Dropper};

/// Returns the chains that may drop a host's datagrams in a direction, the likeliest first, and the reasons why
/// some chains could not be read.
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
