//! What the guest needs before a command can run in it.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use nix::{
    errno::Errno,
    kmod::{ModuleInitFlags, finit_module},
    mount::{MsFlags, mount, umount},
    sys::resource::{RLIM_INFINITY, Resource, setrlimit},
    unistd::{sethostname, sync},
};

use crate::{
    inside::{error::InsideError, softirq},
    wire::{Export, InnerRequest},
};

/// Sets the guest up for the request's command.
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
    softirq::run_first().map_err(InsideError::kernel("priority of packets"))
}

/// Brings everything written to the host.
pub(crate) fn detach(request: &InnerRequest) -> Result<(), InsideError> {
    for Export { tag, path } in request.writable.iter().rev() {
        match umount(path) {
            // Something still has a file open there: all that is written goes to the host anyway.
            Err(Errno::EBUSY) => sync(),
            result => result.map_err(|error| InsideError::Mount {
                what: tag.clone(),
                at: path.clone(),
                source: error.into(),
            })?,
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
        .map_err(|source| InsideError::Mount {
            what: what.to_owned(),
            at: at.to_owned(),
            source,
        })
}

fn load(module: &Path) -> Result<(), InsideError> {
    let loaded = File::open(module).and_then(|file| {
        match finit_module(&file, c"", ModuleInitFlags::empty()) {
            // Another one, or the kernel itself, has asked for it meanwhile.
            Ok(()) | Err(Errno::EEXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    });
    loaded.map_err(|source| InsideError::Module {
        path: module.to_owned(),
        source,
    })
}

/// File systems beside those the init script has brought: type, place, options.
const FILE_SYSTEMS: &[(&str, &str, &str)] = &[
    ("devpts", "/dev/pts", "mode=0620,ptmxmode=0666"),
    ("tmpfs", "/dev/shm", "mode=1777"),
    ("cgroup2", "/sys/fs/cgroup", ""),
    ("bpf", "/sys/fs/bpf", "mode=0700"),
    ("debugfs", "/sys/kernel/debug", ""),
];

/// Without a cache, so that what is written is on the host at once, and shared mappings excepted.
const WRITABLE_OPTIONS: &str = "trans=virtio,version=9p2000.L,msize=512000,cache=mmap";

const HOST_NAME: &str = "lcmp-lab";

/// A lab of 300 QPs opens some thousand files and pins some hundred megabytes.
const LIMITS: &[(Resource, u64)] = &[
    (Resource::RLIMIT_NOFILE, 1 << 20),
    (Resource::RLIMIT_MEMLOCK, RLIM_INFINITY),
    (Resource::RLIMIT_NPROC, RLIM_INFINITY),
    (Resource::RLIMIT_CORE, 0),
];
