//! Trial of each kernel feature, with the steps of a two-host lab.

use std::{
    collections::BTreeMap,
    fs, io,
    net::{Ipv4Addr, UdpSocket},
    os::{fd::AsFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    slice,
};

use nix::{errno::Errno, sys::utsname::uname};

use super::{
    bpf,
    feature::Feature,
    finding::Finding,
    sandbox::{self, TwoHosts},
};
use crate::{
    exec::{StepCause, netns},
    lab::{Lab, LabErrorKind},
    lower::lower,
    step::{DeviceChange, Parent, Qdisc, QdiscAt, Step},
};

/// Tries every kernel feature that a lab needs and returns the findings. A feature that depends on a missing feature is
/// left out.
pub(super) fn findings() -> Vec<Finding> {
    match sandbox::run(try_all) {
        Ok(Ok(results)) => results
            .into_iter()
            .map(|(feature, result)| match result {
                Ok(()) => present(feature),
                Err(cause) => missing(feature, &cause),
            })
            .collect(),
        Ok(Err(cause)) => vec![missing(Feature::Namespaces, &cause)],
        Err(error) => vec![missing(Feature::Namespaces, &error.into())],
    }
}

type Results = BTreeMap<Feature, Result<(), StepCause>>;

/// Applies those steps of a two-host lab that need a kernel feature, and returns the result of each feature's trial.
fn try_all() -> Result<Results, StepCause> {
    let TwoHosts {
        reservation,
        plan,
        options,
    } = TwoHosts::reserve().map_err(io::Error::other)?;
    let plan = sandbox::with_every_feature(plan);
    let steps = lower(&plan, &options);
    let mut lab = Lab::open(reservation, &plan, &options).map_err(io::Error::other)?;
    let mut results = Results::new();
    for mut step in steps {
        let Some(feature) = Feature::of(&step) else {
            continue;
        };
        // red is normally attached below tbf, but a kernel may have red without tbf.
        if let Step::Qdisc(at) = &mut step
            && matches!(at.parent, Parent::Of(_))
            && !matches!(results.get(&Feature::Tbf), Some(Ok(())))
        {
            at.parent = Parent::Root;
        }
        attempt(&mut results, feature, || apply(&mut lab, &step));
        match &step {
            Step::Qdisc(at) if at.qdisc == Qdisc::Clsact => {
                attempt(&mut results, Feature::Bpf, || attach(&mut lab, at));
            }
            Step::Device {
                change: DeviceChange::Rxe(name),
                ..
            } => {
                attempt(&mut results, Feature::IbUverbs, || Ok(verbs_device(name)?));
            }
            _ => {}
        }
    }
    for error in lab.down() {
        tracing::warn!(%error, "an object of the doctor's lab remains until the doctor's thread ends");
    }
    Ok(results)
}

/// Tries a feature and, if that fails, tries again after loading the feature's modules. Does nothing if the feature, or
/// a feature that it requires, is already known to be missing. If the modules cannot be loaded, the result is the error
/// of the first trial.
fn attempt(
    results: &mut Results,
    feature: Feature,
    mut work: impl FnMut() -> Result<(), StepCause>,
) {
    let has = |feature| matches!(results.get(&feature), Some(Ok(())));
    if matches!(results.get(&feature), Some(Err(_))) || !feature.requires().is_none_or(has) {
        return;
    }
    let result = match work() {
        Err(_) if load(feature.description().modules) => work(),
        first => first,
    };
    results.insert(feature, result);
}

fn apply(lab: &mut Lab, step: &Step) -> Result<(), StepCause> {
    match lab.apply(slice::from_ref(step)) {
        Err(LabErrorKind::Step(error)) => Err(error.cause),
        Err(error) => Err(io::Error::other(error).into()),
        Ok(()) => Ok(()),
    }
}

/// Attaches a program to an interface that has a clsact qdisc.
fn attach(lab: &mut Lab, at: &QdiscAt) -> Result<(), StepCause> {
    let missing = || StepCause::NoInterface {
        dev: at.dev.clone(),
    };
    let handle = lab.executor()?.handle(&at.netns).ok_or_else(missing)?;
    let index = handle.interface(&at.dev)?.ok_or_else(missing)?;
    let inside = handle.as_fd().try_clone_to_owned()?;
    netns::inside(inside, || bpf::attach(&mut handle.socket, index))?
}

/// Checks that there is a character device through which programs can open an RDMA device.
fn verbs_device(device: &str) -> io::Result<()> {
    for entry in fs::read_dir("/sys/class/infiniband_verbs")? {
        let entry = entry?;
        let of = fs::read_to_string(entry.path().join("ibdev")).unwrap_or_default();
        if of.trim() == device {
            let node = Path::new("/dev/infiniband").join(entry.file_name());
            return fs::metadata(node).map(drop);
        }
    }
    Err(Errno::ENODEV.into())
}

fn present(feature: Feature) -> Finding {
    let about = feature.description();
    Finding::ok(about.subject, "available", about.why)
}

fn missing(feature: Feature, cause: &StepCause) -> Finding {
    let about = feature.description();
    // If another program uses SoftRoCE's port, the kernel reports only "no such device".
    if feature == Feature::RdmaRxe && !Path::new("/sys/module/rdma_rxe").exists() && is_taken(ROCE)
    {
        let what = format!("SoftRoCE cannot receive: a program uses UDP port {ROCE}");
        return Finding::fail(about.subject, what, about.why).with_fix(format!(
            "end the program listed by `ss -lunp sport = :{ROCE}`"
        ));
    }
    let what = if is_unknown(feature, cause) {
        format!("this kernel has no {}", about.thing)
    } else {
        format!("cannot be created: {cause}")
    };
    let finding = Finding::fail(about.subject, what, about.why);
    if nix::unistd::geteuid().is_root() {
        finding.with_fix(modules_fix())
    } else {
        finding.with_fix("sudo lcmp-lab doctor")
    }
}

/// Returns true if the error means that the kernel does not have the feature.
fn is_unknown(feature: Feature, cause: &StepCause) -> bool {
    match cause.errno() {
        Some(
            Errno::ENOENT
            | Errno::ENODEV
            | Errno::ENOSYS
            | Errno::EOPNOTSUPP
            | Errno::EPROTONOSUPPORT,
        ) => true,
        // The kernel reports this error for an unknown RDMA device type, and for an unknown type of a BPF program.
        Some(Errno::EINVAL) => matches!(feature, Feature::RdmaRxe | Feature::Bpf),
        _ => false,
    }
}

/// Returns true if a program uses the UDP port `port`.
fn is_taken(port: u16) -> bool {
    let bound = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port));
    bound.is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

