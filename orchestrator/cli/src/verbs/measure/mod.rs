//! `bench generator` and `doctor --measure`: flows a second, packets a second and bits a second of a place.
//!
//! A lab of two datacenters with a host each carries two loads of flows that start at once: many flows of
//! one packet, and a few large ones. The links are faster than any kernel forwards, so that the place is
//! busy throughout.
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

/// Measures the place that `arguments` ask for, with `flows` flows of one packet.
///
/// # Errors
/// If the machine lacks that place, or the lab or a flow fails.
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

/// Runs the hidden verb that measures the kernel that this process runs on.
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

/// Boots a guest, measures in it and fills in the wall-clock times, which only the host knows.
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
    // Only this user can access the folder, and nobody can guess its name.
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
            // Kept for the user, who reads the console log and removes the folder.
            let _ = folder.keep();
            return Err(Failure::environment(format_args!(
                "the measurement in the guest ended with exit code {code} (its console: {})",
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

/// Returns a load with the wall-clock time that its phase took, if the lab's clock was virtual. The idle
/// time in which the clock jumps to the first start takes none.
fn with_wall(load: MeasuredLoad, phase: Option<&Phase>) -> MeasuredLoad {
    let took = phase.filter(|phase| phase.virtual_ns.is_some());
    MeasuredLoad {
        wall_ns: took.map_or(load.wall_ns, |phase| phase.took_ns),
        ..load
    }
}

/// Flows of one packet under emulation: some ten seconds.
const EMULATED_FLOWS: u32 = 2_000;

/// Flows of one packet on a real processor.
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
