//! Set-up of the guest before its command runs.

use std::{
    ffi::CStr,
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
};

use nix::{
    errno::Errno,
    kmod::{ModuleInitFlags, finit_module},
    mount::{MsFlags, mount, umount},
    sys::resource::{RLIM_INFINITY, Resource, setrlimit},
    unistd::{sethostname, sync},
};

use super::error::InsideError;
use crate::wire::{Export, InnerRequest};

/// Prepares the guest for the request's command: file systems, modules, limits, priorities.
pub(crate) fn set_up(request: &InnerRequest) -> Result<(), InsideError> {
    for (kind, at, options) in FILE_SYSTEMS {
        attach(kind, kind, Path::new(at), options)?;
    }
    for export in &request.writable {
        attach(&export.tag, "9p", &export.path, WRITABLE_OPTIONS)?;
    }
    for module in &request.modules {
        load(module)?;
    }
    sethostname(HOST_NAME).map_err(InsideError::kernel("host name"))?;
    for (resource, limit) in LIMITS {
        setrlimit(*resource, *limit, *limit).map_err(InsideError::kernel("resource limits"))?;
    }
    prioritise_softirqs().map_err(InsideError::kernel("priority of packet threads"))
}

/// Unmounts the host's directories, so that all written files are on the host.
pub(crate) fn detach(request: &InnerRequest) -> Result<(), InsideError> {
    for Export { tag, path } in request.writable.iter().rev() {
        match umount(path) {
            // A process has a file open in the directory, which therefore stays mounted; `sync` writes its files to the
            // host.
            Err(Errno::EBUSY) => sync(),
            result => result.map_err(mount_error(tag, path))?,
        }
    }
    Ok(())
}

fn attach(what: &str, kind: &str, at: &Path, options: &str) -> Result<(), InsideError> {
    fs::create_dir_all(at)
        .and_then(|()| {
            let flags = MsFlags::empty();
            mount(Some(what), at, Some(kind), flags, Some(options)).map_err(io::Error::from)
        })
        .map_err(mount_error(what, at))
}

fn mount_error<E: Into<io::Error>>(what: &str, at: &Path) -> impl FnOnce(E) -> InsideError {
    move |error| InsideError::Mount {
        what: what.to_owned(),
        at: at.to_owned(),
        source: error.into(),
    }
}

fn load(module: &Path) -> Result<(), InsideError> {
    File::open(module)
        .and_then(|file| {
            match finit_module(&file, parameters(module), ModuleInitFlags::empty()) {
                // The kernel may already have loaded the module, or the CPU may lack the instructions that the module
                // needs.
                Ok(()) | Err(Errno::EEXIST | Errno::ENODEV) => Ok(()),
                Err(error) => Err(error.into()),
            }
        })
        .map_err(|source| InsideError::Module {
            path: module.to_owned(),
            source,
        })
}

/// Returns the parameters with which a module is loaded.
fn parameters(module: &Path) -> &'static CStr {
    let file = module.file_name().unwrap_or_default().to_string_lossy();
    let name = file.split('.').next().unwrap_or_default();
    let known = PARAMETERS.iter().find(|(module, _)| *module == name);
    known.map_or(c"", |(_, parameters)| parameters)
}

/// Modules that are loaded with parameters.
///
/// By default every RDMA device appears in the sysfs of every network namespace. In a lab, whose hosts' devices are all
/// in the initial namespace, making and removing these entries takes time in proportion to devices × switches.
const PARAMETERS: &[(&str, &CStr)] = &[("ib_core", c"netns_mode=0")];

/// Gives the kernel's packet threads a higher priority than all programs.
///
/// Soft interrupts forward the lab's packets. Under load the kernel moves them to `ksoftirqd`, a thread of normal
/// priority, and a busy program then delays packets by its time slice: flows took 1.5 to 6 ms longer.
fn prioritise_softirqs() -> io::Result<()> {
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        if !name.starts_with("ksoftirqd/") {
            continue;
        }
        let status = Command::new("chrt")
            .args(["--fifo", "--pid", SOFTIRQ_PRIORITY])
            .arg(entry.file_name())
            .process_group(0)
            .status()?;
        if !status.success() {
            return Err(io::Error::other(format!("chrt ended with {status}")));
        }
    }
    Ok(())
}

/// Real-time priority of the kernel's packet threads: above all programs, below the kernel's time-critical threads.
const SOFTIRQ_PRIORITY: &str = "50";

/// File systems that the init script does not mount: type, mount point, options.
const FILE_SYSTEMS: &[(&str, &str, &str)] = &[
    ("devpts", "/dev/pts", "mode=0620,ptmxmode=0666"),
    ("tmpfs", "/dev/shm", "mode=1777"),
    ("cgroup2", "/sys/fs/cgroup", ""),
    ("bpf", "/sys/fs/bpf", "mode=0700"),
    ("debugfs", "/sys/kernel/debug", ""),
];

/// Mount options of writable directories: without a cache, except for shared mappings, so that writes reach the host
/// immediately.
const WRITABLE_OPTIONS: &str = "trans=virtio,version=9p2000.L,msize=512000,cache=mmap";

const HOST_NAME: &str = "lcmp-lab";

/// Resource limits of the guest's programs; a lab with 300 QPs opens several thousand files and pins several hundred
/// megabytes.
const LIMITS: &[(Resource, u64)] = &[
    (Resource::RLIMIT_NOFILE, 1 << 20),
    (Resource::RLIMIT_MEMLOCK, RLIM_INFINITY),
    (Resource::RLIMIT_NPROC, RLIM_INFINITY),
    (Resource::RLIMIT_CORE, 0),
];
