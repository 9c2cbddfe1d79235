//! Weights that are part of the program.
//!
//! Each file is the output of `lcmp-lab train SCENARIO --trainer TRAINER -o FILE` for the built-in scenario that its
//! header names, with otherwise default options.

use lab_units::Trainer;

/// Returns the weight file for a topology, given by its [`fingerprint`](crate::fingerprint()); `None` if the program
/// has no weights by this trainer.
#[must_use]
pub fn find(trainer: Trainer, topology: &str) -> Option<&'static str> {
    let is_of = |text: &&&str| {
        // The header is the second line, and a hash of 64 digits occurs nowhere else in it.
        let header = text.lines().nth(1).unwrap_or_default();
        header.contains(topology) && header.contains(&format!("\"trainer\":\"{trainer}\""))
    };
    ALL.iter().find(is_of).copied()
}

/// All weight files.
pub const ALL: &[&str] = &[
    include_str!("../weights/8dc.redte"),
    include_str!("../weights/fig5-50.redte"),
    include_str!("../weights/13dc.redte"),
    include_str!("../weights/te.redte"),
    include_str!("../weights/te.redte-direct"),
    include_str!("../weights/te.static"),
];
