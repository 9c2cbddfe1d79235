//! Test that the lists of kernel modules in three places are equal: in the doctor, in the guest, and in the
//! provisioning script.

use std::{collections::BTreeSet, fs, path::Path};

/// Reads the list with the name `list` in the provisioning script.
fn provisioned(list: &str) -> BTreeSet<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vagrant/provision.sh");
    let script = fs::read_to_string(script).unwrap();
    let start = format!("readonly {list}=(");
    let (_, rest) = script.split_once(&start).unwrap();
    let (words, _) = rest.split_once(')').unwrap();
    words.split_whitespace().map(str::to_owned).collect()
}

fn set<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn labs_need_the_same_modules_everywhere() {
    let tried = set(lab_kernel::doctor::kernel_modules());
    assert!(tried.contains("rdma_rxe"), "{tried:?}");
    assert_eq!(set(lab_guest::cache::LAB_MODULES.iter().copied()), tried);
    assert_eq!(provisioned("lab_modules"), tried);
}

#[test]
fn guests_boot_with_the_same_modules_everywhere() {
    let needed = set(lab_guest::cache::BOOT_MODULES.iter().copied());
    assert_eq!(provisioned("guest_modules"), needed);
}
