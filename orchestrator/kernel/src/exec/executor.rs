//! Doing steps.

use std::{collections::BTreeMap, fs, io, os::fd::AsFd};

use super::{
    StepCause, StepError,
    message::{CREATE, message},
    netns, shared,
    space::Space,
    sysctl,
};
use crate::{
    journal::{Entry, Journal, MachineLock},
    name::{LabName, NetnsName},
    netlink::{Batch, Socket, ethtool, rdma, route},
    step::{Place, Step},
};

/// Does steps, each written down in the journal first.
#[derive(Debug)]
pub(crate) struct Executor {
    lab: LabName,
    journal: Journal,
    root: Space,
    spaces: BTreeMap<NetnsName, Space>,
}

/// Why the steps were not all done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// A step failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The journal cannot be written.
    #[error("cannot write the journal: {0}")]
    Journal(#[source] io::Error),
    /// Someone asked to stop.
    #[error("stopped")]
    Cancelled,
}

/// How a step is done. Steps of one kind in one namespace are done together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Means {
    /// On a thread that is in the namespace.
    Inside,
    /// By a batch of messages.
    Messages,
    /// By ioctls.
    Ioctl,
    /// By messages to the RDMA subsystem.
    Rdma,
    /// By writing to a `/sys` of the namespace.
    Sysfs,
    /// With the machine's lock.
    Machine,
}

impl Means {
    const fn of(step: &Step) -> Self {
        match step {
            Step::Netns { .. } | Step::Sysctl { .. } => Self::Inside,
            Step::Offloads { .. } => Self::Ioctl,
            Step::Rxe { .. } => Self::Rdma,
            Step::Rps { .. } => Self::Sysfs,
            Step::SharedSysctl { .. } => Self::Machine,
            Step::Veth(_)
            | Step::LinkUp { .. }
            | Step::LinkDown { .. }
            | Step::Address { .. }
            | Step::Neighbour { .. }
            | Step::NotLocal { .. }
            | Step::Route(_)
            | Step::Rule(_)
            | Step::Qdisc(_)
            | Step::QdiscChange(_)
            | Step::Redirect { .. } => Self::Messages,
        }
    }
}

impl Executor {
    /// An executor that has done nothing yet.
    pub fn new(lab: LabName, journal: Journal) -> io::Result<Self> {
        Ok(Self {
            lab,
            journal,
            root: Space::root()?,
            spaces: BTreeMap::new(),
        })
    }

    /// Does the steps. Before each group of them `cancelled` is asked, after it `done` is told how
    /// many steps it was.
    pub fn run(
        &mut self,
        steps: &[Step],
        cancelled: impl Fn() -> bool,
        mut done: impl FnMut(&[Step]),
    ) -> Result<(), RunError> {
        let together = |a: &Step, b: &Step| a.netns() == b.netns() && Means::of(a) == Means::of(b);
        for group in steps.chunk_by(together) {
            if cancelled() {
                return Err(RunError::Cancelled);
            }
            let entry = Entry::Do(group.to_vec());
            self.journal.write(&entry).map_err(RunError::Journal)?;
            self.group(group)?;
            done(group);
        }
        Ok(())
    }

    /// Writes a line about what is not a step.
    pub fn note(&mut self, entry: &Entry) -> io::Result<()> {
        self.journal.write(entry)
    }

    /// The conversation with a namespace that the executor made.
    pub fn space(&mut self, place: &Place) -> Option<&mut Space> {
        match place {
            Place::Root => Some(&mut self.root),
            Place::Netns(name) => self.spaces.get_mut(name),
        }
    }

    fn group(&mut self, steps: &[Step]) -> Result<(), RunError> {
        let Some(first) = steps.first() else {
            return Ok(());
        };
        let netns = first.netns().cloned();
        match (Means::of(first), netns) {
            (Means::Inside, Some(name)) => self.inside(&name, steps),
            (Means::Inside, None) => Ok(settings(steps)?),
            (Means::Messages, netns) => Ok(self.messages(netns.as_ref(), steps)?),
            (Means::Ioctl, netns) => Ok(each(steps, |step| self.offloads(netns.as_ref(), step))?),
            (Means::Rdma, netns) => Ok(self.rdma(netns.as_ref(), steps)?),
            (Means::Sysfs, netns) => Ok(self.sysfs(netns.as_ref(), steps)?),
            (Means::Machine, _) => Ok(each(steps, |step| self.machine(step))?),
        }
    }

    /// A new namespace and its settings, or settings of one that is there.
    fn inside(&mut self, name: &NetnsName, steps: &[Step]) -> Result<(), RunError> {
        let Some((Step::Netns { .. }, rest)) = steps.split_first() else {
            let space = self.known(Some(name), steps)?;
            let done = netns::inside(space.as_fd(), || settings(steps));
            return Ok(flatten(steps, done)?);
        };
        let made = Space::create(name, || settings(rest));
        let (space, done) = made.map_err(|error| failed(&steps[0], error))?;
        self.spaces.insert(name.clone(), space);
        let inode = netns::inode(name).unwrap_or_default();
        let entry = Entry::MadeNetns {
            name: name.clone(),
            inode,
        };
        self.journal.write(&entry).map_err(RunError::Journal)?;
        Ok(done?)
    }

