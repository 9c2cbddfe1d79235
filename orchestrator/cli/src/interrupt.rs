//! Ctrl-C and its like.

use std::{io, thread};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use tokio_util::sync::CancellationToken;

use crate::output::note;

/// Cancels `token` at the first signal that asks this process to end. Later ones are answered and
/// otherwise ignored: the lab is being taken down, and half of that would be worse than none.
///
/// # Errors
/// When the signals cannot be caught.
pub fn cancel_on_signal(token: &CancellationToken) -> io::Result<()> {
    on_signal(
        token,
        "interrupted: taking the lab down",
        "still taking the lab down",
    )
}

/// Cancels `token` at the first signal that asks this process to end and says `first`; says `later`
/// at those after it.
///
/// # Errors
/// When the signals cannot be caught.
pub fn on_signal(
    token: &CancellationToken,
    first: &'static str,
    later: &'static str,
) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let token = token.clone();
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for _ in signals.forever() {
                if token.is_cancelled() {
                    note(later);
                } else {
                    note(first);
                    token.cancel();
                }
            }
        })?;
    Ok(())
}
