//! Tests with foreign processes that resemble a dead lab's processes: their namespaces have the inodes of the lab's
//! namespaces, or they have the process IDs of the lab's processes.

use std::{
    process::{Child, Command},
    time::Instant,
};

use super::{
    PATIENCE, inside, left,
    owners::{OWNED, Owner, owned},
    reserve,
};
use crate::{
    exec::netns,
    journal::{self, Contents, Entry, Journal, Process},
    lab::{Live, down, status},
    name::NetnsName,
    process::{self, NetnsId, ProcessId},
    testing::isolated,
};

/// The kernel reuses the inodes of ended namespaces. The lab's namespaces have ended, so no process belongs to the lab,
/// and no process may be killed.
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

/// In the first `down`, one name belongs to a foreign namespace: `down` reports it and removes the lab's other
/// namespaces. Foreign namespaces then get the freed inode numbers. The second `down` must not remove anything.
#[test]
fn a_retry_after_an_incomplete_down_ends_nothing_more() {
    isolated(|| {
        let lab = dead_lab();
        let replaced = &lab.names[0];
        // The process keeps the inode in use, so that the new namespace gets another inode.
        let mut holder = Strangers(vec![inside(replaced)]);
        ip(&["netns", "del", replaced.as_str()]);
        ip(&["netns", "add", replaced.as_str()]);
        let mut guest = Strangers(vec![inside(replaced)]);
        let errors = left(down(&owned(), Live::Refuse).unwrap());
        let path = netns::path(&lab.names[0]).display().to_string();
        assert_eq!(
            errors,
            [format!(
                "`{path}` was not created by the lab, so it is left unchanged"
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

/// On an otherwise idle machine, `ip netns del NAME; ip netns add NAME` creates a namespace with the same inode.
#[test]
fn a_namespace_with_the_name_and_the_inode_of_one_of_the_labs_is_left_alone() {
    isolated(|| {
        let lab = dead_lab();
        let name = &lab.names[0];
        ip(&["netns", "del", name.as_str()]);
        ip(&["netns", "add", name.as_str()]);
        let mut guest = Strangers(vec![inside(name)]);
        let path = netns::path(name);
        name_in_journal(lab.ids[0], NetnsId::at(&path).unwrap().inode);
        let errors = left(down(&owned(), Live::Refuse).unwrap());
        let not_ours = format!(
            "`{}` was not created by the lab, so it is left unchanged",
            path.display()
        );
        assert_eq!(errors, [not_ours]);
        guest.assert_alive();
        assert!(path.exists());
    });
}

/// If the owner ends just before it applies a step, the step has created no object, so an object with the same name is
/// foreign.
#[test]
fn a_namespace_that_was_never_made_is_not_the_labs() {
    isolated(|| {
        let lab = dead_lab();
        let text = std::fs::read_to_string(journal_file()).unwrap();
        let name = &lab.names[0];
        let is_other = |line: &&str| !(line.contains("made-netns") && line.contains(name.as_str()));
        let others: Vec<&str> = text.lines().filter(is_other).collect();
        assert_eq!(others.len() + 1, text.lines().count());
        std::fs::write(journal_file(), others.join("\n") + "\n").unwrap();
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
        let named = format!("process {} is in control group `", ids[1].pid);
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
    ids: Vec<NetnsId>,
}

fn dead_lab() -> DeadLab {
    let mut owner = Owner::start("wait");
    owner.kill();
    let contents = Contents::read(&journal::directory(&owned())).unwrap();
    let (names, ids) = contents
        .entries
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::MadeNetns { name, id } => Some((name, id)),
            _ => None,
        })
        .unzip();
    DeadLab { names, ids }
}

fn journal_file() -> std::path::PathBuf {
    journal::directory(&owned()).join("journal")
}

fn remove(name: &NetnsName) {
    netns::remove(&netns::path(name)).unwrap();
}

/// Foreign processes, which are killed when this value is dropped.
struct Strangers(Vec<Child>);

impl Strangers {
    /// For each of the lab's namespaces, creates a foreign namespace with a process, and writes its inode to the
    /// journal. Which inodes the kernel itself would reuse depends on all other namespaces of the machine.
    fn reuse(lab: &DeadLab) -> Self {
        let mut strangers = Self(Vec::new());
        for id in &lab.ids {
            let mut command = Command::new("unshare");
            let child = command.args(["--net", "sleep", "1000"]).spawn().unwrap();
            name_in_journal(*id, wait_for_netns(&child).inode);
            strangers.0.push(child);
        }
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

/// Replaces the inode that the journal contains for one of the lab's namespaces.
fn name_in_journal(id: NetnsId, inode: u64) {
    let text = |id: NetnsId| format!("\"id\":{}", serde_json::to_string(&id).unwrap());
    let old = text(id);
    let new = text(NetnsId { inode, ..id });
    let journal = std::fs::read_to_string(journal_file()).unwrap();
    assert_eq!(journal.matches(&old).count(), 1, "{old}");
    std::fs::write(journal_file(), journal.replace(&old, &new)).unwrap();
}

/// Waits until a process has entered its own namespace; returns that namespace.
fn wait_for_netns(child: &Child) -> NetnsId {
    let netns = |pid: u32| NetnsId::of_process(i32::try_from(pid).unwrap()).unwrap();
    let here = netns(std::process::id());
    let deadline = Instant::now() + PATIENCE;
    loop {
        match netns(child.id()) {
            // No process holds the file of this process's namespace open, so its creation time differs at each reading.
            // Therefore only the inodes are compared.
            found if found.inode != here.inode => return found,
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
