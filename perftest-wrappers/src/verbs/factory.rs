//! Factory that creates connected queue pairs ahead of the flows' starts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::PathBuf,
    sync::Arc,
    thread,
};

use lab_units::Bytes;
use nix::sched::{CloneFlags, setns};

use super::{
    device::{Buffer, Device},
    error::VerbsError,
    pair::{ConnectedPair, identity},
    sys::Verbs,
};
use crate::contract::{Endpoint, FlowJob};

/// Factory of queue pairs, with the open devices of all hosts by device name.
#[derive(Debug)]
pub(crate) struct Factory {
    devices: BTreeMap<String, Arc<Device>>,
    jobs: Arc<[FlowJob]>,
}

/// Request to the factory's thread.
#[derive(Debug)]
pub(crate) enum Order {
    /// Create the queue pairs of the next flow.
    Make,
    /// Destroy the queue pairs of a flow that has ended.
    Destroy(Box<ConnectedPair>),
}

/// Queue pairs of a flow, or the error that prevented their creation.
pub(crate) type Made = Result<Box<ConnectedPair>, VerbsError>;

impl Factory {
    /// Opens the devices of all hosts in `jobs`.
    ///
    /// # Errors
    /// A device cannot be opened.
    pub(crate) fn open(jobs: Arc<[FlowJob]>) -> Result<Self, VerbsError> {
        let verbs = Verbs::get()?;
        let largest = jobs.iter().map(|job| job.message_bytes).max();
        let buffer = Buffer::new(largest.unwrap_or(Bytes::new(1)));
        let buffer = Arc::new(buffer.map_err(|source| VerbsError::Thread { source })?);
        let mut needs: BTreeMap<&str, Need<'_>> = BTreeMap::new();
        for job in jobs.iter() {
            for end in [&job.src, &job.dst] {
                let need = needs.entry(&end.rdma_device).or_insert(Need::new(end));
                // If a queue pair fails, it reports a completion for each of its work requests.
                need.completions += usize::try_from(job.messages).unwrap_or(usize::MAX);
                need.gid_indices.insert(end.gid_index);
            }
        }
        let mut devices = BTreeMap::new();
        for (name, need) in needs {
            let buffer = Arc::clone(&buffer);
            let open = || Device::open(verbs, name, &need.gid_indices, need.completions, buffer);
            devices.insert(name.to_owned(), Arc::new(inside(need.end, open)?));
        }
        Ok(Self { devices, jobs })
    }

    pub(crate) fn devices(&self) -> impl Iterator<Item = &Arc<Device>> {
        self.devices.values()
    }

    /// Creates the queue pairs of the flow at `index`.
    pub(crate) fn make(&self, index: usize) -> Made {
        let job = &self.jobs[index];
        let device = |end: &Endpoint| &self.devices[&end.rdma_device];
        let id = identity(index);
        ConnectedPair::connect(job, id, device(&job.src), device(&job.dst)).map(Box::new)
    }
}

/// Resources that the flows of one device need.
struct Need<'a> {
    /// Endpoint of any flow that uses the device; it names the device's network namespace.
    end: &'a Endpoint,
    completions: usize,
    gid_indices: BTreeSet<u8>,
}

impl<'a> Need<'a> {
    const fn new(end: &'a Endpoint) -> Self {
        Self {
            end,
            completions: 0,
            gid_indices: BTreeSet::new(),
        }
    }
}

/// Runs `work` in the network namespace of a host.
fn inside<T: Send>(
    end: &Endpoint,
    work: impl FnOnce() -> Result<T, VerbsError> + Send,
) -> Result<T, VerbsError> {
    let Some(netns) = &end.netns else {
        return work();
    };
    let enter = |path: &PathBuf| {
        let file = File::open(path)?;
        setns(&file, CloneFlags::CLONE_NEWNET).map_err(std::io::Error::from)
    };
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            enter(netns).map_err(|source| VerbsError::Netns {
                host: end.host.clone(),
                source,
            })?;
            work()
        });
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
