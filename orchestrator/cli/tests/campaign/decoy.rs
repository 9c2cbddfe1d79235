//! Foreign objects with names and addresses like a lab's, which no attack may touch.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command},
    time::{Duration, Instant},
};

/// Foreign objects: a namespace with an interface and a process, and a file under `/run`. They are removed when this
/// value is dropped.
pub struct Decoy {
    netns: String,
    file: PathBuf,
    process: Child,
    state: String,
}

impl Decoy {
    pub fn new() -> Self {
        let id = std::process::id();
        let netns = format!("lcmpx-campaign-{id}");
        ip(&format!("netns add {netns}"));
        ip(&format!(
            "-n {netns} link add l0d1-h1 type veth peer name l0d1-d2"
        ));
        ip(&format!("-n {netns} addr add 10.0.16.1/24 dev l0d1-h1"));
        ip(&format!("-n {netns} link set l0d1-h1 up"));
        let process = Command::new("ip")
            .args(["netns", "exec", &netns, "sleep", "1000000"])
            .spawn()
            .unwrap();
        let file = PathBuf::from(format!("/run/lcmp-lab-decoy-{id}"));
        fs::write(&file, CONTENT).unwrap();
        let mut decoy = Self {
            netns,
            file,
            process,
            state: String::new(),
        };
        // The kernel sets the state of a new interface asynchronously.
        let since = Instant::now();
        while !decoy.state.contains("state LOWERLAYERDOWN") {
            assert!(since.elapsed() < PATIENCE, "{}", decoy.state);
            decoy.state = decoy.read();
        }
        decoy
    }

    #[track_caller]
    pub fn assert_untouched(&self) {
        assert_eq!(self.read(), self.state);
        assert_eq!(fs::read_to_string(&self.file).unwrap(), CONTENT);
        let process = lab_kernel::ProcessId::of(self.process.id().cast_signed());
        assert!(process.is_some_and(lab_kernel::ProcessId::is_alive));
    }

    fn read(&self) -> String {
        ip(&format!("-n {} addr show", self.netns))
    }
}

impl Drop for Decoy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.file);
        ip(&format!("netns del {}", self.netns));
    }
}

/// Foreign processes in network namespaces that reuse a name or an inode number of a dead lab. They are ended when this
/// value is dropped.
#[derive(Default)]
pub struct Strangers {
    processes: Vec<Child>,
    /// Name of one of the lab's namespaces that a foreign namespace has taken; `None` until one has.
    netns: Option<String>,
}

impl Strangers {
    /// Creates a foreign namespace, with a process in it, under the name of one of the lab's namespaces.
    pub fn take_name(&mut self, lab: &str) {
        let Some(name) = made(lab).into_iter().find(|name| is_netns(name)) else {
            return;
        };
        // The process keeps the inode in use, so `down` cannot mistake the namespace for the lab's.
        self.enter(&name);
        ip(&format!("netns del {name}"));
        ip(&format!("netns add {name}"));
        self.enter(&name);
        self.netns = Some(name);
    }

    /// Creates as many network namespaces as the lab had, each with a process; the kernel reuses the inode numbers of
    /// the lab's removed namespaces for them.
    pub fn take_inodes(&mut self, lab: &str) {
        for _ in made(lab) {
            let mut stranger = Command::new("unshare");
            stranger.args(["--net", "sleep", "1000000"]);
            self.processes.push(stranger.spawn().unwrap());
        }
    }

    fn enter(&mut self, name: &str) {
        let mut stranger = Command::new("ip");
        stranger.args(["netns", "exec", name, "sleep", "1000000"]);
        let stranger = stranger.spawn().unwrap();
        let of = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).unwrap();
        let since = Instant::now();
        while of(&stranger.id().to_string()) == of("self") {
            assert!(since.elapsed() < PATIENCE);
        }
        self.processes.push(stranger);
    }

    #[track_caller]
    pub fn assert_untouched(&mut self) {
        for process in &mut self.processes {
            let ended = process.try_wait().unwrap();
            assert!(ended.is_none(), "a stranger ended: {ended:?}");
        }
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
        if let Some(name) = &self.netns {
            ip(&format!("netns del {name}"));
        }
    }
}

/// Returns the names of the namespaces in a lab's journal.
fn made(lab: &str) -> Vec<String> {
    let journal = fs::read_to_string(format!("/run/lcmp-lab/{lab}/journal")).unwrap_or_default();
    let made = |line: &str| {
        let entry: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(entry.get("made-netns")?["name"].as_str()?.to_owned())
    };
    journal.lines().filter_map(made).collect()
}

fn is_netns(name: &str) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let at = format!(" /run/netns/{name} nsfs ");
    mounts.contains(&at)
}

fn ip(words: &str) -> String {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const PATIENCE: Duration = Duration::from_secs(30);

const CONTENT: &str = "not a lab's\n";
