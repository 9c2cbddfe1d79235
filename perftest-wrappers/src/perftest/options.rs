//! Options of a session.

use std::{path::PathBuf, time::Duration};

/// Options of a session.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of perftest; none is `PATH`.
    pub tools: Option<PathBuf>,
    /// Time in which the two processes of a flow must become ready; without a limit the wait still ends
    /// if a process ends or sends something unexpected.
    ///
    /// A guest whose clock skips idle time needs no limit: the clock may jump by minutes while a file is
    /// read from the host.
    pub ready_within: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tools: None,
            ready_within: Some(DEFAULT_READY_WITHIN),
        }
    }
}

/// Default of [`Options::ready_within`]: two processes start in 50 ms, on a busy machine in seconds.
const DEFAULT_READY_WITHIN: Duration = Duration::from_secs(60);
