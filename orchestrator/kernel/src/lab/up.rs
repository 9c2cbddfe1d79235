//! A lab that is up.

use std::{io, mem, path::PathBuf};

use lab_plan::model::Plan;
use lab_units::NodeId;
use nix::mount::{MsFlags, mount};
use tokio_util::sync::CancellationToken;

use super::{Claim, LabError, LabErrorKind, Phase, Progress, down, hosts, ready};
use crate::{
    exec::{Executor, RunError, UndoError, check, netns, shared},
    journal::{self, Entry, MachineLock, NodeEntry},
    lower::{Layout, LowerOptions, lower},
    name::LabName,
    process::ProcessId,
    step::Step,
};

/// A lab that is up. Dropping it takes it down, unless it is kept.
#[derive(Debug)]
pub struct Lab {
    pub(super) plan: Plan,
    pub(super) options: LowerOptions,
    /// None once the lab was taken down or kept.
    pub(super) executor: Option<Executor>,
}

impl Lab {
    /// Brings a lab up: everything is made, then read back and compared. On failure, or when told
    /// to stop, what was made is undone.
    ///
    /// The plan is resolved with the claim's slot, and the options name the claim's lab.
    ///
    /// # Errors
    /// When a step fails, the kernel has other than it was told, or someone asked to stop.
    pub fn up(
        claim: Claim,
        plan: &Plan,
        options: &LowerOptions,
        cancel: &CancellationToken,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, LabError> {
        let steps = lower(plan, options);
        let mut lab = Self::start(claim, plan, options, &steps)?;
        match lab.make(&steps, cancel, progress) {
            Ok(()) => Ok(lab),
            Err(kind) => Err(LabError {
                kind,
                left: lab.down(),
            }),
        }
    }

    /// The plan it is a lab of.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How the plan was lowered.
    #[must_use]
    pub const fn options(&self) -> &LowerOptions {
        &self.options
    }

    /// The lab's name.
    #[must_use]
    pub const fn name(&self) -> &LabName {
        &self.options.lab
    }

    /// The file of a node's namespace; none for a host in the root namespace.
    #[must_use]
    pub fn netns_path(&self, node: NodeId) -> Option<PathBuf> {
        let layout = Layout::new(&self.plan, &self.options);
        layout.place(layout.node(node)).netns().map(netns::path)
    }

    /// The lab's directory, for sockets and other files that go with it.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        journal::directory(self.name())
    }

    /// A BPF file system of the lab's own, which is mounted when it is first asked for and goes with
    /// the lab and all that is pinned there.
    ///
    /// # Errors
    /// When it cannot be mounted.
    pub fn bpf_directory(&mut self) -> io::Result<PathBuf> {
        let path = self.directory().join("bpf");
        if !path.exists() {
            self.note(&Entry::Pins(path.clone()))?;
            std::fs::create_dir(&path)?;
            let none = None::<&str>;
            mount(Some("bpf"), &path, Some("bpf"), MsFlags::empty(), none)?;
        }
        Ok(path)
    }

    /// Writes down a process of the lab, so that it ends with the lab whatever happens.
    pub(super) fn record_process(&mut self, pid: u32) -> io::Result<()> {
        let process = i32::try_from(pid).ok().and_then(ProcessId::of);
        let gone = || io::Error::new(io::ErrorKind::NotFound, format!("process {pid} is gone"));
        let process = process.ok_or_else(gone)?;
        self.note(&Entry::Process(process))
    }

    /// Does further steps, such as those of a fault.
    ///
    /// # Errors
    /// When a step fails.
    pub fn apply(&mut self, steps: &[Step]) -> Result<(), LabErrorKind> {
        Ok(self.executor()?.run(steps, || false, |_| {})?)
    }

    /// Leaves the lab up when its owner ends.
    ///
    /// # Errors
    /// When the journal cannot be written; the lab is then taken down as ever.
    pub fn keep(mut self) -> io::Result<()> {
        self.note(&Entry::Kept)?;
        self.executor = None;
        Ok(())
    }

    /// Takes the lab down, and returns what could not be undone.
    pub fn down(mut self) -> Vec<UndoError> {
        self.take_down()
    }

