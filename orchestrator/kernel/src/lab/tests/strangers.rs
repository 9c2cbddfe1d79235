//! Processes of somebody else, which look like a dead lab's: in namespaces with its namespaces' inodes, or with
//! its processes' IDs.

use std::{
    collections::BTreeSet,
    process::{Child, Command},
    time::{Duration, Instant},
};

use super::{
    left,
    owners::{OWNED, Owner, owned},
    reserve,
};
use crate::{
    exec::netns,
    journal::{self, Contents, Entry, Journal, Process},
    lab::{Live, down, status},
    name::NetnsName,
    process::{self, ProcessId},
    testing::isolated,
};

/// The kernel gives the inode of a namespace that has ended to a later one. The lab's namespaces have ended, so
/// nothing is the lab's: no process may end.
#[test]
fn processes_in_namespaces_with_reused_inodes_are_left_alone() {
    isolated(|| {
        let lab = dead_lab();
        lab.names.iter().for_each(remove);
        let mut strangers = Strangers::reuse(&lab);
        assert_eq!(
            left(down(&owned(), Live::Refuse).unwrap()),
            Vec::<String>::new()
        );
        strangers.assert_alive();
        assert_eq!(status().unwrap(), []);
    });
}

#[test]
fn the_next_up_of_a_dead_lab_leaves_them_alone_too() {
    isolated(|| {
        let lab = dead_lab();
        lab.names.iter().for_each(remove);
        let mut strangers = Strangers::reuse(&lab);
        drop(reserve(OWNED).unwrap());
        strangers.assert_alive();
    });
}

/// The first `down` meets one namespace that is not the lab's: it says so and removes the rest, whose inodes
/// strangers then have. The second has nothing left to do.
#[test]
fn a_retry_after_an_incomplete_down_ends_nothing_more() {
    isolated(|| {
        let lab = dead_lab();
        let replaced = lab.names[0].as_str();
        // Its process keeps the inode, so the new namespace has another.
        let mut holder = Strangers(vec![inside(replaced)]);
        ip(&["netns", "del", replaced]);
        ip(&["netns", "add", replaced]);
        let mut guest = Strangers(vec![inside(replaced)]);
        let errors = left(down(&owned(), Live::Refuse).unwrap());
        let path = netns::path(&lab.names[0]).display().to_string();
        assert_eq!(
            errors,
            [format!(
                "`{path}` is not what the lab made, it is left as it is"
            )]
        );
        let mut strangers = Strangers::reuse(&lab);

        assert_eq!(
            left(down(&owned(), Live::Refuse).unwrap()),
            Vec::<String>::new()
        );
        for processes in [&mut holder, &mut guest, &mut strangers] {
            processes.assert_alive();
        }
        assert!(netns::path(&lab.names[0]).exists());
        assert_eq!(status().unwrap(), []);
    });
}

/// A step that is about to be applied when its owner ends has made nothing, so what has the name is somebody's.
#[test]
fn a_namespace_that_was_never_made_is_not_the_labs() {
    isolated(|| {
        let lab = dead_lab();
        let text = std::fs::read_to_string(journal_file()).unwrap();
        let name = lab.names[0].as_str();
        let is_made = |line: &&str| !(line.contains("made-netns") && line.contains(name));
        let unmade: Vec<&str> = text.lines().filter(is_made).collect();
        assert_eq!(unmade.len() + 1, text.lines().count());
        std::fs::write(journal_file(), unmade.join("\n") + "\n").unwrap();
        let mut guest = Strangers(vec![inside(name)]);
        assert_eq!(
            left(down(&owned(), Live::Refuse).unwrap()),
            Vec::<String>::new()
        );
        guest.assert_alive();
        assert!(netns::path(&lab.names[0]).exists());
    });
}

