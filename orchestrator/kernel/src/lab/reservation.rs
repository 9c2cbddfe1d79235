//! Reservation of a lab's name and slot.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use lab_plan::model::Plan;

use crate::{
    exec::UndoError,
    journal::{
        self, Entry, FORMAT, Journal, JournalHead, LabState, Location, MachineLock, NodeEntry,
        Owner, Status, now,
    },
    lab::slot::InUse,
    name::LabName,
    netlink::{NetlinkError, Socket},
    process::{self, ProcessId},
};

/// Name and slot (address block) of a lab that has no objects yet, recorded in its journal. Dropping the reservation
/// releases both.
#[derive(Debug)]
pub struct Reservation {
    lab: LabName,
    slot: u8,
    /// Journal of the lab; `None` once it has moved into the lab that was brought up.
    journal: Option<Journal>,
}

/// Reason why a lab cannot be reserved.
#[derive(Debug, thiserror::Error)]
pub enum ReservationError {
    #[error(
        "lab `{}` is running: process {}, `{}`, for {} s (hint: wait for it, or `lcmp-lab down {0}`)",
        status.lab, status.owner_pid.unwrap_or_default(),
        status.owner_command.as_deref().unwrap_or_default(),
        status.age_seconds.unwrap_or_default(),
    )]
    Live { status: Box<Status> },
    #[error(
        "lab `{}` was kept {} s ago by `{}` (hint: `lcmp-lab down {0}` removes it, \
         `--lab NAME` makes a lab of another name)",
        status.lab, status.age_seconds.unwrap_or_default(),
        status.owner_command.as_deref().unwrap_or_default(),
    )]
    Kept { status: Box<Status> },
    #[error(
        "the owner of lab `{lab}` has died, but the lab cannot be removed: {}",
        list(errors)
    )]
    Remains {
        lab: LabName,
        errors: Vec<UndoError>,
    },
    #[error(
        "no address block is free: all 16 blocks of 10.0.0.0/8 are in use by labs or by this \
         machine (hint: `lcmp-lab status`, `ip -4 addr`, `ip rule`)"
    )]
    NoSlot,
    #[error("cannot read the machine's network: {0}")]
    Netlink(#[from] NetlinkError),
    #[error("cannot reserve the lab: {error}{}", journal::hint(error))]
    Io {
        #[from]
        error: io::Error,
    },
}

impl Reservation {
    /// Reserves a lab on this kernel. A lab of the same name whose owner has died is removed first; a live or kept lab
    /// of that name is an error. Also fails if all slots are in use or the machine's network cannot be read.
    pub fn acquire(lab: &LabName, scenario: &str) -> Result<Self, ReservationError> {
        Self::acquire_on(Location::Here, lab, scenario)
    }

    /// Reserves a lab that runs in a guest of this process.
    pub fn acquire_for_guest(lab: &LabName, plan: &Plan) -> Result<Self, ReservationError> {
        let mut reservation = Self::acquire_on(Location::Guest, lab, &plan.name)?;
        if let Some(journal) = &mut reservation.journal {
            journal.write(&Entry::Nodes(nodes_elsewhere(plan)))?;
        }
        Ok(reservation)
    }

    fn acquire_on(
        location: Location,
        lab: &LabName,
        scenario: &str,
    ) -> Result<Self, ReservationError> {
        let _lock = MachineLock::take()?;
        if let Some((contents, state)) = journal::read(lab)? {
            let status = || Box::new(Status::of(lab.clone(), &contents, state));
            match state {
                LabState::Live => return Err(ReservationError::Live { status: status() }),
                LabState::Kept => return Err(ReservationError::Kept { status: status() }),
                LabState::Dead | LabState::Unreadable | LabState::Private => {}
            }
            let errors = super::down::clear(lab, &contents)?;
            if !errors.is_empty() {
                let lab = lab.clone();
                return Err(ReservationError::Remains { lab, errors });
            }
        }
        let slot = free_slot()?;
        let directory = journal::directory(lab);
        // Other users may see the names of labs, but not their files.
        DirBuilder::new().mode(OWNER_ENTERS).create(&directory)?;
        let mut journal = Journal::create(&directory)?;
        journal.write(&Entry::Lab(head(location, lab, scenario, slot)?))?;
        Ok(Self {
            lab: lab.clone(),
            slot,
            journal: Some(journal),
        })
    }

    /// Returns the name under which the lab is reserved.
    #[must_use]
    pub const fn lab(&self) -> &LabName {
        &self.lab
    }

    /// Returns the slot (address block) for which the plan must be relabelled.
    #[must_use]
    pub const fn slot(&self) -> u8 {
        self.slot
    }

    /// Returns the lab's directory, in which sockets and other files are placed that are removed with the lab.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        journal::directory(&self.lab)
    }

    /// Records `run` as the lab's run directory, which `status` shows.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn record_run(&self, run: &Path) -> io::Result<()> {
        journal::record_run(&self.lab, run)
    }

    pub(super) fn into_journal(mut self) -> Option<Journal> {
        self.journal.take()
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.journal.take().is_some()
            && let Ok(_lock) = MachineLock::take()
            && let Err(error) = fs::remove_dir_all(journal::directory(&self.lab))
        {
            tracing::warn!(lab = %self.lab, %error, "cannot release the reservation");
        }
    }
}

/// Mode of a lab's directory: only its owner can access the journal, sockets and pinned programs in it.
const OWNER_ENTERS: u32 = 0o700;

/// Returns the number of further labs that can be reserved.
pub(crate) fn free_slots() -> Result<usize, ReservationError> {
    Ok(in_use()?.free_slots())
}

fn free_slot() -> Result<u8, ReservationError> {
    in_use()?.free_slot().ok_or(ReservationError::NoSlot)
}

fn in_use() -> Result<InUse, ReservationError> {
    let mut in_use = InUse::read(&mut Socket::route()?)?;
    for lab in journal::labs()? {
        let slot = match journal::read(&lab) {
            // The slot of a lab with an unreadable journal still counts as used, because the lab's addresses exist on
            // this kernel.
            Err(error) if journal::is_damage(&error) => {
                tracing::warn!(%lab, %error, "the lab's journal cannot be read");
                None
            }
            read => read?.and_then(|(contents, _)| contents.head().map(|head| head.slot)),
        };
        in_use.slots.extend(slot);
    }
    Ok(in_use)
}

fn head(location: Location, lab: &LabName, scenario: &str, slot: u8) -> io::Result<JournalHead> {
    let process = ProcessId::own()?;
    Ok(JournalHead {
        format: FORMAT,
        lab: lab.clone(),
        scenario: scenario.to_owned(),
        slot,
        boot_id: process::boot_id()?,
        owner: Owner {
            process,
            command: process::command(process.pid),
        },
        since: now(),
        location,
    })
}

/// Returns the nodes of a lab that runs in a guest and so has no objects on this kernel.
fn nodes_elsewhere(plan: &Plan) -> Vec<NodeEntry> {
    let entry = |node| NodeEntry::of(node, None, Vec::new());
    plan.nodes.iter().map(entry).collect()
}

fn list(errors: &[UndoError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
