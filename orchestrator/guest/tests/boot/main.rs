//! Tests with real guests: each test boots one or two, about 7 s each.
//!
//! If the emulator, busybox or a kernel for guests is missing, every test prints that it is skipped, and the reason.

mod clock;
mod ends;
mod guest;
mod outbox;
mod request;
