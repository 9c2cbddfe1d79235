//! A place for a lab on the machine: its name and its slot.

use std::{fs, io, path::PathBuf};

use lab_plan::model::{Node, Plan};

use crate::{
    exec::UndoError,
    journal::{
        self, Entry, FORMAT, Head, Journal, LabState, MachineLock, NodeEntry, Owner, Place, Status,
        now,
    },
    lab::slot::InUse,
    name::LabName,
    netlink::{NetlinkError, Socket},
    process::{self, ProcessId},
};

/// A place for a lab, written down but with nothing made yet. Dropping it gives it up.
#[derive(Debug)]
pub struct Claim {
    lab: LabName,
    slot: u8,
    /// Taken out when the lab is brought up.
    journal: Option<Journal>,
}

/// Why there is no place for a lab.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Someone is running it.
    #[error(
        "lab `{}` is running: process {}, `{}`, for {} s (hint: wait for it, or `lcmp-lab down {0}`)",
        status.lab, status.owner_pid.unwrap_or_default(),
        status.owner_command.as_deref().unwrap_or_default(),
        status.age_seconds.unwrap_or_default(),
    )]
    Live {
        /// Whose it is.
        status: Box<Status>,
    },
    /// Someone kept it.
    #[error(
        "lab `{}` was kept {} s ago by `{}` (hint: `lcmp-lab down {0}` removes it, \
         `--lab NAME` makes another)",
        status.lab, status.age_seconds.unwrap_or_default(),
        status.owner_command.as_deref().unwrap_or_default(),
    )]
    Kept {
        /// Whose it is.
        status: Box<Status>,
    },
    /// A dead lab of the name could not be removed.
    #[error("lab `{lab}` is dead and cannot be removed: {}", list(errors))]
    Remains {
        /// The lab.
        lab: LabName,
        /// What is left.
        errors: Vec<UndoError>,
    },
    /// All slots are taken.
    #[error(
        "no address block is free: 10.0.0.0/8 is cut into 16 and each is in use by a lab or by this \
         machine (hint: `lcmp-lab status`, `ip -4 addr`, `ip rule`)"
    )]
    NoSlot,
    /// The machine cannot be asked.
    #[error("cannot read the machine's network: {0}")]
    Netlink(#[from] NetlinkError),
    /// The lab's directory cannot be made.
    #[error("cannot make a place for the lab: {error}{}", journal::hint(error))]
    Io {
        /// Why.
        #[from]
        error: io::Error,
    },
}

impl Claim {
    /// Takes a place for a lab. A dead lab of the name is removed first; a live or kept one is not.
    ///
    /// # Errors
    /// When the name or all slots are taken, or the machine cannot be asked.
    pub fn take(lab: &LabName, scenario: &str) -> Result<Self, ClaimError> {
        Self::take_at(Place::Here, lab, scenario)
    }

    /// Takes a place for a lab that runs in a guest of this process's: its name and its directory.
    ///
    /// # Errors
    /// As [`Claim::take`].
    pub fn take_for_guest(lab: &LabName, plan: &Plan) -> Result<Self, ClaimError> {
        let mut claim = Self::take_at(Place::Guest, lab, &plan.name)?;
        if let Some(journal) = &mut claim.journal {
            journal.write(&Entry::Nodes(nodes_elsewhere(plan)))?;
        }
        Ok(claim)
    }

    fn take_at(place: Place, lab: &LabName, scenario: &str) -> Result<Self, ClaimError> {
        let _lock = MachineLock::take()?;
        if let Some((contents, state)) = journal::read(lab)? {
            let status = || Box::new(Status::of(lab.clone(), &contents, state));
            match state {
                LabState::Live => return Err(ClaimError::Live { status: status() }),
                LabState::Kept => return Err(ClaimError::Kept { status: status() }),
                LabState::Dead => {}
            }
            let errors = super::down::clear(lab, &contents)?;
            if !errors.is_empty() {
                let lab = lab.clone();
                return Err(ClaimError::Remains { lab, errors });
            }
        }
        let slot = free_slot()?;
        let directory = journal::directory(lab);
        fs::create_dir_all(&directory)?;
        let mut journal = Journal::create(&directory)?;
        journal.write(&Entry::Lab(head(place, lab, scenario, slot)?))?;
        Ok(Self {
            lab: lab.clone(),
            slot,
            journal: Some(journal),
        })
    }

    /// The lab's name.
    #[must_use]
    pub const fn lab(&self) -> &LabName {
        &self.lab
    }

    /// The slot that the plan is to be resolved with.
    #[must_use]
    pub const fn slot(&self) -> u8 {
        self.slot
    }

    /// The lab's directory, for sockets and other files that go with it.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        journal::directory(&self.lab)
    }

    pub(super) fn into_journal(mut self) -> Option<Journal> {
        self.journal.take()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.journal.take().is_some()
            && let Ok(_lock) = MachineLock::take()
            && let Err(error) = fs::remove_dir_all(journal::directory(&self.lab))
        {
            tracing::warn!(lab = %self.lab, %error, "cannot give up the claim");
        }
    }
}

/// How many labs could still be made.
pub(crate) fn free_slots() -> Result<usize, ClaimError> {
    Ok(in_use()?.free_slots())
}

fn free_slot() -> Result<u8, ClaimError> {
    in_use()?.free_slot().ok_or(ClaimError::NoSlot)
}

fn in_use() -> Result<InUse, ClaimError> {
    let mut in_use = InUse::read(&mut Socket::route()?)?;
    for lab in journal::labs()? {
        let slot =
            journal::read(&lab)?.and_then(|(contents, _)| contents.head().map(|head| head.slot));
        in_use.slots.extend(slot);
    }
    Ok(in_use)
}

fn head(place: Place, lab: &LabName, scenario: &str, slot: u8) -> io::Result<Head> {
    let process = ProcessId::own()?;
    Ok(Head {
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
        place,
    })
}

/// The nodes of a lab that has nothing on this kernel.
fn nodes_elsewhere(plan: &Plan) -> Vec<NodeEntry> {
    let entry = |node: &Node| NodeEntry {
        name: node.name.clone(),
        short: node.short.clone(),
        role: node.role,
        netns: None,
        interfaces: Vec::new(),
    };
    plan.nodes.iter().map(entry).collect()
}

fn list(errors: &[UndoError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