#[test]
fn a_later_process_with_the_id_of_one_of_the_labs_is_left_alone() {
    isolated(|| {
        dead_lab();
        let mut strangers = Strangers((0..2).map(|_| sleeper().spawn().unwrap()).collect());
        let ids: Vec<ProcessId> = strangers.ids().collect();
        let cgroup = process::cgroup(ids[0].pid).unwrap();
        let mut journal = Journal::open(&journal::directory(&owned())).unwrap();
        let mut write = |id, cgroup| journal.write(&Entry::Process(Process { id, cgroup }));
        let start = ids[0].start - 1;
        write(ProcessId { start, ..ids[0] }, cgroup).unwrap();
        write(ids[1], "0::/another\n".to_owned()).unwrap();
        let errors = left(down(&owned(), Live::Refuse).unwrap());
        let named = format!("process {} is in another control group", ids[1].pid);
        assert!(
            errors.len() == 1 && errors[0].starts_with(&named),
            "{errors:?}"
        );
        assert_eq!(
            left(down(&owned(), Live::Refuse).unwrap()),
            Vec::<String>::new()
        );
        strangers.assert_alive();
    });
}

/// Namespaces of a lab whose owner was killed.
struct DeadLab {
    names: Vec<NetnsName>,
    inodes: BTreeSet<u64>,
}

fn dead_lab() -> DeadLab {
    let mut owner = Owner::start("wait");
    owner.kill();
    let contents = Contents::read(&journal::directory(&owned())).unwrap();
    let made = contents
        .entries
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::MadeNetns { name, inode } => Some((name, inode)),
            _ => None,
        });
    let (names, inodes) = made.unzip();
    DeadLab { names, inodes }
}

fn journal_file() -> std::path::PathBuf {
    journal::directory(&owned()).join("journal")
}

fn remove(name: &NetnsName) {
    netns::remove(&netns::path(name)).unwrap();
}

/// Processes of somebody else; they end with this value.
struct Strangers(Vec<Child>);

impl Strangers {
    /// Makes a namespace with a process for each of the lab's, and has the journal name their inodes: which inodes
    /// the kernel gives again depends on all other namespaces of the machine.
    fn reuse(lab: &DeadLab) -> Self {
        let mut journal = std::fs::read_to_string(journal_file()).unwrap();
        let mut strangers = Self(Vec::new());
        for inode in &lab.inodes {
            let mut command = Command::new("unshare");
            let child = command.args(["--net", "sleep", "1000"]).spawn().unwrap();
            let reused = wait_for_netns(&child);
            strangers.0.push(child);
            let (old, new) = (
                format!("\"inode\":{inode}}}"),
                format!("\"inode\":{reused}}}"),
            );
            assert!(journal.contains(&old), "{old}");
            journal = journal.replace(&old, &new);
        }
        std::fs::write(journal_file(), journal).unwrap();
        strangers
    }

    fn ids(&self) -> impl Iterator<Item = ProcessId> {
        let pid = |child: &Child| i32::try_from(child.id()).unwrap();
        self.0.iter().map(pid).filter_map(ProcessId::of)
    }

    #[track_caller]
    fn assert_alive(&mut self) {
        let ended = |child: &mut Child| child.try_wait().unwrap().is_some();
        let killed = self
            .0
            .iter_mut()
            .filter_map(|child| ended(child).then(|| child.id()));
        assert_eq!(
            killed.collect::<Vec<u32>>(),
            Vec::<u32>::new(),
            "strangers that were killed"
        );
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts a process in a namespace that has a name, and waits until it is there.
fn inside(name: &str) -> Child {
    let mut command = Command::new("ip");
    let child = command
        .args(["netns", "exec", name, "sleep", "1000"])
        .spawn();
    let child = child.unwrap();
    wait_for_netns(&child);
    child
}

/// Waits until a process is in a namespace of its own, and returns the namespace's inode.
fn wait_for_netns(child: &Child) -> u64 {
    let inode = |pid: u32| process::netns_inode(i32::try_from(pid).unwrap()).unwrap();
    let (here, deadline) = (inode(std::process::id()), Instant::now() + PATIENCE);
    loop {
        match inode(child.id()) {
            inode if inode != here => return inode,
            _ => assert!(Instant::now() < deadline),
        }
    }
}

fn sleeper() -> Command {
    let mut command = Command::new("sleep");
    command.arg("1000");
    command
}

fn ip(words: &[&str]) {
    let status = Command::new("ip").args(words).status().unwrap();
    assert!(status.success(), "ip {words:?}");
}

const PATIENCE: Duration = Duration::from_secs(60);
