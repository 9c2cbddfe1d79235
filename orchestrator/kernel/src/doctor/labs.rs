//! Checks of existing labs, and of the slots for further labs.

use lab_plan::address::SLOTS;

use super::finding::{Finding, Requirement};
use crate::{
    journal::LabState,
    lab::{self, ReservationError},
    name::LabName,
};

pub(super) fn findings() -> [Finding; 2] {
    let labs = match lab::status() {
        Ok(labs) => existing(labs.iter().map(|lab| (&lab.lab, lab.state))),
        Err(error) => LABS.fail(error.to_string()),
    };
    [labs, slots(lab::free_slots())]
}

pub(super) fn existing<'a>(labs: impl Iterator<Item = (&'a LabName, LabState)> + Clone) -> Finding {
    let in_state = |state| {
        let those = labs.clone().filter(|lab| lab.1 == state);
        those.map(|lab| lab.0.to_string()).collect::<Vec<_>>()
    };
    let dead = in_state(LabState::Dead);
    if let [first, ..] = dead.as_slice() {
        let finding = LABS.warn(format!(
            "no process owns lab `{}` any more",
            dead.join("`, `")
        ));
        return finding.with_fix(format!("lcmp-lab down {first}"));
    }
    let unreadable = in_state(LabState::Unreadable);
    if let [first, ..] = unreadable.as_slice() {
        let finding = LABS.warn(format!(
            "the journal of lab `{}` cannot be read",
            unreadable.join("`, `")
        ));
        return finding.with_fix(format!("lcmp-lab down --forget {first}"));
    }
    let up = [LabState::Live, LabState::Kept, LabState::Private];
    let others = up.map(in_state).concat();
    LABS.ok(match others.as_slice() {
        [] => "no lab is up".to_owned(),
        others => format!("`{}` is up", others.join("`, `")),
    })
}

/// Checks that at least one of the [`SLOTS`] slots, each with an address block, is free. A lab in a guest also reserves
/// a slot on this machine, under which the lab's name and run are registered.
pub(super) fn slots(free: Result<usize, ReservationError>) -> Finding {
    let why = "10.0.0.0/8 is divided into blocks, and each lab takes one block";
    let about = Requirement("address blocks", why);
    match free {
        Ok(0) => {
            let what = format!("all {SLOTS} blocks are in use by labs or by this machine");
            about
                .fail(what)
                .with_fix("lcmp-lab status; ip -4 addr; ip rule")
        }
        Ok(free) => about.ok(format!("{free} of {SLOTS} blocks are free")),
        Err(error) => about.fail(error.to_string()),
    }
}

const LABS: Requirement = Requirement("labs", "labs compete for the machine's CPUs");
