//! Hostile, damaged and truncated bundles: each is rejected, and nothing is written outside the target folder.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    io::{Cursor, Write},
    path::{Path, PathBuf},
};

use lab_bundle::{
    BUNDLE_FORMAT, BundleError, Limits, Manifest, Origin, PackedFile, manifest::Digester, pack,
    unpack,
};
use proptest::prelude::*;
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

fn origin() -> Origin {
    Origin {
        run: "20261122T101435Z-smoke-b0abe23e".to_owned(),
        tool_version: "0.1.0".to_owned(),
        tool_commit: "abc".to_owned(),
        started_at: 1_000,
    }
}

/// Smallest set of files that can be packed as a run.
const FILES: [(&str, &str); 4] = [
    ("figures/paths.csv", "a,b\n1,2\n"),
    ("flows.csv", "policy,repetition\necmp,0\n"),
    ("run.json", "{}\n"),
    ("summary.json", "{}\n"),
];

fn packed() -> Vec<u8> {
    let run = tempfile::tempdir().unwrap();
    fs::create_dir(run.path().join("figures")).unwrap();
    for (path, text) in FILES {
        fs::write(run.path().join(path), text).unwrap();
    }
    fs::write(run.path().join(".draft"), "left out").unwrap();
    let mut bundle = Vec::new();
    pack(run.path(), origin(), &mut bundle).unwrap();
    bundle
}

fn hash(text: &[u8]) -> String {
    let mut digester = Digester::default();
    digester.add(text);
    digester.hex()
}

fn listed(path: &str, text: &str) -> PackedFile {
    PackedFile {
        path: path.to_owned(),
        bytes: text.len() as u64,
        sha256: hash(text.as_bytes()),
    }
}

/// Entry of a hand-made tar archive.
struct Forged {
    path: String,
    kind: EntryType,
    text: String,
    link: &'static str,
}

fn file(path: &str, text: &str) -> Forged {
    Forged {
        path: format!("{}/{path}", origin().run),
        kind: EntryType::Regular,
        text: text.to_owned(),
        link: "",
    }
}

