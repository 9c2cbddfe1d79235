//! Tests that the sources handle signals: a signal ends no blocking call, and a child process whose work this program
//! must undo gets no signal from the terminal.

mod sources;

use std::{
    fs,
    path::{Path, PathBuf},
};

use self::sources::{files, root};

/// Blocking calls that neither std nor a library retries after `EINTR`.
const BLOCKING: [&str; 13] = [
    " poll(",
    "ppoll(",
    "epoll.wait(",
    "UnixStream::connect(",
    "lock_shared()",
    "lock_exclusive()",
    "tcdrain(",
    "MsgFlags::",
    "raw.recv(",
    "raw.send(",
    "get_cq_event)(",
    "heartbeat.wait()",
    "waitpid(",
];

/// Words near a call that show that an interruption is handled, or that the call does not wait.
const HANDLED: [&str; 4] = ["EINTR", "Interrupted", "uninterrupted(", "WNOHANG"];

/// Number of lines before and after a call in which a word of [`HANDLED`] must occur.
const NEAR: (usize, usize) = (6, 9);

#[test]
fn waits_go_on_after_a_signal() {
    let mut wrong = Vec::new();
    let mut calls = 0;
    for (path, text) in sources() {
        let lines: Vec<&str> = product(&text).lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let is_call = BLOCKING.iter().any(|call| line.contains(call));
            if !is_call || is_declaration(line) {
                continue;
            }
            calls += 1;
            let near = number.saturating_sub(NEAR.0)..(number + NEAR.1).min(lines.len());
            let near = lines[near].join("\n");
            if !HANDLED.iter().any(|word| near.contains(word)) {
                wrong.push(format!(
                    "{}:{}: {}",
                    path.display(),
                    number + 1,
                    line.trim()
                ));
            }
        }
    }
    assert!(calls >= 12, "{calls} calls");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns true if the line declares or imports a call instead of calling it.
fn is_declaration(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.contains("fn ") || line.starts_with("use ")
}

/// Sources that start a program on behalf of the user, who may end it with Ctrl-C.
const FOR_A_PERSON: [&str; 2] = [
    // `exec` replaces this process by the program.
    "orchestrator/kernel/src/lab/node_command.rs",
    // `provision` runs a script that installs packages.
    "orchestrator/cli/src/verbs/doctor.rs",
];

/// Calls that take a child out of the terminal's foreground process group.
const APART: [&str; 2] = [".process_group(0)", "in_own_session("];

#[test]
fn a_ctrl_c_of_the_terminal_reaches_no_child() {
    let mut wrong = Vec::new();
    let mut children = 0;
    for (path, text) in sources() {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        if FOR_A_PERSON.contains(&name.as_str()) || name.starts_with("agents/bench/") {
            continue;
        }
        let lines: Vec<&str> = product(&text).lines().collect();
        // clap also has a `Command` type.
        if !text.contains("process::{") && !text.contains("process::Command") {
            continue;
        }
        for (number, line) in lines.iter().enumerate() {
            if !line.contains("Command::new(") || line.trim_start().starts_with("//") {
                continue;
            }
            children += 1;
            let near = lines[number..(number + 26).min(lines.len())].join("\n");
            if !APART.iter().any(|word| near.contains(word)) {
                wrong.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(children >= 10, "{children} children");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the part of a source file before its tests.
fn product(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod").next().unwrap_or_default()
}

/// Paths that are not checked: tests, programs that only tests run, and developers' tools.
const TOOLS: [&str; 6] = [
    "tests", "benches", "examples", "testing", "tests.rs", "build.rs",
];

/// Returns the paths and texts of the Rust sources of the workspace, without tests.
fn sources() -> Vec<(PathBuf, String)> {
    let root = root();
    let is_tool = |path: &Path| {
        let inside = path.strip_prefix(&root).unwrap();
        // This module has only tests of the BPF program's maps.
        inside.ends_with("switchd/src/program/state.rs")
            || inside
                .iter()
                .any(|part| TOOLS.iter().any(|tool| part == *tool))
    };
    files("rs")
        .into_iter()
        .filter(|path| !is_tool(path))
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}
