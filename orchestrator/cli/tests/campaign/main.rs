//! Campaign of attacks on labs. Whatever ends a run, at whatever time: every flow that was shown as ended has a row,
//! all records can be read, no object of the lab remains, and no foreign object is removed.
//!
//! - `attack`: an attack and its moment, generated from a seed
//! - `target`: the attacked run, in a guest or on this kernel
//! - `decoy`: foreign objects, which no attack may affect
//! - `neighbour`: another lab that stays up, and another user who tries to damage it
//! - `ledger`: results of attacks, as a table and as a file from which a campaign can continue

#[path = "../common/mod.rs"]
mod common;

mod attack;
mod decoy;
mod ledger;
mod neighbour;
mod target;

use std::{
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

use self::{
    attack::{Attack, AttackedLab},
    common::{root, skips_without_a_lab},
    decoy::Decoy,
    ledger::Ledger,
    neighbour::Neighbour,
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
        &[(AttackedLab::Kernel, 18), (AttackedLab::Guest, 2)],
        seed(),
    );
    judge(&ledger, seed());
}

/// Environment variables: `LCMP_LAB_ATTACKS` is the number of attacks on guests (default 100); the same number is made
/// on labs on this kernel, and a fifth of it on labs on a guest's kernel. `LCMP_LAB_SEED` is the seed (1).
/// `LCMP_LAB_LEDGER` is a file for the results, from which a later campaign continues.
#[test]
#[ignore = "it takes an hour"]
fn a_campaign_of_attacks_loses_no_row_and_leaves_nothing() {
    if skips_without_a_lab("a_campaign_of_attacks_loses_no_row_and_leaves_nothing") {
        return;
    }
    let _alone = alone();
    let count = number("LCMP_LAB_ATTACKS").unwrap_or(100);
    if lab_guest::inside::is_inside() {
        // In a guest, the results are only printed; the campaign that booted the guest judges them.
        return run(
            &mut Ledger::default(),
            &[(AttackedLab::Native, count)],
            seed(),
        );
    }
    let mut ledger = match env::var_os("LCMP_LAB_LEDGER") {
        Some(path) => Ledger::go_on(path.into()),
        None => Ledger::default(),
    };
    let neighbour = Neighbour::up();
    run(
        &mut ledger,
        &[(AttackedLab::Guest, count), (AttackedLab::Kernel, count)],
        seed(),
    );
    neighbour.assert_unharmed();
    if ledger.count(AttackedLab::Native) < count / 5 {
        run_in_a_guest(&mut ledger, count / 5);
    }
    judge(&ledger, seed());
}

/// Boots a guest, runs the campaign on labs on its kernel, and adds the results.
fn run_in_a_guest(ledger: &mut Ledger, count: u64) {
    let test = env::current_exe().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let guest = test.ancestors().nth(2).unwrap().join("examples/guest");
    let mut run = Command::new(guest)
        .arg(folder.path().join("console.log"))
        .args(["/usr/bin/env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"])
        .arg(format!("LCMP_LAB_SEED={}", seed()))
        .arg(format!("LCMP_LAB_ATTACKS={count}"))
        .arg(&test)
        .args([
            "a_campaign_of_attacks_loses_no_row_and_leaves_nothing",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for line in BufReader::new(run.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        eprintln!("{line}");
        ledger.add_said(&line);
    }
    assert!(run.wait().unwrap().success());
}

/// Runs the requested number of attacks on each kind of lab.
fn run(ledger: &mut Ledger, attacks: &[(AttackedLab, u64)], seed: u64) {
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
            ledger.add(&attack, result);
        }
    }
}

/// Prints the table of results, and fails if any attack caused damage.
fn judge(ledger: &Ledger, seed: u64) {
    eprintln!("{}", ledger.table());
    let failures = ledger.failures();
    assert!(failures.is_empty(), "seed {seed}:\n{}", failures.join("\n"));
}

/// Waits until no other test in this file runs, because the tests use the same lab names and check for left-over
/// objects.
fn alone() -> MutexGuard<'static, ()> {
    static TESTS: Mutex<()> = Mutex::new(());
    TESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn seed() -> u64 {
    number("LCMP_LAB_SEED").unwrap_or(1)
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().expect("the variable is a number"))
}

/// Returns a command of the program for the lab `lab`.
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
    let target = Target::new(AttackedLab::Guest);
    let (out, harm) = target.fill_disk();
    assert_eq!(out.exit, Some(5), "{out:?}");
    assert!(out.stderr.contains("free space"), "{out:?}");
    for part in ["No space left on device", "flows are kept"] {
        assert!(out.stderr.contains(part), "{part}: {out:?}");
    }
    assert!(harm.shown > 0 && harm.kept >= harm.shown, "{harm:?}");
    assert_eq!((harm.left.as_slice(), &harm.unreadable), (&[][..], &None));
}
