//! Repetition of system calls that a signal interrupts.

use std::io;

/// Repeats `call` as long as signals interrupt it. A signal handler without `SA_RESTART` makes any blocking call fail
/// with `EINTR`. `poll`, and calls on sockets with a time-out, fail even if the handler has `SA_RESTART`; the latter
/// also fail after SIGSTOP and SIGCONT.
/// <https://man7.org/linux/man-pages/man7/signal.7.html>
pub(crate) fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Read, os::fd::AsFd, sync::mpsc, thread, time::Duration};

    use nix::{
        poll::{PollFd, PollFlags, PollTimeout, poll},
        sys::{
            pthread::{Pthread, pthread_kill, pthread_self},
            signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction},
        },
    };

    use super::*;

    extern "C" fn ignore(_: i32) {}

    /// Sends a signal to a thread every millisecond for 50 ms if `is_waiting` returns true; most of the signals arrive
    /// while the thread waits.
    fn pester(thread: Pthread, is_waiting: impl Fn() -> bool) {
        for _ in 0..50 {
            thread::sleep(Duration::from_millis(1));
            if is_waiting() {
                pthread_kill(thread, Signal::SIGWINCH).unwrap();
            }
        }
    }

    #[test]
    #[expect(unsafe_code, reason = "std sets no handlers")]
    fn a_read_and_a_poll_go_on_after_signals() {
        let handler = SigHandler::Handler(ignore);
        let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler does nothing.
        unsafe { sigaction(Signal::SIGWINCH, &action) }.unwrap();
        for is_polled in [false, true] {
            let (mut reader, writer) = io::pipe().unwrap();
            let (tell, told) = mpsc::channel();
            thread::scope(|scope| {
                let waiting = scope.spawn(move || {
                    tell.send(pthread_self()).unwrap();
                    let mut interruptions = 0;
                    let waited = uninterrupted(|| {
                        let waited = if is_polled {
                            let mut fds = [PollFd::new(reader.as_fd(), PollFlags::POLLIN)];
                            let polled = poll(&mut fds, PollTimeout::NONE);
                            polled.map(|_| 0).map_err(io::Error::from)
                        } else {
                            reader.read(&mut [0; 8])
                        };
                        interruptions += usize::from(waited.is_err());
                        waited
                    });
                    (waited, interruptions)
                });
                pester(told.recv().unwrap(), || !waiting.is_finished());
                // Closing the writing end ends the wait.
                drop(writer);
                let (waited, interruptions) = waiting.join().unwrap();
                assert_eq!(waited.unwrap(), 0);
                // If no signal interrupted the call, the test proves nothing.
                assert!(interruptions > 0, "{is_polled}");
            });
        }
    }

    #[test]
    fn only_interruptions_are_repeated() {
        let mut results = [
            Err(io::ErrorKind::Interrupted),
            Err(io::ErrorKind::Interrupted),
            Ok(7),
        ]
        .into_iter();
        let called = uninterrupted(|| results.next().unwrap().map_err(io::Error::from));
        assert_eq!((called.unwrap(), results.next()), (7, None));
        let failed = uninterrupted(|| Err::<(), _>(io::ErrorKind::WouldBlock.into()));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
