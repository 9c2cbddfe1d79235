//! Trial of eBPF, which loads and attaches a program of two instructions.
//!
//! <https://github.com/torvalds/linux/blob/v6.6/include/uapi/linux/bpf.h>

use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use netlink_bindings::tc::{Request, Tcmsg};

use crate::{
    exec::StepCause,
    netlink::{Batch, Socket},
};

/// Attaches a program to the ingress of an interface in the calling thread's namespace, using tcx; on kernels without
/// tcx, uses a filter on the interface's clsact qdisc.
pub(super) fn attach(socket: &mut Socket, index: u32) -> Result<(), StepCause> {
    let program = load(&[MOVE_0_TO_R0, EXIT], c"GPL")?;
    match link(&program, index) {
        Ok(_link) => Ok(()),
        Err(_) => filter(socket, index, &program),
    }
}

fn filter(socket: &mut Socket, index: u32, program: &OwnedFd) -> Result<(), StepCause> {
    let mut header = Tcmsg::new();
    header.ifindex = index.cast_signed();
    header.parent = CLSACT_INGRESS;
    header.info = (PREFERENCE << 16) | u32::from(ETH_P_ALL.to_be());
    let mut request = Request::new()
        .set_create()
        .set_excl()
        .op_newtfilter_do(&header);
    request
        .encode()
        .nested_options_bpf()
        .push_fd(number(program))
        .push_name(c"lcmp-doctor")
        .push_flags(TCA_BPF_FLAG_ACT_DIRECT);
    let mut batch = Batch::default();
    batch.request(&request);
    Ok(socket.execute_one(batch)?)
}

/// Loads a classifier program, and returns its file descriptor.
#[expect(unsafe_code, reason = "the libc crate has no wrapper for bpf(2)")]
fn load(instructions: &[u64], license: &CStr) -> io::Result<OwnedFd> {
    let attr = ProgLoad {
        prog_type: BPF_PROG_TYPE_SCHED_CLS,
        insn_cnt: u32::try_from(instructions.len()).map_err(io::Error::other)?,
        insns: address(instructions.as_ptr()),
        license: address(license.as_ptr()),
        ..ProgLoad::default()
    };
    // SAFETY: the kernel reads `insn_cnt` instructions at `insns` and a string at `license`; both are borrowed until
    // the call returns. Without a log buffer the kernel writes nothing.
    unsafe { bpf(BPF_PROG_LOAD, &attr) }
}

/// Attaches a program to the ingress of an interface with tcx.
#[expect(unsafe_code, reason = "the libc crate has no wrapper for bpf(2)")]
fn link(program: &OwnedFd, index: u32) -> io::Result<OwnedFd> {
    let attr = LinkCreate {
        prog_fd: number(program),
        target_ifindex: index,
        attach_type: BPF_TCX_INGRESS,
        ..LinkCreate::default()
    };
    // SAFETY: `attr` contains descriptors and numbers, but no address.
    unsafe { bpf(BPF_LINK_CREATE, &attr) }
}

/// Part of `union bpf_attr` that is needed to load a program.
#[repr(C)]
#[derive(Default)]
struct ProgLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
}

/// Part of `union bpf_attr` that is needed to attach a program; all later fields are zero.
#[repr(C)]
#[derive(Default)]
struct LinkCreate {
    prog_fd: u32,
    target_ifindex: u32,
    attach_type: u32,
    flags: u32,
    relative: u64,
    expected_revision: u64,
}

/// Calls bpf(2) with a command that returns a new file descriptor.
///
/// # Safety
/// `attr` must have the layout that `command` expects, and each address in it must be valid for everything that the
/// kernel reads or writes there for `command`.
#[expect(unsafe_code, reason = "the libc crate has no wrapper for bpf(2)")]
unsafe fn bpf<T>(command: libc::c_int, attr: &T) -> io::Result<OwnedFd> {
    let attr = std::ptr::from_ref(attr);
    // SAFETY: the kernel reads `size_of::<T>()` bytes at `attr`; the caller guarantees that the addresses in it are
    // valid.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attr, size_of::<T>()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = i32::try_from(result).map_err(io::Error::other)?;
    // SAFETY: the descriptor is new, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn address<T>(pointer: *const T) -> u64 {
    u64::try_from(pointer.expose_provenance()).unwrap_or(0)
}

fn number(fd: &OwnedFd) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_TCX_INGRESS: u32 = 46;
/// Instruction `BPF_ALU64 | BPF_MOV | BPF_K` for register 0.
const MOVE_0_TO_R0: u64 = (0xb7_u64).to_le();
/// Instruction `BPF_JMP | BPF_EXIT`.
const EXIT: u64 = (0x95_u64).to_le();
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
const CLSACT_INGRESS: u32 = 0xffff_fff2;
const PREFERENCE: u32 = 2;
const ETH_P_ALL: u16 = 3;

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use nix::errno::Errno;

    use super::*;
    use crate::testing::skipped;

    /// The offsets are those of `union bpf_attr` in Linux 6.6's `include/uapi/linux/bpf.h`.
    #[test]
    fn attributes_have_the_layout_of_bpf_h() {
        assert_eq!(offset_of!(ProgLoad, insns), 8);
        assert_eq!(offset_of!(ProgLoad, license), 16);
        assert_eq!(offset_of!(ProgLoad, log_level), 24);
        assert_eq!(offset_of!(ProgLoad, log_buf), 32);
        assert_eq!(size_of::<ProgLoad>(), 40);
        assert_eq!(offset_of!(LinkCreate, attach_type), 8);
        assert_eq!(offset_of!(LinkCreate, relative), 16);
        assert_eq!(size_of::<LinkCreate>(), 32);
    }

    /// The verifier requires a return value in register 0.
    #[test]
    fn the_kernel_reads_as_many_instructions_as_there_are() {
        let errno = |loaded: io::Result<OwnedFd>| {
            let error = loaded.err()?;
            error.raw_os_error().map(Errno::from_raw)
        };
        let whole = errno(load(&[MOVE_0_TO_R0, EXIT], c"GPL"));
        if let Some(Errno::EPERM | Errno::ENOSYS) = whole {
            return skipped("it may not load programs");
        }
        assert_eq!(whole, None);
        assert_eq!(errno(load(&[EXIT], c"GPL")), Some(Errno::EACCES));
        assert_eq!(errno(load(&[MOVE_0_TO_R0], c"GPL")), Some(Errno::EINVAL));
        assert_eq!(errno(load(&[], c"GPL")), Some(Errno::E2BIG));
    }
}
