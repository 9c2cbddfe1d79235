//! Test that a type's name means one thing: few crates declare types of one name.
//!
//! A name that many crates give to types of their own tells nothing: a reader has to look up the crate of each
//! `Outcome` or `Row` that a file mentions. Two crates may share a word where each has its side of one thing, such as
//! the written and the resolved form of a link.

mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use self::sources::{files, root};

/// Maximum number of crates that declare a type of one name.
const MAX_CRATES: usize = 2;

/// Names that more than [`MAX_CRATES`] crates may declare, each with the reason.
const EXCEPTIONS: [(&str, &str); 1] = [(
    "Outcome",
    "the outcome of a run is recorded and simulated, and most of the command's files return the outcome of a verb",
)];

/// Minimum number of different names in the workspace; fewer names mean that declarations were not found.
const MIN_NAMES: usize = 1_000;

#[test]
fn a_name_is_not_given_to_types_of_many_crates() {
    let crates = crates_by_name();
    assert!(crates.len() >= MIN_NAMES, "{} names", crates.len());
    let shared: BTreeMap<&str, &BTreeSet<String>> = crates
        .iter()
        .filter(|(_, crates)| crates.len() > MAX_CRATES)
        .map(|(name, crates)| (name.as_str(), crates))
        .collect();
    let is_known = |name: &str| EXCEPTIONS.iter().any(|(known, _)| *known == name);
    let found: Vec<String> = shared
        .iter()
        .filter(|(name, _)| !is_known(name))
        .map(|(name, crates)| format!("{name}: {crates:?}"))
        .collect();
    assert!(
        found.is_empty(),
        "types of more than {MAX_CRATES} crates have one name (hint: give all but one a name that says what they \
         are):\n{}",
        found.join("\n")
    );
    for (name, reason) in EXCEPTIONS {
        assert!(
            shared.contains_key(name),
            "`{name}` needs no exception any more ({reason})"
        );
    }
}

#[test]
fn declarations_of_types_are_found() {
    let names = |text| declared(text).collect::<Vec<_>>();
    assert_eq!(names("pub struct A<T>(T);\n"), ["A"]);
    assert_eq!(names("    pub(super) enum B {\n"), ["B"]);
    assert_eq!(names("unsafe trait C: Sized {}\ntrait D {}\n"), ["C", "D"]);
    assert_eq!(names("// struct E;\n/// enum F;\nfn g() {}\n"), [""; 0]);
    assert_eq!(names("pub type G = u32;\n    type H = u32;\n"), ["G"]);
    assert_eq!(names("        pub struct $name {\n"), [""; 0]);
    assert_eq!(
        names("#[cfg(test)]\nmod tests {\n    struct I;\n}\n"),
        [""; 0]
    );
}

/// Returns the crates that declare a type, by its name; types of tests, benchmarks and examples are left out.
fn crates_by_name() -> BTreeMap<String, BTreeSet<String>> {
    let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
    for path in files("rs") {
        let text = fs::read_to_string(&path).unwrap();
        texts.insert(path, text);
    }
    let tests: Vec<PathBuf> = texts
        .iter()
        .flat_map(|(path, text)| test_modules(path, text))
        .collect();
    let mut crates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in &texts {
        let is_test = tests
            .iter()
            .any(|test| path.starts_with(test) || path.with_extension("") == *test);
        let Some(of) = crate_of(path).filter(|_| !is_test) else {
            continue;
        };
        for name in declared(text) {
            let crates = crates.entry(name.to_owned()).or_default();
            crates.insert(of.clone());
        }
    }
    crates
}

/// Returns the names of the structs, enums, traits and aliases that a file declares outside its module of tests.
///
/// An indented `type` is an associated type, or an alias of one function.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    code.lines().filter_map(|line| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| word.starts_with("pub") || *word == "unsafe");
        words
            .next()
            .filter(|word| ["struct", "enum", "trait", "type"].contains(word))
            .filter(|word| *word != "type" || !line.starts_with(' '))?;
        let name = words.next()?;
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        let end = name.find(|letter| !is_name(letter)).unwrap_or(name.len());
        Some(&name[..end]).filter(|name| !name.is_empty())
    })
}

/// Returns the paths, without extension, of the modules that the file at `path` declares for tests.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let is_root = ["lib.rs", "main.rs", "mod.rs"]
        .iter()
        .any(|name| path.ends_with(name));
    let folder = if is_root {
        path.parent().unwrap().to_owned()
    } else {
        path.with_extension("")
    };
    let modules = text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| {
        let (module, _) = rest.split_once(';')?;
        module
            .trim_start_matches("pub(crate) ")
            .strip_prefix("mod ")
    });
    modules.map(|name| folder.join(name)).collect()
}

/// Returns the folder of the crate to whose `src` the file at `path` belongs; `None` for another file.
fn crate_of(path: &Path) -> Option<String> {
    let source = path.ancestors().find(|folder| folder.ends_with("src"))?;
    let folder = source.parent()?.strip_prefix(root()).ok()?;
    root()
        .join(folder)
        .join("Cargo.toml")
        .is_file()
        .then(|| folder.display().to_string())
}
