//! Programs a guest is made with.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Name of the emulator, looked up in `PATH`.
pub(crate) const QEMU: &str = "qemu-system-x86_64";

/// The package the emulator comes in.
pub(crate) const QEMU_PACKAGE: &str = "qemu-system-x86";

/// The package the statically linked busybox comes in.
pub(crate) const BUSYBOX_PACKAGE: &str = "busybox-static";

/// The statically linked busybox.
pub(crate) fn find_busybox() -> Option<PathBuf> {
    ["/bin/busybox", "/usr/bin/busybox"]
        .into_iter()
        .map(PathBuf::from)
        .find(|path| is_static(path))
}

/// The dynamically linked one has the same path; it names its interpreter in its first page.
fn is_static(program: &Path) -> bool {
    const INTERPRETER: &[u8] = b"/ld-";
    fs::read(program).is_ok_and(|bytes| {
        let head = &bytes[..bytes.len().min(4096)];
        !head.windows(INTERPRETER.len()).any(|at| at == INTERPRETER)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_an_interpreter_is_not_static() {
        assert!(!is_static(&std::env::current_exe().unwrap()));
        assert!(!is_static(Path::new("/nonexistent")));
    }
}
