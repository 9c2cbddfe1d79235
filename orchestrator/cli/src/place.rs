//! Choice of the place where `up` would run a lab here, and durations of earlier runs there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use lab_guest::{
    Accelerator, KvmVerdict,
    cache::{self, Kernel},
    cached, probe,
};
use lab_kernel::doctor::Finding;
use lab_units::{Clock, Place};
use serde::{Serialize, de::DeserializeOwned};

use crate::{args::PlaceArgs, failure::Failure, run_dir};

/// Returns true if a lab runs in a guest: the user asks for a guest, or this kernel lacks a requirement of labs.
pub fn needs_guest(arguments: &PlaceArgs, kernel_lacks: &[Finding]) -> bool {
    arguments.guest || arguments.kernel.is_some() || (!arguments.here && !kernel_lacks.is_empty())
}

/// Returns the cache directory that has the kernel of a guest.
/// Fails if there is no kernel of the release in `arguments`, with exit code 3.
pub fn guest_cache(arguments: &PlaceArgs) -> Result<PathBuf, Failure> {
    let cache = cache::default_dir();
    let Some(wanted) = &arguments.kernel else {
        return Ok(cache);
    };
    cache::of_release(&cache, wanted).map_err(|error| {
        Failure::environment(format_args!(
            "{error} (hint: sudo lcmp-lab provision --kernel PACKAGE)"
        ))
    })
}

/// Returns where a lab with the options `arguments` runs, this kernel or a guest, given what this kernel lacks. May
/// boot a trial guest to test KVM, which takes up to 6 s once per boot of the machine.
pub fn choose(arguments: &PlaceArgs, kernel_lacks: &[Finding]) -> Place {
    let kvm_works = || probe::kvm(&cache::default_dir()) == Some(KvmVerdict::Works);
    decide(arguments, kernel_lacks, kvm_works)
}

fn decide(
    arguments: &PlaceArgs,
    kernel_lacks: &[Finding],
    kvm_works: impl FnOnce() -> bool,
) -> Place {
    if !needs_guest(arguments, kernel_lacks) {
        return Place::Here;
    }
    match Accelerator::choose(arguments.clock, kvm_works) {
        (Accelerator::Kvm, _) => Place::GuestKvm,
        (Accelerator::Tcg, Clock::Real) => Place::GuestTcg,
        (Accelerator::Tcg, Clock::Virtual) => Place::GuestVirtual,
    }
}

/// Returns the stored durations of earlier runs on this kernel or in this kind of guest; `None` if no such run has
/// ended.
pub fn durations<T: DeserializeOwned>(place: Place) -> Option<T> {
    let cache = cache::default_dir();
    cached::load(&cache, &durations_file(place), &key(place, &cache))
}

/// Stores the durations of runs on this kernel or in this kind of guest for later estimates, if a cache directory is
/// writable.
pub fn keep_durations<T: Serialize>(place: Place, durations: &T) {
    let cache = cache::default_dir();
    // If no cache directory is writable, later estimates use only the plan.
    let _ = cached::store(
        &cache,
        &durations_file(place),
        &key(place, &cache),
        durations,
    );
}

fn durations_file(place: Place) -> String {
    format!("durations-{place}.json")
}

/// Returns the release of the kernel that forwards a lab's packets, this machine's or the guest's; empty if it is
/// unknown.
pub fn kernel_release(place: Place, cache: &Path) -> String {
    match place {
        Place::Here => run_dir::kernel_release(),
        Place::GuestVirtual | Place::GuestTcg | Place::GuestKvm => {
            Kernel::find(cache).map_or_else(|_| String::new(), |kernel| kernel.release)
        }
    }
}

/// Returns the properties that durations depend on, as one string: kernel, machine and processor.
fn key(place: Place, cache: &Path) -> String {
    let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    format!(
        "{}, {}, {}",
        kernel_release(place, cache),
        machine.trim(),
        cached::cpu_model()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_this_kernel_or_a_guest_by_its_clock() {
        let lacks = [Finding::fail("netem", "there is no module", "delays")];
        let arguments = |here, guest, clock| PlaceArgs {
            here,
            guest,
            clock,
            kernel: None,
            guest_memory: None,
        };
        let real = Some(Clock::Real);
        let virtual_clock = Some(Clock::Virtual);
        for (arguments, lacks, kvm_works, expected) in [
            (
                arguments(false, false, None),
                &lacks[..0],
                false,
                Place::Here,
            ),
            (
                arguments(false, false, None),
                &lacks,
                false,
                Place::GuestVirtual,
            ),
            (arguments(false, false, None), &lacks, true, Place::GuestKvm),
            (
                arguments(false, true, real),
                &lacks[..0],
                false,
                Place::GuestTcg,
            ),
            (
                arguments(false, true, real),
                &lacks[..0],
                true,
                Place::GuestKvm,
            ),
            (
                arguments(false, true, virtual_clock),
                &lacks,
                true,
                Place::GuestVirtual,
            ),
            (arguments(true, false, None), &lacks, false, Place::Here),
        ] {
            let place = decide(&arguments, lacks, || kvm_works);
            assert_eq!(place, expected, "{arguments:?}");
        }
    }
}
