//! Decisions made before a machine is started.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use nix::unistd::{AccessFlags, access};

use crate::{Accel, Accelerator, Clock, GuestError, GuestRequest};

/// The accelerator and clock a request gets on a machine where KVM works or does not.
///
/// `kvm_works` is asked only where the answer matters, as finding out takes a boot.
///
/// # Errors
///
/// Fails when a virtual clock is asked for with KVM.
pub fn choose(
    accel: Accel,
    clock: Option<Clock>,
    kvm_works: impl FnOnce() -> bool,
) -> Result<(Accelerator, Clock), GuestError> {
    match (accel, clock) {
        (Accel::Kvm, Some(Clock::Virtual)) => Err(GuestError::VirtualClockNeedsEmulation),
        (Accel::Kvm, None | Some(Clock::Real)) => Ok((Accelerator::Kvm, Clock::Real)),
        (Accel::Tcg, None) | (Accel::Tcg | Accel::Auto, Some(Clock::Virtual)) => {
            Ok((Accelerator::Tcg, Clock::Virtual))
        }
        (Accel::Tcg, Some(Clock::Real)) => Ok((Accelerator::Tcg, Clock::Real)),
        (Accel::Auto, None | Some(Clock::Real)) => Ok(if kvm_works() {
            (Accelerator::Kvm, Clock::Real)
        } else {
            (Accelerator::Tcg, clock.unwrap_or(Clock::Virtual))
        }),
    }
}

/// Checks that the guest will see what the request names.
pub(crate) fn check_paths(request: &GuestRequest) -> Result<(), GuestError> {
    let command = request.argv.first().map(PathBuf::from).unwrap_or_default();
    if !command.is_absolute() {
        return Err(GuestError::RelativeCommand { command });
    }
    for path in [
        &command,
        &request.cwd,
        &request.init_program,
        &request.cache,
    ] {
        if let Some(own) = hidden_by(path) {
            return Err(GuestError::Hidden {
                path: path.clone(),
                own: own.to_owned(),
            });
        }
    }
    for path in &request.writable {
        check_writable(path)?;
    }
    Ok(())
}

fn check_writable(path: &Path) -> Result<(), GuestError> {
    let checked = || {
        if !path.is_absolute() {
            return Err(io::Error::other("it is not an absolute path"));
        }
        fs::read_dir(path)?;
        Ok(access(path, AccessFlags::W_OK)?)
    };
    checked().map_err(|source| GuestError::Writable {
        path: path.to_owned(),
        source,
    })
}

fn hidden_by(path: &Path) -> Option<&'static Path> {
    OWN_DIRS
        .iter()
        .map(Path::new)
        .find(|own| path.starts_with(own))
}

/// File systems the guest has of its own. Writable directories may lie below them.
const OWN_DIRS: &[&str] = &["/run", "/proc", "/sys", "/dev"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_emulation_takes_the_virtual_clock_unless_told_otherwise() {
        let chosen = choose(Accel::Auto, None, || false).unwrap();
        assert_eq!(chosen, (Accelerator::Tcg, Clock::Virtual));
        let chosen = choose(Accel::Tcg, Some(Clock::Real), || true).unwrap();
        assert_eq!(chosen, (Accelerator::Tcg, Clock::Real));
    }

    #[test]
    fn working_kvm_is_taken_with_the_real_clock() {
        let chosen = choose(Accel::Auto, None, || true).unwrap();
        assert_eq!(chosen, (Accelerator::Kvm, Clock::Real));
    }

    #[test]
    fn a_virtual_clock_is_emulated_without_trying_kvm() {
        let chosen = choose(Accel::Auto, Some(Clock::Virtual), || {
            unreachable!("the answer does not matter")
        });
        assert_eq!(chosen.unwrap(), (Accelerator::Tcg, Clock::Virtual));
    }

    #[test]
    fn a_virtual_clock_on_kvm_is_a_wrong_request() {
        let error = choose(Accel::Kvm, Some(Clock::Virtual), || true).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}
