//! GIDs of RDMA devices.

use std::{fs, net::Ipv4Addr, path::PathBuf, thread::sleep, time::Duration};

use lab_plan::model::{Plan, Role};
use lab_units::NodeId;

use super::LabErrorKind;
use crate::lower::{Layout, LowerOptions, rdma_device};

/// Waits until every RDMA device has a GID for each address of its interface, because the kernel adds GIDs
/// asynchronously.
pub(super) fn wait_for_gids(plan: &Plan, options: &LowerOptions) -> Result<(), LabErrorKind> {
    let layout = Layout::new(plan, options);
    if !options.delay_lines {
        return Ok(());
    }
    for (id, node) in (0..).map(NodeId).zip(&plan.nodes) {
        if node.role != Role::Host {
            continue;
        }
        let Some(device) = rdma_device(&layout, id) else {
            continue;
        };
        let mut checks = 0..MAX_GID_CHECKS;
        for addr in node.addrs() {
            while gid_index(&device, addr).is_none() {
                if checks.next().is_none() {
                    return Err(LabErrorKind::NoGid { device, addr });
                }
                sleep(PAUSE);
            }
        }
    }
    Ok(())
}

/// Returns the index of a device's RoCE v2 GID for an IPv4 address; `None` if the device has no such GID.
pub(super) fn gid_index(device: &str, addr: Ipv4Addr) -> Option<u8> {
    let port = PathBuf::from(format!("/sys/class/infiniband/{device}/ports/1"));
    let [a, b, c, d] = addr.octets();
    let wanted = format!("0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}");
    let entries = fs::read_dir(port.join("gids")).ok()?.flatten();
    let mut indexes: Vec<u8> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    indexes.sort_unstable();
    indexes.into_iter().find(|index| {
        // Entries without a GID cannot be read.
        let read = |file: PathBuf| fs::read_to_string(file).unwrap_or_default();
        let gid = read(port.join(format!("gids/{index}")));
        let kind = || read(port.join(format!("gid_attrs/types/{index}")));
        gid.trim() == wanted && kind().trim() == "RoCE v2"
    })
}

/// Maximum number of checks for a GID; the kernel adds GIDs within milliseconds. The wait is limited by a count instead
/// of a time, because a guest's clock may jump.
const MAX_GID_CHECKS: u32 = 10_000;

const PAUSE: Duration = Duration::from_millis(1);
