//! Objects of somebody else, with names and addresses like a lab's.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command},
    time::{Duration, Instant},
};

/// Namespace with an interface and a process in it, and a file under `/run`; removed on drop.
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
        // The kernel sets the state of a new interface a moment later.
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

fn ip(words: &str) -> String {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const PATIENCE: Duration = Duration::from_secs(30);

const CONTENT: &str = "not a lab's\n";
