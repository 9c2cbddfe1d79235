//! Files a machine inherits.

use std::{
    fs::File,
    io::{self, PipeReader, PipeWriter, Write},
};

use nix::{
    fcntl::{FcntlArg, fcntl},
    sys::memfd::{MFdFlags, memfd_create},
};

/// A file without a name: nothing is left behind, however we end.
pub(crate) fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"lcmp-lab-initramfs", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}

/// A pipe for an output port.
///
/// A port whose other end is full makes the guest wait, and its virtual time leap. The port writes
/// byte by byte, of which a socket holds some hundred and a pipe as many as it is large.
pub(crate) fn output_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    fcntl(&writer, FcntlArg::F_SETPIPE_SZ(OUTPUT_PIPE_SIZE))?;
    Ok((reader, writer))
}

/// The most an unprivileged process may ask for.
const OUTPUT_PIPE_SIZE: i32 = 1 << 20;
