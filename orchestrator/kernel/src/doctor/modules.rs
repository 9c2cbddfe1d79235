//! Loading kernel modules, and what to do where there are none to load.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use nix::sys::utsname::uname;

/// Loads modules where this kernel has any on disk. Whether that helped shows when what they bring
/// is tried again: the names say little, it may as well be built in.
pub(super) fn load(modules: &[&str]) -> bool {
    if !directory().is_dir() {
        return false;
    }
    let loaded = Command::new("modprobe")
        .args(["--all", "--quiet"])
        .args(modules)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match loaded {
        Ok(status) => status.success(),
        Err(error) => {
            tracing::debug!(?modules, %error, "cannot run modprobe");
            false
        }
    }
}

/// The command that brings what loading modules did not.
pub(super) fn mend() -> String {
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    if directory().is_dir() && is_ubuntu(&system) {
        // A fresh Ubuntu has a third of its modules.
        format!("apt-get install linux-modules-extra-{}", release())
    } else {
        "lcmp-lab up --guest SCENARIO".to_owned()
    }
}

fn is_ubuntu(os_release: &str) -> bool {
    os_release.lines().any(|line| line == "ID=ubuntu")
}

fn directory() -> PathBuf {
    PathBuf::from("/lib/modules").join(release())
}

fn release() -> String {
    let name = uname().map(|name| name.release().to_string_lossy().into_owned());
    name.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ubuntu_is_told_from_what_is_only_like_it() {
        assert!(is_ubuntu("NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n"));
        assert!(!is_ubuntu("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"));
    }
}
