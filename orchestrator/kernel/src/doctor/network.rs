//! State of the root namespace that matters to labs.

use crate::{
    exec::NetnsHandle,
    netlink::{NetlinkError, dump},
};

use super::finding::Finding;

pub(super) fn findings() -> Vec<Finding> {
    match NetnsHandle::root()
        .map_err(NetlinkError::from)
        .and_then(root)
    {
        Ok(findings) => findings,
        Err(error) => {
            let what = format!("cannot be read: {error}");
            vec![Finding::fail(
                "network",
                what,
                "a lab must not clash with what is there",
            )]
        }
    }
}

fn root(mut handle: NetnsHandle) -> Result<Vec<Finding>, NetlinkError> {
    let links = dump::links(&mut handle.socket)?;
    let up = links.iter().any(|link| link.name == "lo" && link.up);
    let name = |index| {
        let link = links.iter().find(|link| link.index == index);
        link.map_or("?", |link| link.name.as_str())
    };
    let mut own = Vec::new();
    for dump::Address {
        addr,
        len,
        interface,
    } in dump::addresses(&mut handle.socket)?
    {
        if addr.octets()[0] == LABS_OCTET && !is_labs(name(interface)) {
            own.push(format!("{addr}/{len} on `{}`", name(interface)));
        }
    }
    Ok(vec![loopback(up), addresses_of_labs(&own)])
}

fn loopback(up: bool) -> Finding {
    let (subject, why) = (
        "loopback",
        "the two processes of a flow shake hands over it",
    );
    if up {
        Finding::ok(subject, "it is up", why)
    } else {
        Finding::fail(subject, "it is down", why).with_fix("ip link set lo up")
    }
}

/// The machine's own addresses in 10.0.0.0/8 do no harm: a lab takes a sixteenth without any, or stays
/// behind rules of its own that no other traffic matches.
fn addresses_of_labs(own: &[String]) -> Finding {
    let what = match own {
        [] => "this machine has none in 10.0.0.0/8".to_owned(),
        own => format!("labs keep away from {}", own.join(", ")),
    };
    Finding::ok(
        "addresses",
        what,
        "labs take theirs from 10.0.0.0/8, a sixteenth each",
    )
}

/// Returns true for an interface of a lab, whose name begins with the slot: `l0d1h1`.
fn is_labs(dev: &str) -> bool {
    let mut parts = dev.strip_prefix('l').unwrap_or_default().splitn(2, 'd');
    let slot = parts.next().unwrap_or_default();
    let rest = parts.next().unwrap_or_default();
    slot.len() == 1
        && slot.starts_with(|c: char| c.is_ascii_hexdigit())
        && rest.starts_with(|c: char| c.is_ascii_digit())
}

const LABS_OCTET: u8 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn interfaces_of_labs_have_a_slot_and_a_node() {
        for dev in ["l0d1-d2", "lfd255s127-l127", "l3d1h1"] {
            assert!(is_labs(dev), "{dev}");
        }
        for dev in [
            "lo", "eth0", "l0", "l0d", "l0dx", "lgd1h1", "l+d1h1", "l00d1h1",
        ] {
            assert!(!is_labs(dev), "{dev}");
        }
    }

    #[test]
    fn a_loopback_that_is_down_fails() {
        assert_eq!(loopback(false).level, Level::Fail);
        assert_eq!(loopback(true).level, Level::Ok);
    }
}
