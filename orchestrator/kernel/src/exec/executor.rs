//! Application of steps in groups, each of which is recorded in the journal beforehand.

use std::{collections::BTreeMap, io, os::fd::AsFd};

use super::{
    StepCause, StepError,
    backend::{self, Backend},
    error::{each, failed},
    netns::{self, NetnsHandle},
    shared,
};
use crate::{
    journal::{Entry, Journal, MachineLock},
    name::{LabName, NetnsName},
    netlink::Batch,
    step::{Namespace, Step},
};

/// Executor of a lab's steps, which records each step in the lab's journal before applying it.
#[derive(Debug)]
pub(crate) struct Executor {
    lab: LabName,
    journal: Journal,
    root: NetnsHandle,
    handles: BTreeMap<NetnsName, NetnsHandle>,
}

/// Reason why steps were not applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    #[error(transparent)]
    Step(#[from] StepError),
    #[error("cannot write the journal: {0}")]
    Journal(#[source] io::Error),
    #[error("stopped")]
    Cancelled,
}

impl Executor {
    /// Returns an executor that has not applied any step.
    pub fn new(lab: LabName, journal: Journal) -> io::Result<Self> {
        Ok(Self {
            lab,
            journal,
            root: NetnsHandle::root()?,
            handles: BTreeMap::new(),
        })
    }

    /// Applies steps in groups with the same namespace and backend. Calls `cancelled` before each group, and passes the
    /// group to `done` after applying it.
    pub fn apply(
        &mut self,
        steps: &[Step],
        cancelled: impl Fn() -> bool,
        mut done: impl FnMut(&[Step]),
    ) -> Result<(), ApplyError> {
        let together = |a: &Step, b: &Step| {
            a.netns_name() == b.netns_name() && Backend::of(a) == Backend::of(b)
        };
        for group in steps.chunk_by(together) {
            if cancelled() {
                return Err(ApplyError::Cancelled);
            }
            self.record(&Entry::Do(group.to_vec()))
                .map_err(ApplyError::Journal)?;
            self.apply_group(group)?;
            done(group);
        }
        Ok(())
    }

    /// Returns the lab's journal. Changes of state that labs share must be recorded in the journal before they are
    /// made.
    pub const fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }

    /// Writes an entry to the lab's journal.
    pub fn record(&mut self, entry: &Entry) -> io::Result<()> {
        self.journal.write(entry)
    }

    /// Returns the handle of a namespace; `None` unless it is the root namespace or was created by this executor.
    pub fn handle(&mut self, netns: &Namespace) -> Option<&mut NetnsHandle> {
        match netns {
            Namespace::Root => Some(&mut self.root),
            Namespace::Named(name) => self.handles.get_mut(name),
        }
    }

    fn apply_group(&mut self, steps: &[Step]) -> Result<(), ApplyError> {
        let Some(first) = steps.first() else {
            return Ok(());
        };
        if let Step::Netns { name } = first {
            return self.create_netns(name, steps);
        }
        let backend = Backend::of(first);
        let netns = first
            .netns_name()
            .cloned()
            .map_or(Namespace::Root, Namespace::Named);
        let handle = self.known(&netns, first)?;
        let work: fn(&[Step]) -> Result<(), StepError> = match backend {
            Backend::Machine => return Ok(each(steps, |step| self.raise_shared(step))?),
            Backend::Programs => {
                return Ok(each(steps, |step| match step {
                    Step::HostPrograms(programs) => backend::load_programs(handle, programs),
                    _ => Ok(()),
                })?);
            }
            Backend::Messages => return Ok(self.send_messages(&netns, steps)?),
            Backend::Ioctl => return Ok(backend::disable_offloads(handle, steps)?),
            Backend::Inside => backend::write_sysctls,
            Backend::Rdma => backend::add_rdma_devices,
            Backend::Sysfs => backend::steer_packets,
        };
        let entered = match (&netns, backend) {
            (Namespace::Root, _) => Ok(work(steps)),
            (_, Backend::Sysfs) => netns::inside_with_sysfs(handle.as_fd(), || work(steps)),
            (_, _) => netns::inside(handle.as_fd(), || work(steps)),
        };
        Ok(entered.map_err(|error| failed(first, error))??)
    }

    /// Creates a namespace and writes the sysctls that the steps set in it.
    fn create_netns(&mut self, name: &NetnsName, steps: &[Step]) -> Result<(), ApplyError> {
        let journal = &mut self.journal;
        let record = |id| {
            let name = name.clone();
            journal.write(&Entry::MadeNetns { name, id })
        };
        let (handle, written) =
            NetnsHandle::create(name, record, || backend::write_sysctls(&steps[1..]))
                .map_err(|error| failed(&steps[0], error))?;
        self.handles.insert(name.clone(), handle);
        Ok(written?)
    }

    fn send_messages(&mut self, netns: &Namespace, steps: &[Step]) -> Result<(), StepError> {
        let mut rest = steps;
        while let Some(first) = rest.first() {
            let batch = self.batch(netns, rest)?;
            let count = batch.len();
            let handle = self.known(netns, first)?;
            let errors = handle
                .socket
                .execute(batch)
                .map_err(|error| failed(first, error))?;
            if let Some((number, error)) = errors.into_iter().next() {
                return Err(failed(&rest[number], error));
            }
            rest = &rest[count..];
        }
        Ok(())
    }

    /// Returns a batch with one message per step, for the first steps that fit into it.
    fn batch(&mut self, netns: &Namespace, steps: &[Step]) -> Result<Batch, StepError> {
        let mut batch = Batch::default();
        for step in steps {
            if batch.is_full() {
                break;
            }
            let added = if let Step::Veth(veth) = step {
                let other = match &veth.b.netns {
                    b if *b == veth.a.netns => None,
                    Namespace::Root => Some(&self.root),
                    Namespace::Named(name) => self.handles.get(name),
                };
                backend::add_veth(veth, other, &mut batch);
                Ok(())
            } else {
                backend::add_message(self.known(netns, step)?, step, &mut batch)
            };
            added.map_err(|cause| failed(step, cause))?;
        }
        Ok(batch)
    }

    fn raise_shared(&mut self, step: &Step) -> Result<(), StepCause> {
        if let Step::SharedSysctl { key, at_least } = step {
            let _lock = MachineLock::take()?;
            shared::raise(&self.lab, &mut self.journal, key, *at_least)?;
        }
        Ok(())
    }

    fn known(&mut self, netns: &Namespace, step: &Step) -> Result<&mut NetnsHandle, StepError> {
        let unknown = || io::Error::new(io::ErrorKind::NotFound, "the namespace does not exist");
        self.handle(netns).ok_or_else(|| failed(step, unknown()))
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;
    use crate::step::DeviceChange;

    #[test]
    fn a_step_in_an_unknown_namespace_fails_with_any_backend() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::create(directory.path()).unwrap();
        let lab: LabName = "t".parse().unwrap();
        let mut executor = Executor::new(lab.clone(), journal).unwrap();
        let netns = Namespace::Named(lab.netns("dc9"));
        let device = |change| Step::device(&netns, "l0d9-d1", change);
        let steps = [
            Step::Sysctl {
                netns: netns.clone(),
                key: "net.ipv4.ip_forward".into(),
                value: "1".into(),
                optional: true,
            },
            device(DeviceChange::NoOffloads),
            device(DeviceChange::Up),
            device(DeviceChange::Rxe("rxe_t".into())),
            device(DeviceChange::Rps(1)),
        ];
        for step in steps {
            let applied = executor.apply(slice::from_ref(&step), || false, |_| {});
            let error = applied.expect_err(&step.to_string()).to_string();
            assert!(error.contains("the namespace does not exist"), "{error}");
        }
    }
}
