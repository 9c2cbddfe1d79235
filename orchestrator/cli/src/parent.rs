//! Parent of a process that must not outlive it.

use nix::{
    sys::{prctl, signal::Signal},
    unistd::{Pid, getppid},
};

use crate::failure::{During, Failure};

/// Makes `signal` end this process when its parent `caller` ends.
/// Fails if the caller has ended already.
pub fn follow(caller: i32, signal: Signal) -> Result<(), Failure> {
    prctl::set_pdeathsig(signal).during("follow the caller")?;
    if getppid() == Pid::from_raw(caller) {
        Ok(())
    } else {
        Err(Failure::environment("the caller has ended"))
    }
}
