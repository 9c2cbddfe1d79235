//! Real guests: each test boots one or two, some seven seconds each.
//!
//! Where there is no emulator, busybox or kernel for a guest, every test prints that it is skipped
//! and why.

mod clock;
mod ends;
mod guest;
mod request;
