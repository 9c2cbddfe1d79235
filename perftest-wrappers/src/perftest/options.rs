//! Options of a perftest session.

use std::{path::PathBuf, time::Duration};

/// Options of a perftest session.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of the perftest programs; `None`: they are found through `PATH`.
    pub tools: Option<PathBuf>,
    /// Time limit for the two processes of a flow to become ready; `None`: no limit. Without a limit, the wait still
    /// ends if a process exits or sends something unexpected.
    ///
    /// A guest whose clock skips idle time must not have a limit: its clock may jump by minutes while a file is read
    /// from the host.
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

/// Default of [`Options::ready_within`]. Two processes start in 50 ms, or in a few seconds on a busy machine.
const DEFAULT_READY_WITHIN: Duration = Duration::from_secs(60);
