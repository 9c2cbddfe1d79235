//! Command lines of perftest's processes, as data structures.

use std::{ffi::OsString, fmt, path::PathBuf};

use lab_units::Side;

use crate::contract::FlowJob;

/// Command line and the network namespace that it runs in. No shell parses the command line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommandLine {
    /// Name of the program.
    pub program: OsString,
    pub args: Vec<OsString>,
    /// Network namespace of the process; `None` is the caller's own namespace.
    pub netns: Option<PathBuf>,
}

/// Returns the command line of the server, which listens on `port`.
#[must_use]
pub fn server_command(job: &FlowJob, port: u16) -> CommandLine {
    command(job, Side::Server, port)
}

/// Returns the client's command line, which connects to `port` on its own loopback interface.
#[must_use]
pub fn client_command(job: &FlowJob, port: u16) -> CommandLine {
    let mut line = command(job, Side::Client, port);
    line.args.push("127.0.0.1".into());
    line
}

fn command(job: &FlowJob, side: Side, port: u16) -> CommandLine {
    let end = job.endpoint(side);
    let mut args: Vec<OsString> = Vec::with_capacity(24);
    let mut option = |name: &str, value: &dyn fmt::Display| {
        args.push(name.into());
        args.push(value.to_string().into());
    };
    option("-d", &end.rdma_device);
    option("-x", &end.gid_index);
    option("-p", &port);
    option("-m", &job.path_mtu);
    option("-n", &job.messages);
    option("-s", &job.message_bytes.get());
    option("-u", &job.qp_timeout);
    args.push(format!("--tclass={}", job.traffic_class).into());
    // Prints six decimals instead of two, and no table.
    args.push("--output=bandwidth".into());
    // Prints no peak bandwidth, which is meaningless for a few messages.
    args.push("-N".into());
    // Prints no warning about CPU frequency scaling, which does not affect the FCT.
    args.push("-F".into());
    if job.tool.waits_by_events() {
        args.push("-e".into());
    }
    CommandLine {
        program: job.tool.name().into(),
        args,
        netns: end.netns.clone(),
    }
}

/// Formats the command for a shell, as `plan --steps` prints it.
impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(netns) = &self.netns {
            write!(f, "nsenter --net={} ", quoted(netns.as_os_str()))?;
        }
        write!(f, "{}", quoted(&self.program))?;
        self.args
            .iter()
            .try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}

/// Quotes `text` as one word of a POSIX shell.
fn quoted(text: &std::ffi::OsStr) -> String {
    let text = text.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use lab_units::Tool;

    use super::*;
    use crate::contract::job::tests::job;

    #[test]
    fn command_lines_of_each_tool() {
        let lines: Vec<String> = Tool::PERFTEST
            .into_iter()
            .flat_map(|tool| {
                let job = job(tool);
                let server = server_command(&job, 18515).to_string();
                [server, client_command(&job, 18516).to_string()]
            })
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn a_namespace_is_entered_first() {
        let mut job = job(Tool::SendBw);
        job.src.netns = Some("/run/netns/lab a".into());
        let line = client_command(&job, 1).to_string();
        assert!(line.starts_with("nsenter --net='/run/netns/lab a' ib_send_bw -d rxe_a "));
    }

    #[test]
    fn names_are_quoted_and_never_split() {
        let mut job = job(Tool::SendBw);
        "a b'; reboot".clone_into(&mut job.src.rdma_device);
        let line = client_command(&job, 1);
        assert_eq!(line.args[1], "a b'; reboot");
        assert!(line.to_string().contains(r"-d 'a b'\''; reboot' -x"));
    }
}
