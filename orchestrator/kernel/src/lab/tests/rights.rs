//! Tests of the access that another user of the machine has to a lab.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
    process::Command,
};

use rustix::{fs::Uid, thread::set_thread_res_uid};

use super::{left, up};
use crate::{
    journal::LabState,
    lab::status,
    lower::HostPlacement,
    testing::{self, isolated},
};

#[test]
fn others_know_a_labs_name_and_cannot_touch_what_it_keeps() {
    isolated(|| {
        let mut lab = up("t", HostPlacement::OwnNamespace, testing::pair);
        let run = lab.directory();
        let bpf = lab.bpf_directory().unwrap();
        let pins = bpf.join("dc1");
        fs::create_dir(&pins).unwrap();
        for directory in [&run, &bpf] {
            assert_eq!(mode(directory), 0o700, "{}", directory.display());
        }
        // With mode 0o755, other users can enter the directory that contains the lab's directory.
        for outer in [0o700, 0o755] {
            fs::set_permissions(&run, fs::Permissions::from_mode(outer)).unwrap();
            for attempt in [
                "ls $bpf",
                "rmdir $bpf/dc1",
                "mv $bpf/dc1 $bpf/dc2",
                "mkdir $bpf/dc3",
            ] {
                let tried = Command::new("/bin/sh")
                    .args(["-c", &format!("{attempt} 2>/dev/null")])
                    .env("bpf", &bpf)
                    .uid(NOBODY)
                    .gid(NOBODY)
                    .status();
                assert!(!tried.unwrap().success(), "{attempt} with {outer:o}");
            }
        }
        fs::set_permissions(&run, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(pins.exists() && !bpf.join("dc3").exists());
        // This runs on a separate thread, because each thread has its own credentials.
        let states = std::thread::scope(|scope| scope.spawn(states_for_others).join().unwrap());
        assert_eq!(states, [("t".to_owned(), LabState::Private)]);
        assert_eq!(left(lab.down()), Vec::<String>::new());
    });
}

fn states_for_others() -> Vec<(String, LabState)> {
    let nobody = Uid::from_raw(NOBODY);
    set_thread_res_uid(nobody, nobody, nobody).unwrap();
    status()
        .unwrap()
        .into_iter()
        .map(|lab| (lab.lab.to_string(), lab.state))
        .collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

const NOBODY: u32 = 65_534;
