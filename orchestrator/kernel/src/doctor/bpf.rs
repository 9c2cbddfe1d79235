//! Loading and attaching of a program with two instructions.
//!
//! <https://github.com/torvalds/linux/blob/v6.6/include/uapi/linux/bpf.h>

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use netlink_bindings::tc::{Request, Tcmsg};

use crate::{
    exec::StepCause,
    netlink::{Batch, Socket},
};

/// Attaches a program to the ingress of an interface of the calling thread's namespace: by tcx, or on
/// kernels without it, by a filter on the interface's clsact qdisc.
pub(super) fn attach(socket: &mut Socket, index: u32) -> Result<(), StepCause> {
    let program = load()?;
    let attr = LinkCreate {
        prog_fd: number(&program),
        target_ifindex: index,
        attach_type: BPF_TCX_INGRESS,
        ..LinkCreate::default()
    };
    match bpf(BPF_LINK_CREATE, &attr) {
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

/// Loads the classifier `return TC_ACT_OK`.
fn load() -> io::Result<OwnedFd> {
    let instructions: [u64; 2] = [MOVE_0_TO_R0, EXIT];
    let attr = ProgLoad {
        prog_type: BPF_PROG_TYPE_SCHED_CLS,
        insn_cnt: 2,
        insns: address(instructions.as_ptr()),
        license: address(c"GPL".as_ptr()),
        ..ProgLoad::default()
    };
    bpf(BPF_PROG_LOAD, &attr)
}

/// Part of `union bpf_attr` that loads a program.
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

/// Part of `union bpf_attr` that attaches a program; the rest is zero.
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

#[expect(unsafe_code, reason = "the libc crate has no wrapper for bpf(2)")]
fn bpf<T>(command: libc::c_int, attr: &T) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes at `attr`, and what the addresses in it point
    // to, which the callers keep alive; it writes to neither.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attr, size_of::<T>()) };
    let fd = i32::try_from(result).map_err(io::Error::other)?;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both commands return a new descriptor that nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn address<T>(pointer: *const T) -> u64 {
    u64::try_from(pointer.addr()).unwrap_or(0)
}

fn number(fd: &OwnedFd) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_TCX_INGRESS: u32 = 46;
/// `BPF_ALU64 | BPF_MOV | BPF_K`, into register 0.
const MOVE_0_TO_R0: u64 = (0xb7_u64).to_le();
/// `BPF_JMP | BPF_EXIT`.
const EXIT: u64 = (0x95_u64).to_le();
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
const CLSACT_INGRESS: u32 = 0xffff_fff2;
const PREFERENCE: u32 = 2;
const ETH_P_ALL: u16 = 3;
