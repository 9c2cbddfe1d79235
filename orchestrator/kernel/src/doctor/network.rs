//! State of the root namespace that affects labs.

use crate::{
    exec::NetnsHandle,
    netlink::{NetlinkError, dump},
};

use super::finding::{Finding, Requirement};

pub(super) fn findings() -> Vec<Finding> {
    NetnsHandle::root()
        .map_err(NetlinkError::from)
        .and_then(root)
        .unwrap_or_else(|error| {
            let about = Requirement(
                "network",
                "a lab must not conflict with existing addresses and routes",
            );
            vec![about.fail(format!("cannot be read: {error}"))]
        })
}

fn root(mut handle: NetnsHandle) -> Result<Vec<Finding>, NetlinkError> {
    let links = dump::links(&mut handle.socket)?;
    let up = links.iter().any(|link| link.name == "lo" && link.up);
    let name = |index| {
        let link = links.iter().find(|link| link.index == index);
        link.map_or("?", |link| link.name.as_str())
    };
    let mut own = Vec::new();
    for found in dump::addresses(&mut handle.socket)? {
        let addr = found.addr;
        let len = found.len;
        let dev = name(found.interface);
        if addr.octets()[0] == LABS_OCTET && !is_labs(dev) {
            own.push(format!("{addr}/{len} on `{dev}`"));
        }
    }
    Ok(vec![loopback(up), addresses_of_labs(&own)])
}

pub(super) fn loopback(up: bool) -> Finding {
    let about = Requirement(
        "loopback",
        "the two processes of a flow connect over the loopback interface",
    );
    if up {
        about.ok("it is up")
    } else {
        about.fail("it is down").with_fix("ip link set lo up")
    }
}

/// Reports the machine's own addresses in 10.0.0.0/8. Such addresses do no harm: 10.0.0.0/8 is divided into 16 blocks,
/// and a lab uses a block without them, or else routes by rules that no other traffic matches.
pub(super) fn addresses_of_labs(own: &[String]) -> Finding {
    let about = Requirement("addresses", "each lab takes a sixteenth of 10.0.0.0/8");
    about.ok(match own {
        [] => "this machine has no address in 10.0.0.0/8".to_owned(),
        own => format!("labs avoid {}", own.join(", ")),
    })
}

/// Returns true if `dev` is the name of a lab's interface, which begins with the slot: `l0d1h1`.
pub(super) fn is_labs(dev: &str) -> bool {
    let mut parts = dev.strip_prefix('l').unwrap_or_default().splitn(2, 'd');
    let slot = parts.next().unwrap_or_default();
    let rest = parts.next().unwrap_or_default();
    slot.len() == 1
        && slot.starts_with(|c: char| c.is_ascii_hexdigit())
        && rest.starts_with(|c: char| c.is_ascii_digit())
}

const LABS_OCTET: u8 = 10;
