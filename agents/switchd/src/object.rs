//! Checks of a user's own eBPF object before it is loaded.
//!
//! The kernel's verifier checks the code. A missing map or an incompatible license is checked here, because the
//! kernel's messages do not name them.

use std::{
    io,
    panic::{self, AssertUnwindSafe, catch_unwind},
    path::Path,
};

use aya_obj::{Object, ProgramSection, generated::bpf_map_type};
use lab_files::Links;

use crate::maps::{FLOWS, MAPS, MapShape};

/// Maximum size of an object in bytes; the agent's own object has 35 kB.
pub const MAX_OBJECT_BYTES: u64 = 1 << 20;

/// Licenses under which the kernel permits the helper functions that switch programs call.
///
/// <https://github.com/torvalds/linux/blob/v6.1/include/linux/license.h>
const GPL_COMPATIBLE: [&str; 6] = [
    "GPL",
    "GPL v2",
    "GPL and additional rights",
    "Dual BSD/GPL",
    "Dual MIT/GPL",
    "Dual MPL/GPL",
];

/// Reason why a file is not a switch program.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    #[error("cannot read it: {0}")]
    Read(#[from] io::Error),
    #[error("not a BPF object: {why} (hint: agents/ebpf/build.sh SOURCE.c OBJECT.o)")]
    NotAnObject { why: String },
    #[error(
        "the license `{license}` is not compatible with the GPL (hint: `char LICENSE[] \
         SEC(\"license\") = \"GPL\";`)"
    )]
    License { license: String },
    #[error(
        "no program `{PROGRAM}` in the section `classifier` (hint: include switch.bpf.h and \
         define decide())"
    )]
    NoProgram,
    #[error("no map `{map}` (hint: include switch.bpf.h)")]
    NoMap { map: &'static str },
    #[error(
        "the map `{map}` has {what} of {found}, but the agent's map has {expected} (hint: build it against \
         this version's abi.h)"
    )]
    OtherMap {
        map: &'static str,
        what: &'static str,
        found: u32,
        expected: u32,
    },
}

/// Reads and checks a user's own switch program.
pub fn read_object(path: &Path) -> Result<Vec<u8>, ObjectError> {
    let object = lab_files::read(path, Links::Follow, MAX_OBJECT_BYTES)?;
    check(&object)?;
    Ok(object)
}

fn check(bytes: &[u8]) -> Result<(), ObjectError> {
    let parsed = without_panic(|| Object::parse(bytes).map_err(|error| error.to_string()));
    let object = parsed
        .flatten()
        .map_err(|why| ObjectError::NotAnObject { why })?;
    let license = object.license.to_string_lossy();
    if !GPL_COMPATIBLE.contains(&license.as_ref()) {
        let license = license.into_owned();
        return Err(ObjectError::License { license });
    }
    let program = object.programs.get(PROGRAM);
    let is_classifier =
        program.is_some_and(|program| matches!(program.section, ProgramSection::SchedClassifier));
    if !is_classifier {
        return Err(ObjectError::NoProgram);
    }
    MAPS.iter().try_for_each(|shape| check_map(&object, shape))
}

fn check_map(object: &Object, shape: &MapShape) -> Result<(), ObjectError> {
    let name = shape.name;
    let map = object
        .maps
        .get(name)
        .ok_or(ObjectError::NoMap { map: name })?;
    let size = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    let entries = match name {
        // The configuration determines the number of rows of the flow table.
        FLOWS => map.max_entries(),
        _ => shape.entries,
    };
    let mut facts = [
        ("a type", map.map_type(), kind(name)),
        ("keys", map.key_size(), size(shape.key_bytes)),
        ("values", map.value_size(), size(shape.value_bytes)),
        ("a size", map.max_entries(), entries),
    ]
    .into_iter();
    match facts.find(|(_, found, expected)| found != expected) {
        None => Ok(()),
        Some((what, found, expected)) => Err(ObjectError::OtherMap {
            map: name,
            what,
            found,
            expected,
        }),
    }
}

