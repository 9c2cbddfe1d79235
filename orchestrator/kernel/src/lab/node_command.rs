//! Execution of programs on a node of a lab.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::process::CommandExt,
    process::{Child, Command},
};

use super::{Lab, ping};
use crate::{
    exec::netns,
    journal::{self, Entry, Location, NodeEntry},
    name::LabName,
};

/// Reason why a program cannot be run on a node.
#[derive(Debug, thiserror::Error)]
pub enum EnterError {
    #[error("there is no lab `{lab}` (hint: `lcmp-lab status` lists all labs)")]
    NoLab { lab: LabName },
    #[error("lab `{lab}` has no node `{node}` (hint: its nodes are {})", nodes.join(", "))]
    NoNode {
        lab: LabName,
        node: String,
        nodes: Vec<String>,
    },
    #[error("no command given (hint: `lcmp-lab exec NODE -- CMD`)")]
    NoCommand,
    #[error("lab `{lab}` runs in a guest, so this kernel has none of its nodes")]
    InGuest { lab: LabName },
    #[error("cannot enter `{node}`: {error}{}", journal::hint(error))]
    Enter { node: String, error: io::Error },
    #[error("cannot run `{}` on `{node}`: {error}", program.display())]
    Start {
        node: String,
        program: OsString,
        error: io::Error,
    },
    #[error(
        "cannot read the journal of lab `{lab}`: {error}{}",
        journal::hint(error)
    )]
    Journal { lab: LabName, error: io::Error },
}

/// Command that is about to run on a node.
#[derive(Debug)]
pub struct NodeCommand {
    node: NodeEntry,
    program: OsString,
    command: Command,
}

/// Prepares a command for a node of a lab on this kernel. The node is named like `dc1`, `dc1/h1` or `dc1-h1`.
pub fn node_command(
    lab: &LabName,
    node: &str,
    command: &[OsString],
) -> Result<NodeCommand, EnterError> {
    let [program, arguments @ ..] = command else {
        return Err(EnterError::NoCommand);
    };
    let nodes = nodes(lab)?;
    let node = find(lab, node, &nodes)?;
    let mut command = Command::new(program);
    command.args(ping::arguments(program, arguments, &node, &nodes));
    Ok(NodeCommand {
        node,
        program: program.clone(),
        command,
    })
}

impl NodeCommand {
    /// Returns true if the node is in the root namespace. A program there reaches the lab only through sockets bound to
    /// the host's interface or RDMA device.
    #[must_use]
    pub const fn runs_in_root(&self) -> bool {
        self.node.netns.is_none()
    }

    /// Replaces this process with the program, which thus gets this process's streams and signals. Returns only on
    /// failure.
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

    /// Runs `work` with the command on a thread in the node's namespace.
    fn inside<T: Send>(
        &mut self,
        work: impl FnOnce(&mut Command) -> T + Send,
    ) -> Result<T, EnterError> {
        let command = &mut self.command;
        let Some(name) = &self.node.netns else {
            return Ok(work(command));
        };
        File::open(netns::path(name))
            .and_then(|file| netns::inside_with_sysfs(file, || work(command)))
            .map_err(|error| EnterError::Enter {
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
    /// Starts a program in a node's namespace, with the `/sys` of that namespace, and records the process in the
    /// journal. Fails if the namespace cannot be entered or the program does not start.
    pub fn spawn_on(
        &mut self,
        node: lab_units::NodeId,
        command: &mut Command,
    ) -> io::Result<Child> {
        let file = self.netns_path(node).map(File::open).transpose()?;
        let mut child = match &file {
            None => command.spawn()?,
            Some(file) => netns::inside_with_sysfs(file, || command.spawn())??,
        };
        if let Err(error) = self.record_process(child.id()) {
            // A process without a journal entry must not run, because `down` would not find it.
            child.kill()?;
            child.wait()?;
            return Err(error);
        }
        Ok(child)
    }
}

/// Reads the nodes of a lab on this kernel from the lab's journal.
fn nodes(lab: &LabName) -> Result<Vec<NodeEntry>, EnterError> {
    let io = |error| EnterError::Journal {
        lab: lab.clone(),
        error,
    };
    let (contents, _) = journal::read(lab)
        .map_err(io)?
        .ok_or_else(|| EnterError::NoLab { lab: lab.clone() })?;
    let head = contents.head();
    if head.is_some_and(|head| head.location == Location::Guest) {
        return Err(EnterError::InGuest { lab: lab.clone() });
    }
    let nodes = contents
        .entries
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Nodes(nodes) => Some(nodes),
            _ => None,
        });
    Ok(nodes.flatten().collect())
}

fn find(lab: &LabName, name: &str, nodes: &[NodeEntry]) -> Result<NodeEntry, EnterError> {
    let no_node = || EnterError::NoNode {
        lab: lab.clone(),
        node: name.to_owned(),
        nodes: nodes.iter().map(|entry| entry.name.clone()).collect(),
    };
    nodes
        .iter()
        .find(|entry| entry.is_named(name))
        .cloned()
        .ok_or_else(no_node)
}
