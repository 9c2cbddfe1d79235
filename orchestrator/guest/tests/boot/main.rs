//! Tests with real guests. Each test boots one or two guests, which takes about 7 s each.
//!
//! If the emulator, busybox or a kernel for guests is missing, every test prints the reason why it is skipped.

mod clock;
mod ends;
mod guest;
mod outbox;
mod request;