/// Loads modules if this kernel's module directory exists; returns true if all of `modules` were loaded. A feature that
/// is built into the kernel works without its modules.
fn load(modules: &[&str]) -> bool {
    if !modules_directory().is_dir() {
        return false;
    }
    let loaded = Command::new("modprobe")
        .args(["--all", "--quiet"])
        .args(modules)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .status();
    match loaded {
        Ok(status) => status.success(),
        Err(error) => {
            tracing::debug!(?modules, %error, "cannot run modprobe");
            false
        }
    }
}

/// Returns the command that installs the missing modules, or that brings labs up in a guest whose kernel has them.
fn modules_fix() -> String {
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    if modules_directory().is_dir() && is_ubuntu(&system) {
        // A fresh Ubuntu installation has only a third of the modules.
        format!("apt-get install linux-modules-extra-{}", release())
    } else if release().contains("-cloud-") {
        // Debian's kernel for clouds has neither SoftRoCE nor netem.
        "apt-get install linux-image-amd64, then boot that kernel; or lcmp-lab up --guest SCENARIO"
            .to_owned()
    } else {
        "lcmp-lab up --guest SCENARIO".to_owned()
    }
}

fn is_ubuntu(os_release: &str) -> bool {
    os_release.lines().any(|line| line == "ID=ubuntu")
}

/// Returns the directory of this kernel's modules, which may not exist.
pub(crate) fn modules_directory() -> PathBuf {
    PathBuf::from("/lib/modules").join(release())
}

/// Returns the release of this kernel, as `uname -r` prints it; empty if it cannot be determined.
pub(super) fn release() -> String {
    let name = uname().map(|name| name.release().to_string_lossy().into_owned());
    name.unwrap_or_default()
}

/// UDP port of `RoCEv2` (IANA), which SoftRoCE binds for the whole machine.
const ROCE: u16 = lab_abi::rows::ROCE_PORT;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ubuntu_differs_from_its_derivatives() {
        assert!(is_ubuntu("NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n"));
        assert!(!is_ubuntu("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"));
    }

    #[test]
    fn a_port_is_taken_while_a_program_listens_on_any_of_its_addresses() {
        let program = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = program.local_addr().unwrap().port();
        assert!(is_taken(port));
        drop(program);
        assert!(!is_taken(port));
    }
}
