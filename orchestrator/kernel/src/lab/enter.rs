//! Running programs on a node of a lab.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::process::CommandExt,
    process::{Child, Command},
    thread,
};

use nix::sched::{CloneFlags, setns};

use super::Lab;
use crate::{
    exec::netns,
    journal::{self, Entry, NodeEntry, Place},
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
    /// It runs in a guest, where this kernel's namespaces do not lead.
    #[error("lab `{lab}` runs in a guest")]
    InGuest {
        /// The lab.
        lab: LabName,
    },
    /// The node cannot be entered.
    #[error("cannot enter `{node}`: {error}{}", journal::hint(error))]
    Enter {
        /// The node.
        node: String,
        /// Why.
        error: io::Error,
    },
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
    #[error(
        "cannot read the journal of lab `{lab}`: {error}{}",
        journal::hint(error)
    )]
    Journal {
        /// The lab.
        lab: LabName,
        /// Why.
        error: io::Error,
    },
}

/// A program that is about to run on a node.
#[derive(Debug)]
pub struct OnNode {
    node: NodeEntry,
    program: OsString,
    command: Command,
}

/// Prepares to run a program on a node of a lab on this kernel, by the node's name (`dc1`, `dc1/h1`
/// or `dc1-h1`).
///
/// # Errors
/// When there is no such lab or node here.
pub fn on_node(lab: &LabName, node: &str, command: &[OsString]) -> Result<OnNode, EnterError> {
    let [program, arguments @ ..] = command else {
        return Err(EnterError::NoCommand);
    };
    let node = find(lab, node)?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(OnNode {
        node,
        program: program.clone(),
        command,
    })
}

impl OnNode {
    /// Whether the node has no namespace of its own: the program then runs in the root namespace and
    /// reaches the lab only by what it binds to the host's interface or RDMA device.
    #[must_use]
    pub const fn is_in_root(&self) -> bool {
        self.node.netns.is_none()
    }

    /// Becomes the program: this process's streams, signals and exit code are the program's from here
    /// on. It returns only when that cannot be.
    #[must_use]
    pub fn exec(mut self) -> EnterError {
        self.inside(CommandExt::exec)
            .map_or_else(|error| error, |error| self.start_error(error))
    }

    #[cfg(test)]
    pub(super) fn status(mut self) -> Result<std::process::ExitStatus, EnterError> {
        self.inside(Command::status)?
            .map_err(|error| self.start_error(error))
    }

    /// Hands the command to `work` on a thread that has gone to the node.
    fn inside<T: Send>(
        &mut self,
        work: impl FnOnce(&mut Command) -> T + Send,
    ) -> Result<T, EnterError> {
        let command = &mut self.command;
        let Some(name) = &self.node.netns else {
            return Ok(work(command));
        };
        let entered =
            File::open(netns::path(name)).and_then(|file| in_netns(&file, || work(command)));
        entered.map_err(|error| EnterError::Enter {
            node: self.node.name.clone(),
            error,
        })
    }

    fn start_error(&self, error: io::Error) -> EnterError {
        EnterError::Start {
            node: self.node.name.clone(),
            program: self.program.clone(),
            error,
        }
    }
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
        let mut child = spawn_in(file.as_ref(), command)?;
        if let Err(error) = self.record_process(child.id()) {
            // `down` would not know of it.
            child.kill()?;
            child.wait()?;
            return Err(error);
        }
        Ok(child)
    }
}

/// Starts a program in a namespace, from a thread that has gone there: a child is where the thread
/// was that made it.
fn spawn_in(file: Option<&File>, command: &mut Command) -> io::Result<Child> {
    match file {
        None => command.spawn(),
        Some(file) => in_netns(file, || command.spawn())?,
    }
}

/// Does `work` on a thread that has gone to a namespace and has its `/sys`.
fn in_netns<T: Send>(file: &File, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let work = move || {
        setns(file, CloneFlags::CLONE_NEWNET)?;
        netns::own_sysfs()?;
        Ok(work())
    };
    let done = thread::scope(|scope| scope.spawn(work).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn find(lab: &LabName, node: &str) -> Result<NodeEntry, EnterError> {
    let io = |error| EnterError::Journal {
        lab: lab.clone(),
        error,
    };
    let read = journal::read(lab).map_err(io)?;
    let (contents, _) = read.ok_or_else(|| EnterError::NoLab { lab: lab.clone() })?;
    if contents
        .head()
        .is_some_and(|head| head.place == Place::Guest)
    {
        return Err(EnterError::InGuest { lab: lab.clone() });
    }
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
