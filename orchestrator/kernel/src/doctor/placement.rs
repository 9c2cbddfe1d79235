//! Where hosts' NICs can be: whether this kernel's SoftRoCE sends from inside a namespace.
//!
//! It is tried: two namespaces joined by a pair of interfaces, an RDMA device on each end, and a
//! flow of five messages from one to the other. rxe of Linux 6.1 looks routes up in the root
//! namespace and listens only there, so that its first message ends with an error.

use super::{finding::Finding, pair::Pair, scratch};
use crate::{exec::StepCause, lower::HostPlacement};

/// What SoftRoCE is to be tried with cannot be made, so that no lab can be either.
#[derive(Debug, thiserror::Error)]
#[error("cannot make {what} to try SoftRoCE with: {cause}")]
pub struct ProbeError {
    /// What cannot be made.
    pub what: &'static str,
    /// Why.
    pub cause: StepCause,
}

/// Finds out where hosts' NICs can be on this kernel: in namespaces of their own if a flow between
/// two of them ends well, else, and in any doubt, in the root namespace, where every SoftRoCE
/// sends. The reason is logged.
///
/// Takes a second or two. What is made for it is gone afterwards, whatever happens.
///
/// # Errors
/// When namespaces, interfaces or RDMA devices cannot be made.
pub fn probe_host_placement() -> Result<HostPlacement, ProbeError> {
    let Verdict { hosts, reason } = verdict()?;
    tracing::info!(?hosts, reason, "tried SoftRoCE inside namespaces");
    Ok(hosts)
}

pub(super) fn finding() -> Finding {
    let (subject, why) = (
        "hosts",
        "SoftRoCE of some kernels sends from the root namespace only",
    );
    match verdict() {
        Ok(Verdict { hosts, reason }) => {
            let place = match hosts {
                HostPlacement::OwnNamespace => "each in a namespace of its own",
                HostPlacement::RootNamespace => "in the root namespace, behind policy routing",
            };
            Finding::ok(subject, format!("{place}: {reason}"), why)
        }
        Err(error) => Finding::fail(subject, error.to_string(), why),
    }
}

/// Where hosts' NICs can be, and why.
#[derive(Debug)]
struct Verdict {
    hosts: HostPlacement,
    reason: String,
}

fn verdict() -> Result<Verdict, ProbeError> {
    let mut pair = Pair::new()?;
    // On a thread of its own: the caller may be on one of a runtime's, which may not block.
    let tried = scratch::on_thread(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(runtime.block_on(pair.try_flow()))
    });
    Ok(match tried.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(()) => Verdict {
            hosts: HostPlacement::OwnNamespace,
            reason: "a flow from one namespace to another ended well".to_owned(),
        },
        Err(reason) => Verdict {
            hosts: HostPlacement::RootNamespace,
            reason,
        },
    })
}
