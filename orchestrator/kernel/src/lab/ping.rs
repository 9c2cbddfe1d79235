//! Arguments of `ping` between nodes: node names are resolved, and a host in the root namespace uses its own interface.
//!
//! The root namespace has no route to a lab's hosts, so that the machine's own packets never enter a lab. A host's
//! routing rules match packets from sockets that are bound to the host's interface, and `ping -I` binds its socket in
//! this way. The arguments of other programs are not changed: perftest, for example, also uses the loopback interface.

use std::{ffi::OsStr, ffi::OsString, path::Path};

use crate::journal::NodeEntry;

/// Returns the arguments of `program` on the node `from`. For `ping`, node names are replaced by addresses, and the
/// interface of a host in the root namespace is added unless the arguments already name an interface.
pub(super) fn arguments(
    program: &OsStr,
    arguments: &[OsString],
    from: &NodeEntry,
    nodes: &[NodeEntry],
) -> Vec<OsString> {
    if Path::new(program).file_name() != Some(OsStr::new("ping")) {
        return arguments.to_vec();
    }
    let address = |word: &OsString| {
        let node = nodes
            .iter()
            .find(|node| word.to_str().is_some_and(|it| node.is_named(it)));
        let addr = node.and_then(|node| node.addr);
        addr.map_or_else(|| word.clone(), |addr| addr.to_string().into())
    };
    let is_bound = arguments
        .iter()
        .any(|word| word.as_encoded_bytes().starts_with(b"-I"));
    let interface = from
        .interfaces
        .first()
        .filter(|_| from.netns.is_none() && !is_bound);
    let bound = interface.map(|interface| ["-I".into(), interface.into()]);
    let words = arguments.iter().map(address);
    bound.into_iter().flatten().chain(words).collect()
}

#[cfg(test)]
mod tests {
    use lab_plan::model::Role;

    use super::*;

    fn node(name: &str, interface: &str, addr: &str) -> NodeEntry {
        NodeEntry {
            name: name.to_owned(),
            short: name.replace('/', "-"),
            role: Role::Host,
            netns: None,
            interfaces: vec![interface.to_owned()],
            addr: Some(addr.parse().unwrap()),
        }
    }

    #[test]
    fn an_echo_leaves_by_the_hosts_interface_to_the_address_of_a_node() {
        let nodes = [
            node("dc1/h1", "l0d1h1", "10.0.16.1"),
            node("dc3/h1", "l0d3h1", "10.0.48.1"),
        ];
        let echo = |program: &str, from: &NodeEntry, words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            arguments(program.as_ref(), &words, from, &nodes)
                .iter()
                .map(|word| word.to_string_lossy())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let from = &nodes[0];
        for (program, words, expected) in [
            ("ping", &["-c1", "dc3/h1"][..], "-I l0d1h1 -c1 10.0.48.1"),
            ("/bin/ping", &["dc3-h1"], "-I l0d1h1 10.0.48.1"),
            ("ping", &["10.0.48.1"], "-I l0d1h1 10.0.48.1"),
            ("ping", &["-I", "l0d1h1", "dc3/h1"], "-I l0d1h1 10.0.48.1"),
            ("ib_send_bw", &["dc3/h1"], "dc3/h1"),
        ] {
            assert_eq!(echo(program, from, words), expected);
        }
        let apart = NodeEntry {
            netns: Some("t".parse::<crate::LabName>().unwrap().netns("dc1-h1")),
            ..from.clone()
        };
        assert_eq!(echo("ping", &apart, &["dc3/h1"]), "10.0.48.1");
    }
}
