//! The lcmp-lab command.
fn main() {}
