//! Campaign of attacks on labs: whatever ends a run at whatever moment, no flow is lost that was shown as
//! ended, what is left is read, and nothing of the lab stays behind or is missing beside it.
//!
//! - `attack`: an attack and its moment, as drawn from a seed
//! - `target`: the run that is attacked, in a guest or on this kernel
//! - `decoy`: objects of somebody else, which no attack may touch
//! - `ledger`: results of attacks, as a table and as a file to go on from

#[path = "../common/mod.rs"]
mod common;

mod attack;
mod decoy;
mod ledger;
mod target;

use std::{
    env,
    path::Path,
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
};

use self::{
    attack::{Attack, Place},
    common::{Outcome, root, skips_without_a_lab},
    decoy::Decoy,
    ledger::Ledger,
    target::Target,
};

#[test]
fn a_few_attacks_lose_no_row_and_leave_nothing() {
    if skips_without_a_lab("a_few_attacks_lose_no_row_and_leave_nothing") {
        return;
    }
    let _alone = alone();
    let mut ledger = Ledger::default();
    run(
        &mut ledger,
        &[(Place::Kernel, 18), (Place::Guest, 2)],
        seed(),
    );
}

/// `LCMP_LAB_ATTACKS` is the number of attacks on guests (100), with as many on labs of this kernel;
/// `LCMP_LAB_SEED` the seed (1); `LCMP_LAB_LEDGER` a file of results, which a later campaign goes on from.
#[test]
#[ignore = "it takes an hour"]
fn a_campaign_of_attacks_loses_no_row_and_leaves_nothing() {
    if skips_without_a_lab("a_campaign_of_attacks_loses_no_row_and_leaves_nothing") {
        return;
    }
    let _alone = alone();
    let count = number("LCMP_LAB_ATTACKS").unwrap_or(100);
    let mut ledger = match env::var_os("LCMP_LAB_LEDGER") {
        Some(path) => Ledger::go_on(path.into()),
        None => Ledger::default(),
    };
    let neighbour = Neighbour::up();
    run(
        &mut ledger,
        &[(Place::Guest, count), (Place::Kernel, count)],
        seed(),
    );
    neighbour.assert_unharmed();
}

/// Attacks as often as asked at each place, prints the table and fails on any loss.
fn run(ledger: &mut Ledger, attacks: &[(Place, u64)], seed: u64) {
    let decoy = Decoy::new();
    for &(place, count) in attacks {
        let target = Target::new(place).timed();
        for number in 0..count {
            let attack = Attack::draw(place, number, seed);
            if ledger.has(&attack) {
                continue;
            }
            let result = target.attack(&attack);
            decoy.assert_untouched();
            ledger.add(attack, result);
        }
    }
    eprintln!("{}", ledger.table());
    let failures = ledger.failures();
    assert!(failures.is_empty(), "seed {seed}:\n{}", failures.join("\n"));
}

/// Waits until no other test of this file runs: they share the labs' names, and look for what is left.
fn alone() -> MutexGuard<'static, ()> {
    static TESTS: Mutex<()> = Mutex::new(());
    TESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn seed() -> u64 {
    number("LCMP_LAB_SEED").unwrap_or(1)
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().expect("it is a number"))
}

/// Lab of another user of this machine, kept in a guest while others are attacked.
struct Neighbour {
    results: tempfile::TempDir,
}

impl Neighbour {
    const LAB: &'static str = "campaign-kept";

    fn up() -> Self {
        let results = tempfile::tempdir().unwrap();
        let neighbour = Self { results };
        let words = ["up", "--guest", "--keep", "--policies", "ecmp"];
        let up = neighbour.run(&[&words[..], &["scenarios/smoke.yaml"]].concat());
        assert_eq!(up.exit, Some(0), "{up:?}");
        neighbour
    }

    fn run(&self, words: &[&str]) -> Outcome {
        lcmp_lab(Self::LAB, self.results.path(), words)
            .output()
            .unwrap()
            .into()
    }

    fn assert_unharmed(&self) {
        let out = self.run(&["exec", "dc1", "--", "echo", "here"]);
        assert_eq!(
            (out.exit, out.stdout.as_str()),
            (Some(0), "here\n"),
            "{out:?}"
        );
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.run(&["down", Self::LAB]);
    }
}

/// Returns the command for a lab.
fn lcmp_lab(lab: &str, results: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lcmp-lab"));
    command
        .current_dir(root())
        .env("LCMP_LAB_RESULTS", results)
        .env("LCMP_LAB_LAB", lab)
        .args(words);
    command
}

#[test]
fn a_disk_that_fills_ends_the_run_with_its_rows() {
    let test = "a_disk_that_fills_ends_the_run_with_its_rows";
    if skips_without_a_lab(test) || !nix::unistd::geteuid().is_root() {
        return;
    }
    let _alone = alone();
    let target = Target::new(Place::Guest);
    let (out, harm) = target.fill_disk();
    assert_eq!(out.exit, Some(3), "{out:?}");
    for part in ["No space left on device", "flows are kept"] {
        assert!(out.stderr.contains(part), "{part}: {out:?}");
    }
    assert!(harm.shown > 0 && harm.kept >= harm.shown, "{harm:?}");
    assert_eq!((harm.left.as_slice(), &harm.unreadable), (&[][..], &None));
}
