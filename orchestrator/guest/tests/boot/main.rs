//! Tests with real guests: each test boots one or two, about 7 s each.
//!
//! Without an emulator, busybox or a kernel for guests, every test prints that it is skipped and why.

mod clock;
mod ends;
mod guest;
mod outbox;
mod request;
