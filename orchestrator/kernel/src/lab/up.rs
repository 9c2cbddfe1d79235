//! A lab that is up: its creation, inspection and removal.

use std::{io, mem, path::PathBuf, time::Duration};

use lab_plan::model::{FaultPlan, Plan};
use lab_records::{CertifiedRow, LinkBounds};
use lab_units::NodeId;
use nix::mount::{MsFlags, mount};
use rtnetlink::packet_route::link::Stats64;
use tokio_util::sync::CancellationToken;

use super::{LabError, LabErrorKind, LabProgress, Phase, Reservation, down, gids, preflight};
use crate::{
    certify,
    doctor::modules,
    exec::{ApplyError, Drift, Executor, UndoError, check, netns, shared},
    journal::{self, Entry, MachineLock, NodeEntry, Process},
    lower::{Layout, LowerOptions, lower, lower_after},
    name::LabName,
    netlink::{NetlinkError, dump},
    process::{self, ProcessId},
    step::Step,
};

/// Lab that is up. Dropping the value takes the lab down unless it is kept.
#[derive(Debug)]
pub struct Lab {
    pub(super) plan: Plan,
    pub(super) options: LowerOptions,
    /// Executor of steps; `None` after the lab was taken down or kept.
    pub(super) executor: Option<Executor>,
}

impl Lab {
    /// Brings a lab up: applies all steps, reads the kernel's state back and compares it with the steps. After a
    /// failure or a cancellation, the applied steps are undone.
    ///
    /// The plan must be for the reservation's slot, and the options for the reservation's lab.
    /// Fails if a step fails, the kernel's state differs from the steps, or the caller cancels.
    pub fn up(
        reservation: Reservation,
        plan: &Plan,
        options: &LowerOptions,
        cancel: &CancellationToken,
        progress: &mut dyn FnMut(LabProgress),
    ) -> Result<Self, LabError> {
        let steps = lower(plan, options);
        let fail = |kind: LabErrorKind| LabError {
            kind,
            left: Vec::new(),
        };
        preflight::check(&reservation, plan, options, &steps).map_err(fail)?;
        preflight::allow_files(&steps).map_err(fail)?;
        let mut lab = Self::open(reservation, plan, options).map_err(fail)?;
        match modules::telling(|| lab.make(&steps, cancel, progress)) {
            Ok(()) => Ok(lab),
            Err(kind) => Err(LabError {
                kind,
                left: lab.down(),
            }),
        }
    }

    /// Opens a lab to which no step has been applied yet.
    pub(crate) fn open(
        reservation: Reservation,
        plan: &Plan,
        options: &LowerOptions,
    ) -> Result<Self, LabErrorKind> {
        let io = |what| move |error| LabErrorKind::Io { what, error };
        let journal = reservation
            .into_journal()
            .ok_or_else(|| io::Error::other("the reservation was released"))?;
        let mut lab = Self {
            plan: plan.clone(),
            options: options.clone(),
            executor: Some(Executor::new(options.lab.clone(), journal)?),
        };
        let nodes = Entry::Nodes(lab.nodes());
        lab.record(&nodes).map_err(io("journal"))?;
        MachineLock::take()
            .and_then(|_lock| shared::need_netns_directory(&options.lab, lab.executor()?.journal()))
            .map_err(io("/run/netns"))?;
        Ok(lab)
    }

    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the options with which the plan was lowered.
    #[must_use]
    pub const fn options(&self) -> &LowerOptions {
        &self.options
    }

    #[must_use]
    pub const fn name(&self) -> &LabName {
        &self.options.lab
    }

    /// Returns the path of a node's namespace; `None` for a host in the root namespace.
    #[must_use]
    pub fn netns_path(&self, node: NodeId) -> Option<PathBuf> {
        let layout = Layout::new(&self.plan, &self.options);
        layout.netns(layout.node(node)).name().map(netns::path)
    }

