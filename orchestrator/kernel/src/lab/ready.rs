//! What is checked before anything is made.

use std::collections::BTreeSet;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::LabErrorKind;
use crate::{
    exec::netns,
    netlink::{Socket, dump, rdma},
    step::{Place, Step},
};

/// Lets the process open as many files as the lab needs: two for each namespace, and some for
/// everything else.
pub(super) fn allow_files(steps: &[Step]) -> Result<(), LabErrorKind> {
    let namespaces = steps
        .iter()
        .filter(|step| matches!(step, Step::Netns { .. }));
    let needed = 2 * u64::try_from(namespaces.count()).unwrap_or(u64::MAX / 2) + OTHER_FILES;
    let io = |errno: nix::Error| LabErrorKind::Io {
        what: "limit of open files",
        error: errno.into(),
    };
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(io)?;
    if soft >= needed {
        return Ok(());
    }
    if hard < needed {
        return Err(LabErrorKind::Files {
            needed,
            limit: hard,
        });
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(io)
}

/// Refuses to begin where something has a name that the lab is going to use.
pub(super) fn nothing_is_there(steps: &[Step]) -> Result<(), LabErrorKind> {
    let io = |error| LabErrorKind::Io {
        what: "netlink socket",
        error,
    };
    let links = dump::links(&mut Socket::route().map_err(io)?)?;
    let links: BTreeSet<String> = links.into_iter().map(|link| link.name).collect();
    // Without the RDMA subsystem there is no device.
    let devices = Socket::rdma().map_err(Into::into);
    let devices = devices.and_then(|mut socket| rdma::devices(&mut socket));
    let devices: BTreeSet<String> = devices
        .unwrap_or_default()
        .into_iter()
        .map(|device| device.name)
        .collect();
    let exists = |what, name: &str| {
        let name = name.to_owned();
        Err(LabErrorKind::Exists { what, name })
    };
    for step in steps {
        match step {
            Step::Netns { name } if netns::path(name).exists() => {
                return exists("namespace", name.as_str());
            }
            Step::Veth(veth) => {
                let mut ends = [&veth.a, &veth.b].into_iter();
                let taken = ends.find(|end| end.place == Place::Root && links.contains(&end.dev));
                if let Some(end) = taken {
                    return exists("interface", &end.dev);
                }
            }
            Step::Rxe { name, .. } if devices.contains(name) => {
                return exists("RDMA device", name);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Journals, pipes of flows, telemetry sockets.
const OTHER_FILES: u64 = 1_024;
