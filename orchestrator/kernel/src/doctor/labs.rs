//! Existing labs, and slots for further ones.

use lab_plan::address::SLOTS;

use super::finding::Finding;
use crate::{
    journal::LabState,
    lab::{self, ReservationError},
    name::LabName,
};

pub(super) fn findings() -> [Finding; 2] {
    let labs = match lab::status() {
        Ok(labs) => existing(labs.iter().map(|lab| (&lab.lab, lab.state))),
        Err(error) => Finding::fail("labs", error.to_string(), WHY),
    };
    [labs, slots(lab::free_slots())]
}

fn existing<'a>(labs: impl Iterator<Item = (&'a LabName, LabState)> + Clone) -> Finding {
    let in_state = |state| {
        let those = labs.clone().filter(|lab| lab.1 == state);
        those.map(|lab| lab.0.to_string()).collect::<Vec<_>>()
    };
    let dead = in_state(LabState::Dead);
    if let [first, ..] = dead.as_slice() {
        let what = format!("`{}` has no owner any more", dead.join("`, `"));
        return Finding::warn("labs", what, WHY).with_fix(format!("lcmp-lab down {first}"));
    }
    let others = [in_state(LabState::Live), in_state(LabState::Kept)].concat();
    match others.as_slice() {
        [] => Finding::ok("labs", "none is up", WHY),
        others => Finding::ok("labs", format!("`{}` is up", others.join("`, `")), WHY),
    }
}

/// A lab in a guest takes a slot too, so that its name and its run are known here.
fn slots(free: Result<usize, ReservationError>) -> Finding {
    let (subject, why) = (
        "address blocks",
        "10.0.0.0/8 is cut into blocks, each lab takes one",
    );
    match free {
        Ok(0) => {
            let what = format!("each of {SLOTS} is in use by a lab or by this machine");
            Finding::fail(subject, what, why).with_fix("lcmp-lab status; ip -4 addr; ip rule")
        }
        Ok(free) => Finding::ok(subject, format!("{free} of {SLOTS} are free"), why),
        Err(error) => Finding::fail(subject, error.to_string(), why),
    }
}

const WHY: &str = "labs share the machine's CPUs, and their time";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn a_dead_lab_comes_with_the_command_that_removes_it() {
        let names: [LabName; 2] = ["8dc".parse().unwrap(), "smoke".parse().unwrap()];
        let of = |states: &[LabState]| existing(names.iter().zip(states.iter().copied()));
        assert_eq!(of(&[]).what, "none is up");
        let kept = of(&[LabState::Kept]);
        assert_eq!((kept.level, kept.what.as_str()), (Level::Ok, "`8dc` is up"));
        let dead = of(&[LabState::Kept, LabState::Dead]);
        assert_eq!(dead.level, Level::Warn);
        assert_eq!(dead.fix.as_deref(), Some("lcmp-lab down smoke"));
    }

    #[test]
    fn a_machine_without_a_free_slot_fails() {
        assert_eq!(slots(Ok(16)).what, "16 of 16 are free");
        let none = slots(Ok(0));
        assert_eq!(none.level, Level::Fail);
        assert!(none.fix.is_some());
        assert_eq!(slots(Err(ReservationError::NoSlot)).level, Level::Fail);
    }
}
