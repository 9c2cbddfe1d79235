//! Running programs on a node of a lab.

use std::{
    ffi::OsString,
    fs::File,
    io,
    process::{Child, Command, ExitStatus},
    thread,
};

use nix::sched::{CloneFlags, setns};

use super::Lab;
use crate::{
    exec::netns,
    journal::{self, Entry, NodeEntry},
    name::LabName,
};

/// Why a program cannot be run on a node.
#[derive(Debug, thiserror::Error)]
pub enum EnterError {
    /// There is no lab of the name.
    #[error("there is no lab `{lab}` (hint: `lcmp-lab status` lists them)")]
    NoLab {
        /// The name.
        lab: LabName,
    },
    /// The lab has no such node.
    #[error("lab `{lab}` has no node `{node}` (hint: its nodes are {})", nodes.join(", "))]
    NoNode {
        /// The lab.
        lab: LabName,
        /// The name.
        node: String,
        /// The names it has.
        nodes: Vec<String>,
    },
    /// There is nothing to run.
    #[error("no command given (hint: `lcmp-lab exec NODE -- CMD`)")]
    NoCommand,
    /// The program does not start.
    #[error("cannot run `{}` on `{node}`: {error}", program.display())]
    Start {
        /// The node.
        node: String,
        /// The program.
        program: OsString,
        /// Why.
        error: io::Error,
    },
    /// The journal cannot be read.
    #[error("cannot read the journal of lab `{lab}`: {error}")]
    Journal {
        /// The lab.
        lab: LabName,
        /// Why.
        error: io::Error,
    },
}

/// How a program ran on a node.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// How it ended.
    pub status: ExitStatus,
    /// The node has no namespace of its own: the program ran in the root namespace and reaches the
    /// lab only by what it binds to the host's interface or RDMA device.
    pub in_root: bool,
}

/// Runs a program on a node of a lab, by the node's name (`dc1`, `dc1/h1` or `dc1-h1`), with this
/// process's standard streams, and waits for it.
///
/// # Errors
/// When there is no such lab or node, or the program does not start.
pub fn exec_in(lab: &LabName, node: &str, command: &[OsString]) -> Result<Ran, EnterError> {
    let [program, arguments @ ..] = command else {
        return Err(EnterError::NoCommand);
    };
    let found = find(lab, node)?;
    let mut command = Command::new(program);
    command.args(arguments);
    let start = |error| EnterError::Start {
        node: found.name.clone(),
        program: program.clone(),
        error,
    };
    let file = found
        .netns
        .as_ref()
        .map(|name| File::open(netns::path(name)));
    let file = file.transpose().map_err(start)?;
    let mut child = spawn_in(file.as_ref(), &mut command).map_err(start)?;
    let status = child.wait().map_err(start)?;
    Ok(Ran {
        status,
        in_root: found.netns.is_none(),
    })
}

impl Lab {
    /// Starts a program on a node, in the node's namespace and with its `/sys`, and writes the
    /// process down.
    ///
    /// # Errors
    /// When the namespace cannot be entered or the program does not start.
    pub fn spawn_on(
        &mut self,
        node: lab_units::NodeId,
        command: &mut Command,
    ) -> io::Result<Child> {
        let file = self.netns_path(node).map(File::open).transpose()?;
        let child = spawn_in(file.as_ref(), command)?;
        self.record_process(child.id())?;
        Ok(child)
    }
}

/// Starts a program in a namespace, from a thread that has gone there: a child is where the thread
/// was that made it.
fn spawn_in(file: Option<&File>, command: &mut Command) -> io::Result<Child> {
    let Some(file) = file else {
        return command.spawn();
    };
    let work = move || {
        setns(file, CloneFlags::CLONE_NEWNET)?;
        netns::own_sysfs()?;
        command.spawn()
    };
    let spawned = thread::scope(|scope| scope.spawn(work).join());
    spawned.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn find(lab: &LabName, node: &str) -> Result<NodeEntry, EnterError> {
    let io = |error| EnterError::Journal {
        lab: lab.clone(),
        error,
    };
    let read = journal::read(lab).map_err(io)?;
    let (contents, _) = read.ok_or_else(|| EnterError::NoLab { lab: lab.clone() })?;
    let nodes: Vec<NodeEntry> = contents
        .entries
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Nodes(nodes) => Some(nodes),
            _ => None,
        })
        .flatten()
        .collect();
    let named = |entry: &&NodeEntry| entry.name == node || entry.short == node;
    let no_node = || EnterError::NoNode {
        lab: lab.clone(),
        node: node.to_owned(),
        nodes: nodes.iter().map(|entry| entry.name.clone()).collect(),
    };
    nodes.iter().find(named).cloned().ok_or_else(no_node)
}