    /// Returns the lab's directory, in which sockets and other files are placed that are removed with the lab.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        journal::directory(self.name())
    }

    /// Returns the mount point of the lab's own BPF file system, which the first call mounts. The file system is
    /// removed with the lab, including all objects that are pinned in it.
    pub fn bpf_directory(&mut self) -> io::Result<PathBuf> {
        let path = journal::bpf_directory(self.name());
        if !path.exists() {
            self.record(&Entry::Pins(path.clone()))?;
            std::fs::create_dir(&path)?;
            let kind = Some("bpf");
            mount(kind, &path, kind, MsFlags::empty(), Some(BPF_OPTIONS))?;
        }
        Ok(path)
    }

    /// Records a process in the journal, so that the process is ended with the lab.
    pub(super) fn record_process(&mut self, pid: u32) -> io::Result<()> {
        let process = i32::try_from(pid).ok().and_then(ProcessId::of);
        let gone = || io::Error::new(io::ErrorKind::NotFound, format!("process {pid} is gone"));
        let id = process.ok_or_else(gone)?;
        let cgroup = process::cgroup(id.pid)?;
        self.record(&Entry::Process(Process { id, cgroup }))
    }

    /// Measures every link in both directions by the lab's clock, and compares the measured values with `bounds`.
    ///
    /// # Errors
    /// If the measurement fails or the caller cancels. A measurement outside `bounds` is not an error, but recorded as
    /// a problem in the link's row.
    pub fn certify(
        &mut self,
        bounds: &LinkBounds,
        cancel: &CancellationToken,
    ) -> Result<Vec<CertifiedRow>, LabErrorKind> {
        certify::measure(self, bounds, cancel)
    }

    /// Reads the kernel's state back and returns the differences from the plan. Waits for the links' carriers for up to
    /// `patience`.
    pub(crate) fn differences(&mut self, patience: Duration) -> Result<Vec<Drift>, LabErrorKind> {
        let steps = lower(&self.plan, &self.options);
        Ok(check(self.executor()?, &steps, patience)?)
    }

    /// After flows have run, reads the kernel's interfaces and queues back, and returns the differences from the plan
    /// with the `injected` faults. Any difference was caused by another program.
    pub(crate) fn altered(&mut self, injected: &[FaultPlan]) -> Result<Vec<Drift>, LabErrorKind> {
        let steps = lower_after(&self.plan, &self.options, injected).map_err(io::Error::other)?;
        Ok(check(self.executor()?, &steps, CARRIERS_AFTER)?)
    }

    /// Applies further steps to the lab, such as those of a fault.
    pub fn apply(&mut self, steps: &[Step]) -> Result<(), LabErrorKind> {
        Ok(self.executor()?.apply(steps, || false, |_| {})?)
    }

    /// Leaves the lab up when its owner ends. Fails if the journal cannot be written; the lab is then taken down as
    /// usual.
    pub fn keep(mut self) -> io::Result<()> {
        self.record(&Entry::Kept)?;
        self.executor = None;
        Ok(())
    }

    /// Takes the lab down and returns an error for each object that remains.
    pub fn down(mut self) -> Vec<UndoError> {
        self.take_down()
    }

    /// Returns the executor of steps; fails after the lab was taken down.
    pub(crate) fn executor(&mut self) -> io::Result<&mut Executor> {
        let down = || io::Error::other("the lab is down");
        self.executor.as_mut().ok_or_else(down)
    }

    /// Returns the traffic counters at a node's interfaces, in the order of its ports.
    pub(crate) fn counters(&mut self, node: NodeId) -> Result<Vec<Stats64>, NetlinkError> {
        let layout = Layout::new(&self.plan, &self.options);
        let node = layout.node(node);
        let netns = layout.netns(node);
        let devs = layout.interfaces(node);
        let gone = || io::Error::other(format!("{netns} does not belong to the lab"));
        let handle = self.executor()?.handle(&netns).ok_or_else(gone)?;
        let links = dump::links(&mut handle.socket)?;
        let stats = |dev: &String| {
            let link = links.iter().find(|link| link.name == *dev);
            link.map(|link| link.stats)
        };
        Ok(devs.iter().filter_map(stats).collect())
    }

    /// Returns the number of packets sent on all links of the lab. A packet counts once for each link that it crosses.
    pub(crate) fn sent_packets(&mut self) -> Result<u64, LabErrorKind> {
        let mut packets = 0u64;
        for node in (0..).map(NodeId).take(self.plan.nodes.len()) {
            let ports = self.counters(node).map_err(io::Error::other)?;
            packets += ports.iter().map(|port| port.tx_packets).sum::<u64>();
        }
        Ok(packets)
    }

    fn record(&mut self, entry: &Entry) -> io::Result<()> {
        self.executor()?.record(entry)
    }

    fn make(
        &mut self,
        steps: &[Step],
        cancel: &CancellationToken,
        progress: &mut dyn FnMut(LabProgress),
    ) -> Result<(), LabErrorKind> {
        if steps
            .iter()
            .any(|step| matches!(step, Step::HostPrograms(_)))
        {
            self.bpf_directory()?;
        }
        let executor = self.executor()?;
        let mut done = 0;
        let total = steps.len();
        let report = |group: &[Step]| {
            done += group.len();
            let phase = group.last().map_or(Phase::Nodes, Phase::of);
            progress(LabProgress { phase, done, total });
        };
        executor.apply(steps, || cancel.is_cancelled(), report)?;
        progress(LabProgress {
            phase: Phase::Check,
            done: total,
            total,
        });
        let differences = self.differences(CARRIERS)?;
        if !differences.is_empty() {
            return Err(LabErrorKind::Differs { differences });
        }
        gids::wait_for_gids(&self.plan, &self.options)?;
        if cancel.is_cancelled() {
            return Err(LabErrorKind::Cancelled);
        }
        Ok(())
    }

    fn nodes(&self) -> Vec<NodeEntry> {
        let layout = Layout::new(&self.plan, &self.options);
        let entry = |node: &lab_plan::model::Node| {
            let netns = layout.netns(node).name().cloned();
            NodeEntry::of(node, netns, layout.interfaces(node))
        };
        layout.nodes().map(entry).collect()
    }

    fn take_down(&mut self) -> Vec<UndoError> {
        // The executor is dropped first, because its open sockets would keep the namespaces alive.
        let Some(executor) = mem::take(&mut self.executor) else {
            return Vec::new();
        };
        drop(executor);
        let lab = self.name();
        MachineLock::take()
            .and_then(|_lock| match journal::read(lab)? {
                Some((contents, _)) => down::clear(lab, &contents),
                None => Ok(Vec::new()),
            })
            .unwrap_or_else(|error| {
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
            tracing::error!(lab = %self.name(), %error, "an object of the lab remains");
        }
    }
}

impl From<ApplyError> for LabErrorKind {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Step(error) => Self::Step(error),
            ApplyError::Journal(error) => Self::Io {
                what: "journal",
                error,
            },
            ApplyError::Cancelled => Self::Cancelled,
        }
    }
}

impl From<io::Error> for LabErrorKind {
    fn from(error: io::Error) -> Self {
        Self::Io { what: "lab", error }
    }
}

/// Mount options of a lab's BPF file system, without which every user could create files in it.
const BPF_OPTIONS: &str = "mode=0700";

/// Maximum wait until all links have a carrier, which takes milliseconds, or longer on a loaded machine.
const CARRIERS: Duration = Duration::from_secs(60);

/// Maximum wait for the carrier of a link that was restored just before the flows ended.
const CARRIERS_AFTER: Duration = Duration::from_secs(1);
