//! Temporary folder of a verb, removed however the process ends: by a return, a panic or a signal.

use std::{
    fs, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
    low_level::emulate_default_handler,
};
use tempfile::TempDir;

use crate::failure::{During, Failure};

/// Folder that only this user can access; removed when this value is dropped or a signal ends the process.
pub struct Temporary {
    folder: TempDir,
    ends_on_signal: Arc<AtomicBool>,
}

impl Temporary {
    /// Creates a folder whose name begins with `prefix`.
    ///
    /// # Errors
    /// If the folder cannot be created, or signal handlers cannot be installed.
    pub fn new(prefix: &str) -> Result<Self, Failure> {
        // The handlers are installed before the thread starts, so that no signal is lost.
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).during("listen to signals")?;
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir()
            .during("make a temporary directory")?;
        let ends_on_signal = Arc::new(AtomicBool::new(true));
        let path = folder.path().to_owned();
        let ends = ends_on_signal.clone();
        thread::spawn(move || {
            for signal in signals.forever() {
                if ends.load(Ordering::SeqCst) {
                    remove(&path);
                    let _ = emulate_default_handler(signal);
                }
            }
        });
        Ok(Self {
            folder,
            ends_on_signal,
        })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Stops ending the process on signals, because a run that begins now handles them: on a signal, the run keeps its
    /// finished results and returns. The folder is then removed when this value is dropped.
    pub fn leave_signals(&self) {
        self.ends_on_signal.store(false, Ordering::SeqCst);
    }
}

/// Removes the folder at `path`, even if another thread is still writing into it.
fn remove(path: &Path) {
    for _ in 0..MAX_ATTEMPTS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Ok(()) => {}
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Maximum number of attempts to remove a folder, 1 ms apart.
const MAX_ATTEMPTS: u32 = 1_000;
