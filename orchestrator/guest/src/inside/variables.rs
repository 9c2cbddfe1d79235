//! Environment variables that commands in a guest get.

use crate::Clock;

/// Name of the environment variable that shows a command that it runs in a guest; its value is `1`.
pub const GUEST_VARIABLE: &str = "LCMP_LAB_GUEST";

/// Name of the environment variable that tells a command in a guest which clock it has: `virtual` or `real`.
pub const CLOCK_VARIABLE: &str = "LCMP_LAB_CLOCK";

/// Name of the environment variable that tells a command in a guest its accelerator: `tcg` or `kvm`.
pub const ACCEL_VARIABLE: &str = "LCMP_LAB_ACCEL";

/// Name of the environment variable that tells a command in a guest how to show progress: `bar` if the host's standard
/// error is a terminal, else `plain`.
pub const PROGRESS_VARIABLE: &str = "LCMP_LAB_PROGRESS";

/// Returns true if this process runs inside a guest.
#[must_use]
pub fn is_inside() -> bool {
    std::env::var_os(GUEST_VARIABLE).is_some_and(|value| value == "1")
}

/// Returns the clock of this process: the guest's clock inside a guest, otherwise the real clock.
#[must_use]
pub fn clock() -> Clock {
    let variable = std::env::var(CLOCK_VARIABLE).ok().filter(|_| is_inside());
    let clock = variable.and_then(|name| name.parse().ok());
    clock.unwrap_or(Clock::Real)
}