/// Returns a bundle with `manifest` and `entries`; the names of the entries are not checked.
fn forge(manifest: &serde_json::Value, entries: &[Forged]) -> Vec<u8> {
    let head = file("manifest.json", &manifest.to_string());
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    let mut tar = Builder::new(encoder);
    for entry in [&head].into_iter().chain(entries) {
        let mut header = Header::new_ustar();
        let name = &mut header.as_old_mut().name;
        name[..entry.path.len()].copy_from_slice(entry.path.as_bytes());
        header.as_old_mut().linkname[..entry.link.len()].copy_from_slice(entry.link.as_bytes());
        header.set_entry_type(entry.kind);
        header.set_size(entry.text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, entry.text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn manifest(files: &[PackedFile]) -> serde_json::Value {
    let manifest = Manifest {
        format: BUNDLE_FORMAT,
        origin: origin(),
        files: files.to_vec(),
    };
    serde_json::to_value(manifest).unwrap()
}

/// Temporary folder with a target for unpacking and a file next to the target that must stay unchanged.
struct Yard(TempDir);

impl Yard {
    fn new() -> Self {
        let yard = Self(tempfile::tempdir().unwrap());
        fs::write(yard.0.path().join("outside"), "untouched").unwrap();
        yard
    }

    fn target(&self) -> PathBuf {
        self.0.path().join("into")
    }

    fn names(&self) -> BTreeSet<OsString> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    }

    /// Unpacks `bundle`, and checks that nothing was written outside the target folder, and nothing at all if the
    /// bundle is rejected.
    fn unpack(&self, bundle: &[u8], limits: &Limits) -> Result<Manifest, BundleError> {
        let mut expected = self.names();
        let result = unpack(Cursor::new(bundle), &self.target(), limits);
        let outside = fs::read_to_string(self.0.path().join("outside")).unwrap();
        assert_eq!(outside, "untouched");
        if result.is_ok() {
            expected.insert("into".into());
        }
        assert_eq!(self.names(), expected);
        result
    }
}

#[track_caller]
fn refused(bundle: &[u8]) -> String {
    let error = Yard::new().unpack(bundle, &Limits::default()).unwrap_err();
    assert!(!error.is_of_machine(), "{error}");
    error.to_string()
}

fn content(folder: &Path) -> Vec<(&'static str, String)> {
    let read =
        |(path, _): &(&'static str, &str)| (*path, fs::read_to_string(folder.join(path)).unwrap());
    FILES.iter().map(read).collect()
}

#[test]
fn a_bundle_is_unpacked_as_it_was() {
    let yard = Yard::new();
    let bundle = packed();
    let manifest = yard.unpack(&bundle, &Limits::default()).unwrap();
    let expected = FILES.map(|(path, text)| listed(path, text));
    assert_eq!(manifest.files, expected);
    let texts = FILES.map(|(path, text)| (path, text.to_owned()));
    assert_eq!(content(&yard.target()), texts);
    assert_eq!(bundle, packed(), "the same run gives the same bytes");
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for path in [
        "../outside",
        "/outside",
        "figures/../../outside",
        "figures/a/b",
        "./flows.csv",
        "figures//a",
        ".hidden",
        "-rf",
        "a b",
        "",
        "manifest.json",
        "figures\\a",
        "fl\u{f6}ws.csv",
    ] {
        let bundle = forge(&manifest(&[listed(path, "x")]), &[file(path, "x")]);
        let text = refused(&bundle);
        assert!(text.contains("is not a valid file name"), "{path}: {text}");
    }
    // The manifest is valid, but the archive contains another name.
    let list = manifest(&[listed("flows.csv", "x")]);
    for name in ["../outside", "/outside", "other/flows.csv"] {
        let entry = Forged {
            path: name.to_owned(),
            ..file("flows.csv", "x")
        };
        assert!(
            refused(&forge(&list, &[entry])).contains("the bundle has `"),
            "{name}"
        );
    }
    let mut elsewhere = manifest(&[]);
    elsewhere["origin"]["run"] = "..".into();
    assert!(refused(&forge(&elsewhere, &[])).contains("is not a valid file name"));
}

#[test]
fn only_regular_files_are_unpacked() {
    for (kind, word) in [
        (EntryType::Symlink, "symlink"),
        (EntryType::Link, "link"),
        (EntryType::Char, "char"),
        (EntryType::Block, "block"),
        (EntryType::Fifo, "fifo"),
        (EntryType::Directory, "directory"),
        (EntryType::GNULongName, "gnulongname"),
        (EntryType::XHeader, "xheader"),
        (EntryType::GNUSparse, "gnusparse"),
    ] {
        let entry = Forged {
            kind,
            link: "../outside",
            ..file("flows.csv", "")
        };
        let text = refused(&forge(&manifest(&[listed("flows.csv", "")]), &[entry]));
        assert!(
            text.ends_with(&format!("not a regular file but {word}")),
            "{text}"
        );
    }
}

#[test]
fn an_archive_holds_what_its_manifest_says_and_nothing_else() {
    let a = listed("a", "1");
    let b = listed("b", "2");
    let list = || manifest(&[a.clone(), b.clone()]);
    let is = |bundle: Vec<u8>, words: &str| {
        let text = refused(&bundle);
        assert!(text.contains(words), "{text}");
    };
    is(forge(&list(), &[file("a", "1")]), "`b` is missing");
    is(
        forge(&list(), &[file("b", "2"), file("a", "1")]),
        "/b` where its manifest lists `a`",
    );
    let twice = [file("a", "1"), file("a", "1")];
    is(forge(&list(), &twice), "/a` where its manifest lists `b`");
    let third = [file("a", "1"), file("b", "2"), file("c", "3")];
    is(
        forge(&list(), &third),
        "/c` where its manifest lists `its end`",
    );
    is(
        forge(&list(), &[file("a", "x"), file("b", "2")]),
        "its SHA-256 is",
    );
    is(
        forge(&list(), &[file("a", "12"), file("b", "2")]),
        "2 bytes of",
    );
    is(
        forge(&manifest(&[a.clone(), a.clone()]), &[]),
        "names must be unique",
    );
    is(
        forge(&manifest(&[b.clone(), a.clone()]), &[]),
        "unique and sorted",
    );
    let mut other = list();
    other["origin"]["run"] = "other".into();
    is(forge(&other, &[]), "where its manifest lists `other`");
}

#[test]
fn other_formats_and_sizes_are_refused() {
    let mut newer = manifest(&[]);
    newer["format"] = 2.into();
    newer["unheard-of"] = true.into();
    let text = refused(&forge(&newer, &[]));
    assert!(
        text.contains("format 2") && text.contains("update lcmp-lab"),
        "{text}"
    );
    let mut odd = manifest(&[]);
    odd["more"] = 1.into();
    assert!(refused(&forge(&odd, &[])).contains("unknown field `more`"));

    let huge = PackedFile {
        bytes: u64::MAX,
        ..listed("a", "")
    };
    let text = refused(&forge(
        &manifest(&[
            huge.clone(),
            PackedFile {
                path: "b".into(),
                ..huge
            },
        ]),
        &[],
    ));
    assert!(
        text.contains("bytes of the bundle: 18446744073709551615"),
        "{text}"
    );
    let few = Limits {
        files: 3,
        ..Limits::default()
    };
    let error = Yard::new().unpack(&packed(), &few).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("number of files of the bundle: 4; at most 3"),
        "{error}"
    );
    let short = Limits {
        manifest: 100,
        ..Limits::default()
    };
    let error = Yard::new().unpack(&packed(), &short).unwrap_err();
    assert!(
        error.to_string().contains("bytes of `manifest.json`"),
        "{error}"
    );
}

/// A bundle of 32 kB can hold a gigabyte of zeros, so the unpacked size in the manifest is compared with the bundle's
/// size before the first file is read.
#[test]
fn a_bundle_unfolds_in_proportion_to_its_size() {
    let zeros = "0".repeat(1 << 20);
    let bundle = forge(&manifest(&[listed("a", &zeros)]), &[file("a", &zeros)]);
    assert!(bundle.len() < 2_000, "{}", bundle.len());
    let unfolded = |expansion| {
        let limits = Limits {
            expansion,
            any_size: 0,
            ..Limits::default()
        };
        Yard::new().unpack(&bundle, &limits)
    };
    assert!(unfolded(10_000).is_ok());
    let error = unfolded(100).unwrap_err();
    let words = format!(
        "bytes of the bundle: 1048576; at most {} are",
        bundle.len() * 100
    );
    assert!(error.to_string().contains(&words), "{error}");
}

#[test]
fn a_window_that_takes_memory_is_refused() {
    let packed_with = |window| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(window).unwrap();
        encoder
            .write_all(&zstd::decode_all(&packed()[..]).unwrap())
            .unwrap();
        encoder.finish().unwrap()
    };
    let unpacked = Yard::new().unpack(&packed_with(21), &Limits::default());
    assert!(unpacked.is_ok(), "{unpacked:?}");
    assert!(refused(&packed_with(27)).contains("damaged"));
}

#[test]
fn bytes_after_the_end_are_refused() {
    let mut bundle = packed();
    bundle.extend(packed());
    assert!(refused(&bundle).contains("more bytes"));
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder
        .write_all(&zstd::decode_all(&packed()[..]).unwrap())
        .unwrap();
    encoder.write_all(&[0, 0, 7]).unwrap();
    assert!(refused(&encoder.finish().unwrap()).contains("more bytes"));
    for text in [&b""[..], b"no bundle", b"PK\x03\x04"] {
        assert!(refused(text).contains("damaged, truncated or not a bundle"));
    }
}

#[test]
fn a_folder_that_exists_is_not_unpacked_into() {
    let yard = Yard::new();
    fs::create_dir(yard.target()).unwrap();
    let error = yard.unpack(&packed(), &Limits::default()).unwrap_err();
    assert!(error.is_of_machine(), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// A changed byte at any position is detected, or does not affect the unpacked files.
    #[test]
    fn a_changed_byte_is_found_or_harmless(at: prop::sample::Index, flip in 1_u8..) {
        let mut bundle = packed();
        let at = at.index(bundle.len());
        bundle[at] ^= flip;
        let yard = Yard::new();
        if let Ok(manifest) = yard.unpack(&bundle, &Limits::default()) {
            prop_assert_eq!(manifest.files, FILES.map(|(path, text)| listed(path, text)));
            let texts = FILES.map(|(path, text)| (path, text.to_owned()));
            prop_assert_eq!(content(&yard.target()), texts);
        }
    }

    /// A changed byte of the decompressed tar archive is also detected or harmless, although tar has no checksum over
    /// all bytes.
    #[test]
    fn a_changed_byte_of_the_archive_is_found_or_harmless(at: prop::sample::Index, flip in 1_u8..) {
        let mut tar = zstd::decode_all(&packed()[..]).unwrap();
        let at = at.index(tar.len());
        tar[at] ^= flip;
        let bundle = zstd::encode_all(&tar[..], 1).unwrap();
        let yard = Yard::new();
        if yard.unpack(&bundle, &Limits::default()).is_ok() {
            let texts = FILES.map(|(path, text)| (path, text.to_owned()));
            prop_assert_eq!(content(&yard.target()), texts);
        }
    }

    #[test]
    fn a_cut_bundle_is_refused(at: prop::sample::Index) {
        let bundle = packed();
        refused(&bundle[..at.index(bundle.len())]);
    }
}
