//! Length of trains that `--trains` asks for.

use lab_plan::{Engine, Plan};
use lab_sim::trains;

use crate::{args::TrainsArg, failure::Failure, terminal};

/// Fails if trains are `asked` for but runs are made by the kernel engine, with exit code 2.
pub fn check_engine(asked: Option<TrainsArg>, engine: Engine) -> Result<(), Failure> {
    if asked.is_some() && engine == Engine::Kernel {
        return Err(Failure::usage(
            "`--trains` is an option of simulations (hint: leave out `--engine kernel`)",
        ));
    }
    Ok(())
}

/// Notes in the terminal that trains are an approximation, or why there are none.
pub fn announce(asked: TrainsArg, length: u32) {
    if length > 1 {
        terminal::note(&format!(
            "trains: up to {length} packets of a flow are simulated as one event, an approximation (hint: `lcmp-lab fidelity` \
             compares the run with one without `--trains`)"
        ));
    } else if asked == TrainsArg::Default {
        terminal::note(&format!("trains: {NONE_FITS}"));
    }
}

/// Returns the maximum length of trains for `plan` that `asked` means; 1, single packets, if it means the default and no
/// train fits.
/// Fails if trains cannot simulate the plan, or are too long for it, with exit code 2.
pub fn or_packets(asked: TrainsArg, plan: &Plan) -> Result<u32, Failure> {
    let is_default = asked == TrainsArg::Default && trains::refusal(plan).is_none();
    if is_default && trains::default_length(plan) == 1 {
        return Ok(1);
    }
    of(asked, plan)
}

/// Returns the maximum length of trains for `plan` that `asked` means.
/// Fails if trains cannot simulate the plan, are too long for it, or none fits, with exit code 2.
pub fn of(asked: TrainsArg, plan: &Plan) -> Result<u32, Failure> {
    let refused = |why: &str| Failure::usage(format_args!("`--trains`: {why}"));
    if asked == TrainsArg::PACKETS {
        return Ok(1);
    }
    if let Some(why) = trains::refusal(plan) {
        return Err(refused(&why));
    }
    let length = match asked {
        TrainsArg::Length(length) => length.get().into(),
        TrainsArg::Default => trains::default_length(plan),
    };
    if length == 1 {
        return Err(refused(NONE_FITS));
    }
    let longest = trains::longest(plan);
    if length > longest {
        return Err(refused(&format!(
            "a train of {length} packets is too long beside the queues: it may take a tenth of the smallest queue, or under \
             PFC the trains of all ports a fortieth of a switch's shared buffer, {longest} packets (hint: \
             `--trains={longest}`)"
        )));
    }
    Ok(length)
}

/// Explanation of a plan without a default length.
const NONE_FITS: &str = "no train of two packets fits into a hundredth of the median one-way delay at the NICs' rate, an \
     eighth of it at the rate of a path's slowest link, a tenth of the smallest queue and, under PFC, the trains' part of \
     the shared buffer, so `--trains` simulates single packets";
