//! `bench generator` and `doctor --measure`: flows, packets and bits per second that a place can carry.
//!
//! A lab of two datacenters with one host each carries two loads, one after the other: many flows of one packet, then a
//! few large flows. All flows of a load start together, and the links are faster than any kernel can forward, so that
//! the CPU is busy throughout.
//!
//! - `inside`: the measurement on the kernel that this process runs on
//! - `measurement`, `show`: result of the measurement, and its table

mod inside;
mod measurement;
mod show;

use std::{env, ffi::OsString};

use lab_guest::{GuestRequest, Signals, probe};
use lab_kernel::doctor;
use lab_plan::{Capacity, MeasuredLoad};
use lab_records::Phase;
use lab_units::Place;

use crate::{
    args::{Global, MeasureArgs, PlaceArgs},
    failure::{During, Exit, Failure, Outcome},
    place,
    terminal::{print, print_json},
    verbs::up,
};

pub use measurement::{Loads, Measurement};
pub use show::text;

/// Measures this kernel or a guest, as `arguments` select; `flows` is the number of one-packet flows, `None` for the
/// default.
///
/// # Errors
/// If the selected kernel or guest cannot run a lab, or the lab or a flow fails.
pub fn measure(
    arguments: &PlaceArgs,
    flows: Option<u32>,
    global: &Global,
) -> Result<Measurement, Failure> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Failure::environment(
            "a measurement needs root to create a lab (hint: sudo lcmp-lab doctor --measure)",
        ));
    }
    let kernel_lacks = doctor::missing_here();
    let place = place::choose(arguments, &kernel_lacks);
    let flows = flows.unwrap_or(match place {
        Place::GuestVirtual | Place::GuestTcg => EMULATED_FLOWS,
        Place::GuestKvm | Place::Here => NATIVE_FLOWS,
    });
    let loads = match place {
        Place::Here if !kernel_lacks.is_empty() => {
            let lacks: Vec<String> = kernel_lacks.iter().map(ToString::to_string).collect();
            return Err(Failure::environment(format_args!(
                "this kernel cannot run a lab (hint: leave out --here to use a guest):\n  {}",
                lacks.join("\n  ")
            )));
        }
        Place::Here => inside::run(flows, global)?,
        Place::GuestVirtual | Place::GuestTcg | Place::GuestKvm => {
            in_guest(arguments, flows, global)?
        }
    };
    let capacity = Capacity::of(place, &loads.small, &loads.bulk);
    Ok(Measurement {
        kernel_release: place::kernel_release(place, &place::guest_cache(arguments)?),
        links: inside::LINKS,
        scale_for: capacity.argument(),
        capacity,
        loads,
    })
}

/// Runs the hidden verb `measure-here`, which measures the kernel that this process runs on.
pub fn here(arguments: &MeasureArgs, global: &Global) -> Outcome {
    print_json(&inside::run(arguments.flows, global)?);
    Ok(Exit::Pass)
}

/// Runs `lcmp-lab bench generator`.
pub fn bench(arguments: &PlaceArgs, flows: Option<u32>, global: &Global) -> Outcome {
    let measurement = measure(arguments, flows, global)?;
    if global.json {
        print_json(&measurement);
    } else {
        print(text(&measurement).trim_end());
    }
    Ok(Exit::Pass)
}

/// Boots a guest, measures in it, and adds the wall-clock times, which only the host knows.
fn in_guest(arguments: &PlaceArgs, flows: u32, global: &Global) -> Result<Loads, Failure> {
    let cache = place::guest_cache(arguments)?;
    if let Some(finding) = probe::lacking(&cache).first() {
        return Err(Failure::environment(format_args!(
            "this machine cannot run a guest: {finding} (hint: {})",
            finding.remedy()
        )));
    }
    let program = env::current_exe().during("find this program")?;
    let cwd = env::current_dir().during("find the working directory")?;
    // The folder has a random name and permits access only to this user.
    let folder = tempfile::Builder::new()
        .prefix("lcmp-lab-measure-")
        .tempdir()
        .during("make a temporary directory")?;
    let console = folder.path().join("console.log");
    let words = ["measure-here", "--log", &global.log, "--flows"];
    let mut command: Vec<OsString> = vec![program.into()];
    command.extend(words.map(OsString::from));
    command.push(flows.to_string().into());
    let mut request = GuestRequest::new(command, &cwd, &console).during("find this program")?;
    request.clock = arguments.clock;
    request.cache = cache;
    if let Some(memory) = arguments.guest_memory {
        request.memory = memory;
    }
    request.env = up::passed_environment();
    let mut output = Vec::new();
    let signals = Signals::listen().during("listen to signals")?;
    let (code, observed) = up::show_guest(
        &request,
        (&mut output, &mut std::io::sink()),
        |guest, sinks| lab_guest::run(guest, signals, sinks),
    )?;
    let loads: Loads = match (code, serde_json::from_slice(&output)) {
        (0, Ok(loads)) => loads,
        _ => {
            // The folder is kept, because the user needs the console log in it.
            let _ = folder.keep();
            return Err(Failure::environment(format_args!(
                "the measurement in the guest ended with exit code {code} (console log: {})",
                console.display()
            )));
        }
    };
    let flows = observed
        .phases
        .iter()
        .filter(|phase| phase.name.ends_with("flows"));
    let [small, bulk] = [0, 1].map(|at| flows.clone().nth(at));
    Ok(Loads {
        small: with_wall(loads.small, small),
        bulk: with_wall(loads.bulk, bulk),
    })
}

/// Returns a load with the wall-clock time of its phase, if the lab's clock was virtual. The idle time before the first
/// start takes no wall-clock time, because the virtual clock jumps over it.
fn with_wall(load: MeasuredLoad, phase: Option<&Phase>) -> MeasuredLoad {
    let took = phase.filter(|phase| phase.virtual_ns.is_some());
    MeasuredLoad {
        wall_ns: took.map_or(load.wall_ns, |phase| phase.took_ns),
        ..load
    }
}

/// Number of one-packet flows in an emulated guest, which take 10 to 30 s of wall-clock time.
const EMULATED_FLOWS: u32 = 2_000;

/// Number of one-packet flows on this kernel or under KVM.
const NATIVE_FLOWS: u32 = 10_000;

#[cfg(test)]
mod tests {
    use lab_units::{Bytes, Nanos};

    use super::*;

    #[test]
    fn wall_clock_time_is_the_hosts_on_the_virtual_clock_only() {
        let load = MeasuredLoad {
            flows: 1,
            data_packets: 1,
            packet_hops: 3,
            bytes: Bytes::new(4_096),
            lab_ns: Nanos::from_millis(10),
            wall_ns: Nanos::from_millis(10),
            cpu_ns: None,
        };
        let phase = |virtual_ns| Phase {
            name: "lcmp flows".to_owned(),
            took_ns: Nanos::from_millis(70),
            virtual_ns,
        };
        let wall = |phase: Option<&Phase>| with_wall(load, phase).wall_ns;
        assert_eq!(wall(None), load.lab_ns);
        assert_eq!(wall(Some(&phase(None))), load.lab_ns);
        let virtual_ns = Some(Nanos::from_millis(1_010));
        assert_eq!(wall(Some(&phase(virtual_ns))), Nanos::from_millis(70));
    }
}
