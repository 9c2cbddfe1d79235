//! Facts of a run that this process knows: machine, clock, the plan's text and hash.

use lab_plan::Plan;
use lab_recorder::RunSetting;
use lab_records::{Clock, EngineInfo, Machine};
use sha2::{Digest, Sha256};

/// Returns the setting of a run of the kernel engine in this process, in a guest by the variables of
/// its init.
#[must_use]
pub fn kernel_setting() -> RunSetting {
    use lab_guest::inside::{ACCEL_VARIABLE, CLOCK_VARIABLE, is_inside};

    let variable = |name| std::env::var(name).ok().filter(|_| is_inside());
    RunSetting {
        kernel_release: kernel_release(),
        machine: if is_inside() {
            Machine::Guest
        } else {
            Machine::Here
        },
        clock: variable(CLOCK_VARIABLE)
            .and_then(|word| word.parse().ok())
            .unwrap_or(Clock::Real),
        accel: variable(ACCEL_VARIABLE),
        engine: EngineInfo::Kernel,
    }
}

/// Returns the plan as the text of `plan.json`.
#[must_use]
pub fn plan_text(plan: &Plan) -> String {
    let text = serde_json::to_string_pretty(plan).expect("a plan is plain data");
    text + "\n"
}

/// Returns the SHA-256 of a text, in hexadecimal digits.
#[must_use]
pub fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the release of this kernel, as `uname -r` prints it.
#[must_use]
pub fn kernel_release() -> String {
    nix::sys::utsname::uname()
        .map(|name| name.release().to_string_lossy().into_owned())
        .unwrap_or_default()
}
