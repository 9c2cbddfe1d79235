//! Trial of datagrams between hosts in the root namespace, and of the limit on tracked connections.
//!
//! Packet filters and rules are judged by a trial, not by their text: a lab of two hosts is brought up in the root
//! namespace itself, without delay lines and RDMA devices, and its hosts send the datagrams of `certify`. Rules and
//! chains are read only if datagrams are lost, to name the rule or chain that drops the datagrams.

use lab_plan::Plan;
use tokio_util::sync::CancellationToken;

use super::{
    finding::{Finding, Requirement},
    limits, sandbox,
};
use crate::{
    certify,
    connections::Connections,
    lab::{Lab, LabError, LabErrorKind, Reservation, ReservationError},
    lower::{HostPlacement, LowerOptions},
};

/// Failure to carry out the trial. Lost datagrams are not a failure, but a result.
#[derive(Debug, thiserror::Error)]
enum TrialError {
    #[error(transparent)]
    Reservation(#[from] ReservationError),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Datagrams(#[from] LabErrorKind),
}

/// Result of a completed trial.
struct Trial {
    sent: usize,
    loss: Option<certify::Loss>,
    connections: Option<Connections>,
}

/// Sends datagrams between two hosts in both directions, and reports losses and the limit on tracked connections.
pub(crate) fn findings() -> Vec<Finding> {
    let about = Requirement(
        "datagrams",
        "hosts in the root namespace send to one another on UDP port 4791",
    );
    let trial = match trial() {
        Ok(trial) => trial,
        Err(TrialError::Lab(LabError {
            kind: kind @ LabErrorKind::Rule { .. },
            ..
        })) => return vec![about.fail(kind.to_string())],
        Err(error) => {
            return vec![about.warn(format!(
                "unknown, because sending test datagrams failed: {error}"
            ))];
        }
    };
    let finding = match &trial.loss {
        None => about.ok(format!(
            "all {} datagrams passed the machine's rules and packet filters",
            trial.sent
        )),
        Some(loss) => {
            let finding = about.fail(loss.text());
            match loss.fix() {
                Some(fix) => finding.with_fix(fix),
                None => finding,
            }
        }
    };
    let connections = trial.connections.map(limits::connections);
    [Some(finding), connections].into_iter().flatten().collect()
}

fn trial() -> Result<Trial, TrialError> {
    let name = format!("doctor-{}", std::process::id());
    let lab = name.parse().expect("the name is valid");
    let reservation = Reservation::acquire(&lab, "doctor")?;
    let plan: Plan = sandbox::plan(reservation.slot());
    let options = LowerOptions {
        hosts: HostPlacement::RootNamespace,
        delay_lines: false,
        ..sandbox::options(lab)
    };
    let cancel = CancellationToken::new();
    let mut lab = Lab::up(reservation, &plan, &options, &cancel, &mut |_| {})?;
    let deliveries = certify::deliveries(&mut lab, &cancel)?;
    let losses = certify::losses(&lab, &deliveries)?;
    let connections = Connections::read();
    for error in lab.down() {
        tracing::warn!(%error, "cannot remove an object of the doctor's lab");
    }
    Ok(Trial {
        sent: deliveries.iter().map(|it| it.offered).sum(),
        loss: losses.into_iter().next(),
        connections,
    })
}
