//! Checks that the C header in the tree is up to date.

use std::{env, fs, path::Path};

#[test]
fn the_header_in_the_tree_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ebpf/abi.h");
    let expected = lab_abi::header::abi_h();
    if env::var_os("UPDATE_ABI_H").is_some() {
        fs::write(&path, &expected).expect("the header can be written");
    }
    let found = fs::read_to_string(&path).expect("agents/ebpf/abi.h exists");
    assert!(
        found == expected,
        "agents/ebpf/abi.h is stale (hint: UPDATE_ABI_H=1 cargo test -p lab-abi --test abi_h)"
    );
}