    fn messages(&mut self, netns: Option<&NetnsName>, steps: &[Step]) -> Result<(), StepError> {
        let mut rest = steps;
        while !rest.is_empty() {
            let (batch, count) = self.batch(netns, rest)?;
            let space = self.known(netns, rest)?;
            let errors = space.socket.execute(batch);
            let errors = errors.map_err(|error| failed(&rest[0], error))?;
            if let Some((number, error)) = errors.into_iter().next() {
                return Err(failed(&rest[number], error));
            }
            rest = &rest[count..];
        }
        Ok(())
    }

    /// The messages of as many of the steps as go together, one each, and how many that is.
    fn batch(
        &mut self,
        netns: Option<&NetnsName>,
        steps: &[Step],
    ) -> Result<(Batch, usize), StepError> {
        let mut batch = Batch::new();
        for step in steps {
            if batch.is_full() {
                break;
            }
            if let Step::Veth(veth) = step {
                let elsewhere = veth.b.place != veth.a.place;
                let other = self.place(&veth.b.place).filter(|_| elsewhere);
                let message = route::veth(veth, other.map(AsFd::as_fd));
                batch.route(&message, CREATE);
            } else {
                let space = self.known(netns, std::slice::from_ref(step))?;
                message(space, step, &mut batch).map_err(|cause| failed(step, cause))?;
            }
        }
        let count = batch.len();
        Ok((batch, count))
    }

    fn offloads(&mut self, netns: Option<&NetnsName>, step: &Step) -> Result<(), StepCause> {
        if let Step::Offloads { dev, .. } = step
            && let Some(space) = self.of(netns)
        {
            ethtool::offloads_off(&space.socket, dev)?;
        }
        Ok(())
    }

    fn rdma(&mut self, netns: Option<&NetnsName>, steps: &[Step]) -> Result<(), StepError> {
        let work = || -> Result<(), StepError> {
            let mut socket = Socket::rdma().map_err(|error| failed(&steps[0], error))?;
            for step in steps {
                if let Step::Rxe { name, dev, .. } = step {
                    rdma::add_rxe(&mut socket, name, dev).map_err(|error| failed(step, error))?;
                }
            }
            Ok(())
        };
        match netns {
            None => work(),
            Some(_) => {
                let space = self.known(netns, steps)?;
                flatten(steps, netns::inside(space.as_fd(), work))
            }
        }
    }

    fn sysfs(&mut self, netns: Option<&NetnsName>, steps: &[Step]) -> Result<(), StepError> {
        let work = || {
            each(steps, |step| {
                if let Step::Rps { dev, cpus, .. } = step {
                    let file = format!("/sys/class/net/{dev}/queues/rx-0/rps_cpus");
                    fs::write(&file, format!("{cpus:x}"))?;
                    let found = fs::read_to_string(&file)?;
                    if mask(&found) != Some(*cpus) {
                        let text = format!("the kernel made it `{}`", found.trim());
                        return Err(io::Error::other(text).into());
                    }
                }
                Ok(())
            })
        };
        match netns {
            None => work(),
            Some(_) => {
                let space = self.known(netns, steps)?;
                flatten(steps, netns::inside_with_sysfs(space.as_fd(), work))
            }
        }
    }

    fn machine(&self, step: &Step) -> Result<(), StepCause> {
        if let Step::SharedSysctl { key, at_least } = step {
            let _lock = MachineLock::take()?;
            shared::raise(&self.lab, key, *at_least)?;
        }
        Ok(())
    }

    fn place(&self, place: &Place) -> Option<&Space> {
        match place {
            Place::Root => Some(&self.root),
            Place::Netns(name) => self.spaces.get(name),
        }
    }

    fn of(&mut self, netns: Option<&NetnsName>) -> Option<&mut Space> {
        match netns {
            None => Some(&mut self.root),
            Some(name) => self.spaces.get_mut(name),
        }
    }

    /// The namespace of steps; that it is not there is an error of the first.
    fn known(
        &mut self,
        netns: Option<&NetnsName>,
        steps: &[Step],
    ) -> Result<&mut Space, StepError> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "the namespace is not there");
        self.of(netns).ok_or_else(|| failed(&steps[0], missing()))
    }
}

/// Sysctls of the namespace the calling thread is in.
fn settings(steps: &[Step]) -> Result<(), StepError> {
    each(steps, |step| {
        if let Step::Sysctl {
            key,
            value,
            optional,
            ..
        } = step
        {
            sysctl::write(key, value, *optional)?;
        }
        Ok(())
    })
}

/// A bit mask of CPUs: hexadecimal, with a comma after each 32 bits.
fn mask(text: &str) -> Option<u64> {
    u64::from_str_radix(&text.trim().replace(',', ""), 16).ok()
}

fn each(
    steps: &[Step],
    mut work: impl FnMut(&Step) -> Result<(), StepCause>,
) -> Result<(), StepError> {
    let work = |step| work(step).map_err(|cause| failed(step, cause));
    steps.iter().try_for_each(work)
}

fn failed(step: &Step, cause: impl Into<StepCause>) -> StepError {
    StepError {
        step: Box::new(step.clone()),
        cause: cause.into(),
    }
}

/// What work on another thread came to; that the thread could not enter is the first step's error.
fn flatten(steps: &[Step], done: io::Result<Result<(), StepError>>) -> Result<(), StepError> {
    done.map_err(|error| failed(&steps[0], error))?
}
