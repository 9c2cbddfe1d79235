//! The root namespace: what a lab needs of it, and who else is there.

use crate::{
    exec::Space,
    netlink::{NetlinkError, dump},
};

use super::finding::Finding;

pub(super) fn findings() -> Vec<Finding> {
    match Space::root().map_err(NetlinkError::from).and_then(root) {
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

fn root(mut space: Space) -> Result<Vec<Finding>, NetlinkError> {
    let links = dump::links(&mut space.socket)?;
    let up = links.iter().any(|link| link.name == "lo" && link.up);
    let name = |index| {
        let link = links.iter().find(|link| link.index == index);
        link.map_or("?", |link| link.name.as_str())
    };
    let addresses = dump::addresses(&mut space.socket)?.into_iter();
    let own = addresses
        .filter(|address| {
            address.addr.octets()[0] == LABS_OCTET && !is_labs(name(address.interface))
        })
        .map(|address| {
            format!(
                "{}/{} on `{}`",
                address.addr,
                address.len,
                name(address.interface)
            )
        })
        .collect::<Vec<_>>();
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
        Finding::fail(subject, "it is down", why).mended_by("ip link set lo up")
    }
}

/// What the machine has in 10.0.0.0/8 is no harm: a lab keeps to the sixteenth that is free of it,
/// or behind rules of its own that no other traffic matches.
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

/// A lab's interfaces begin with its slot: `l0d1h1`.
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
    fn interfaces_of_labs_are_told_from_others() {
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