    pub(super) fn executor(&mut self) -> io::Result<&mut Executor> {
        let down = || io::Error::other("the lab is down");
        self.executor.as_mut().ok_or_else(down)
    }

    fn note(&mut self, entry: &Entry) -> io::Result<()> {
        self.executor()?.note(entry)
    }

    /// Checks what can be checked before anything is made.
    fn start(
        claim: Claim,
        plan: &Plan,
        options: &LowerOptions,
        steps: &[Step],
    ) -> Result<Self, LabError> {
        let fail = |kind: LabErrorKind| LabError {
            kind,
            left: Vec::new(),
        };
        if plan.slot != claim.slot() || options.lab != *claim.lab() {
            return Err(fail(LabErrorKind::OtherClaim {
                plan: plan.slot,
                lab: options.lab.clone(),
                slot: claim.slot(),
                claimed: claim.lab().clone(),
            }));
        }
        ready::allow_files(steps).map_err(fail)?;
        ready::nothing_is_there(steps).map_err(fail)?;
        let lab = claim.lab().clone();
        let executor = claim
            .into_journal()
            .ok_or_else(|| io::Error::other("the claim was given up"))
            .and_then(|journal| Executor::new(lab, journal))
            .map_err(|error| fail(LabErrorKind::Io { what: "lab", error }))?;
        Ok(Self {
            plan: plan.clone(),
            options: options.clone(),
            executor: Some(executor),
        })
    }

    fn make(
        &mut self,
        steps: &[Step],
        cancel: &CancellationToken,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), LabErrorKind> {
        let io = |what| move |error| LabErrorKind::Io { what, error };
        let entry = Entry::Nodes(self.nodes());
        self.note(&entry).map_err(io("journal"))?;
        self.note(&Entry::NetnsDirectory).map_err(io("journal"))?;
        MachineLock::take()
            .and_then(|_lock| shared::need_netns_directory(self.name()))
            .map_err(io("/run/netns"))?;
        let executor = self.executor().map_err(io("lab"))?;
        let (mut done, total) = (0, steps.len());
        let report = |group: &[Step]| {
            done += group.len();
            let phase = group.last().map_or(Phase::Nodes, Phase::of);
            progress(Progress { phase, done, total });
        };
        executor.run(steps, || cancel.is_cancelled(), report)?;
        progress(Progress {
            phase: Phase::Check,
            done: total,
            total,
        });
        let differences = check(executor, steps)?;
        if !differences.is_empty() {
            return Err(LabErrorKind::Differs { differences });
        }
        hosts::wait_for_gids(&self.plan, &self.options)?;
        if cancel.is_cancelled() {
            return Err(LabErrorKind::Cancelled);
        }
        Ok(())
    }

    fn nodes(&self) -> Vec<NodeEntry> {
        let layout = Layout::new(&self.plan, &self.options);
        let entry = |node: &lab_plan::model::Node| {
            let ports = node.ports.iter();
            NodeEntry {
                name: node.name.clone(),
                short: node.short.clone(),
                role: node.role,
                netns: layout.place(node).netns().cloned(),
                interfaces: ports
                    .map(|&port| layout.port(port).interface.clone())
                    .collect(),
            }
        };
        layout.nodes().map(entry).collect()
    }

    fn take_down(&mut self) -> Vec<UndoError> {
        // Closes the sockets, which would keep the namespaces alive.
        let Some(executor) = mem::take(&mut self.executor) else {
            return Vec::new();
        };
        drop(executor);
        let lab = self.name();
        let cleared = MachineLock::take().and_then(|_lock| match journal::read(lab)? {
            Some((contents, _)) => down::clear(lab, &contents),
            None => Ok(Vec::new()),
        });
        cleared.unwrap_or_else(|error| {
            vec![UndoError::File {
                path: journal::directory(lab).display().to_string(),
                error,
            }]
        })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for error in self.take_down() {
            tracing::error!(lab = %self.name(), %error, "left behind");
        }
    }
}

impl From<RunError> for LabErrorKind {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Step(error) => Self::Step(error),
            RunError::Journal(error) => Self::Io {
                what: "journal",
                error,
            },
            RunError::Cancelled => Self::Cancelled,
        }
    }
}

impl From<io::Error> for LabErrorKind {
    fn from(error: io::Error) -> Self {
        Self::Io { what: "lab", error }
    }
}