/// Runs a step of the loader, which panics on some damaged objects; a panic becomes an error with its message.
fn without_panic<T>(step: impl FnOnce() -> T) -> Result<T, String> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(step));
    panic::set_hook(hook);
    result.map_err(|panic| match panic.downcast::<String>() {
        Ok(message) => format!("the eBPF loader panicked: {message}"),
        Err(_) => "the eBPF loader panicked".to_owned(),
    })
}

/// Returns the type number that the kernel requires for the map `name`.
fn kind(name: &str) -> u32 {
    let kind = match name {
        FLOWS => bpf_map_type::BPF_MAP_TYPE_HASH,
        "destinations" => bpf_map_type::BPF_MAP_TYPE_LPM_TRIE,
        "decisions" => bpf_map_type::BPF_MAP_TYPE_RINGBUF,
        "table" => bpf_map_type::BPF_MAP_TYPE_ARRAY,
        _ => bpf_map_type::BPF_MAP_TYPE_PERCPU_ARRAY,
    };
    kind as u32
}

/// Name that every switch program must have.
pub(crate) const PROGRAM: &str = "switch_ingress";

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::program::OBJECT;

    fn object(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../ebpf/{name}.bpf.o"))
    }

    /// Returns the agent's own object with the bytes `from` replaced by `to`.
    fn changed(from: &[u8], to: &[u8]) -> Vec<u8> {
        assert_eq!(from.len(), to.len());
        let mut bytes = OBJECT.to_vec();
        let offsets: Vec<_> = (0..bytes.len() - from.len())
            .filter(|&at| bytes[at..].starts_with(from))
            .collect();
        assert!(!offsets.is_empty());
        for at in offsets {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
        bytes
    }

    #[test]
    fn the_agents_own_program_and_the_examples_are_switch_programs() {
        check(OBJECT).expect("the agent's own");
        for name in ["examples/delay-only", "examples/two-choice"] {
            read_object(&object(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn a_file_that_is_no_object_is_refused() {
        let error = check(b"#!/bin/sh\n").expect_err("a script").to_string();
        assert!(error.starts_with("not a BPF object: "), "{error}");
        for (path, expected) in [
            ("/nowhere/own.o", "cannot read it: "),
            ("/tmp", "cannot read it: it is a directory"),
            ("/dev/zero", "cannot read it: it is a pipe or a device"),
            ("/proc/self/status", "cannot read it: it is a kernel file"),
        ] {
            let error = read_object(Path::new(path)).expect_err(path).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn damaged_objects_are_refused_without_a_panic() {
        let mut random = 1u64;
        let mut panics = 0;
        let mut below = |bound: usize| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(random >> 33).expect("31 bits") % bound
        };
        for _ in 0..3_000 {
            let mut bytes = OBJECT.to_vec();
            for _ in 0..=below(4) {
                let at = below(bytes.len());
                bytes[at] = u8::try_from(below(256)).expect("a byte");
            }
            if below(8) == 0 {
                bytes.truncate(below(bytes.len()));
            }
            let refused = check(&bytes).err();
            panics +=
                u32::from(refused.is_some_and(|error| error.to_string().contains("panicked")));
        }
        assert!(panics > 0, "no object reached a panic of the loader");
    }

    #[test]
    fn a_license_that_the_kernel_would_refuse_is_named() {
        let error = check(&changed(b"GPL\0", b"MIT\0"))
            .expect_err("not GPL")
            .to_string();
        assert!(error.starts_with("the license `MIT` is"), "{error}");
    }

    #[test]
    fn a_missing_program_or_map_is_named() {
        let error = check(&changed(b"switch_ingress\0", b"switch_egress_\0"));
        assert!(matches!(error, Err(ObjectError::NoProgram)), "{error:?}");
        let error = check(&changed(b"\0demands\0", b"\0demandz\0"));
        let missing = matches!(error, Err(ObjectError::NoMap { map: "demands" }));
        assert!(missing, "{error:?}");
    }

    #[test]
    fn measuring_programs_are_no_switch_programs() {
        let error = read_object(&object("bench")).expect_err("it forwards nothing");
        assert!(matches!(error, ObjectError::NoProgram), "{error}");
    }

    #[test]
    fn a_damaged_object_is_read_or_refused() {
        lab_fuzz::fuzz("object of a switch program", &[OBJECT], |bytes| {
            check(bytes).is_ok()
        });
    }
}
