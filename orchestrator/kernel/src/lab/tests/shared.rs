//! Test of damage to the record of machine state that labs share.

use std::fs;

use super::{left, up, without_a_trace};
use crate::{journal, lower::HostPlacement, step::Step, testing};

/// The record of shared sysctls contains the values from before the first lab, and so do the labs' journals.
#[test]
fn a_damaged_record_is_made_again_and_restores_the_machine() {
    for damage in ["", "{", "{\"sysctls\":{}}", "[]"] {
        without_a_trace(|before| {
            let path = journal::base().join("shared");
            let mut first = up("a", HostPlacement::OwnNamespace, testing::pair);
            first.apply(&[raise(RAISED)]).unwrap();
            let whole = fs::read(&path).unwrap();
            fs::write(&path, damage).unwrap();
            // A later lab must not mistake the raised value for the machine's original value.
            let mut second = up("b", HostPlacement::OwnNamespace, testing::pair);
            second.apply(&[raise(RAISED)]).unwrap();
            fs::write(&path, damage).unwrap();
            assert_eq!(left(second.down()), Vec::<String>::new());
            assert_eq!(fs::read(&path).unwrap(), whole, "{damage}");
            fs::write(&path, damage).unwrap();
            assert_eq!(left(first.down()), Vec::<String>::new());
            // The damaged file is kept under another name.
            let aside: Vec<_> = fs::read_dir(journal::base())
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.to_string_lossy().contains("shared.damaged-"))
                .collect();
            assert!(!aside.is_empty());
            aside.iter().for_each(|path| fs::remove_file(path).unwrap());
            // The last lab removes the directory of labs once it is empty.
            journal::MachineLock::take().unwrap();
            before.assert_unchanged();
        });
    }
}

fn raise(at_least: u64) -> Step {
    Step::SharedSysctl {
        key: KEY.to_owned(),
        at_least,
    }
}

/// Sysctl that belongs to the isolated machine's network namespace.
const KEY: &str = "net.core.somaxconn";
/// Raised value, more than the kernel's default of 4,096.
const RAISED: u64 = 100_000;
