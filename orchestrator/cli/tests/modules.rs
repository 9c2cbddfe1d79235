//! What a lab is made of is said in three places that cannot use one another: what the doctor tries,
//! what a guest's kernel must have, and what provisioning looks for before there is a program to ask.

use std::{collections::BTreeSet, fs, path::Path};

/// The words of a list in the provisioning script.
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
fn a_lab_is_made_of_the_same_modules_everywhere() {
    let tried = set(lab_kernel::doctor::kernel_modules());
    assert!(tried.contains("rdma_rxe"), "{tried:?}");
    assert_eq!(set(lab_guest::cache::LAB_MODULES.iter().copied()), tried);
    assert_eq!(provisioned("lab_modules"), tried);
}

#[test]
fn a_guest_boots_with_the_same_modules_everywhere() {
    let needed = set(lab_guest::cache::BOOT_MODULES.iter().copied());
    assert_eq!(provisioned("guest_modules"), needed);
}
