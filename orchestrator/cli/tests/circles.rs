//! Test against circular dependencies between the files of a crate, which would leave a reader no file to start at.
//!
//! A file depends on another file if its code, without tests, imports or names an item that the other file declares. A
//! re-exported name counts for the file that declares it; `mod` and `pub use` alone are not dependencies.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Folders in which files may depend on each other in circles. The simulator's partition is one type in several files,
/// each with a part of its state and the handlers of that part's events.
const ONE_NOUN: [&str; 1] = ["orchestrator/sim/src/partition"];

#[test]
fn files_of_a_crate_form_no_circles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, members) = manifest.split_once("members = [").unwrap();
    let members = members.split(']').next().unwrap().split('"');
    let mut circles = Vec::new();
    let mut count = 0;
    for member in members.skip(1).step_by(2) {
        let mut modules = Modules::default();
        modules.read(&root.join(member).join("src"), "");
        let arrows = modules.arrows();
        count += arrows.len();
        for [from, to, path] in &arrows {
            let arrow = format!("{member}/src/{from} -> {to}: {path}").replace("::", "/");
            let is_known = ONE_NOUN.iter().any(|folder| arrow.starts_with(folder));
            if !is_known && reached(&arrows, to).contains(&**from) {
                circles.push(arrow);
            }
        }
    }
    assert!(count > 2_000, "{count} arrows");
    let circles = circles.join("\n");
    assert!(
        circles.is_empty(),
        "files depend on each other in circles (hint: move the items that both use into a separate file):\n{circles}"
    );
}

/// Dependencies, each as the dependent module, the module it depends on, and the path in the code that causes it.
type Arrows = BTreeSet<[String; 3]>;

/// Returns the modules that can be reached along dependencies from the module `from`.
fn reached<'a>(arrows: &'a Arrows, from: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        let targets = arrows
            .range([module, "", ""].map(str::to_owned)..)
            .take_while(|arrow| arrow[0] == module)
            .map(|arrow| arrow[1].as_str());
        next.extend(targets.filter(|target| reached.insert(*target)));
    }
    reached
}

/// Modules of a crate, by their files.
#[derive(Default)]
struct Modules {
    /// Modules by their paths, such as `a::b`; the root's path is empty.
    files: BTreeMap<String, Module>,
    /// Paths of the modules that contain tests.
    tests: Vec<String>,
}

/// Names that one file declares, imports and uses.
#[derive(Default)]
struct Module {
    declared: BTreeSet<String>,
    /// Paths of imports, by the names that they have in this file.
    imports: BTreeMap<String, String>,
    /// Paths used in the code, and names that the file imports but does not re-export.
    named: BTreeSet<String>,
}

impl Modules {
    /// Reads the files in the folder of the module `parent`, and their submodules.
    fn read(&mut self, folder: &Path, parent: &str) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let module = match name {
                "lib" | "main" | "mod" => parent.to_owned(),
                _ => child(parent, name),
            };
            if path.is_dir() {
                self.read(&path, &module);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let tests = text
                    .split("#[cfg(test)]\nmod ")
                    .skip(1)
                    .filter_map(|rest| Some(rest.split_once(';')?.0));
                self.tests.extend(tests.map(|name| child(&module, name)));
                self.files.insert(module, Module::of(&text));
            }
        }
    }

    fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        let is_test = |module: &str| self.tests.iter().any(|test| module.starts_with(test));
        for (from, module) in self.files.iter().filter(|(path, _)| !is_test(path)) {
            for path in &module.named {
                if let Some(to) = self.declaring(from, path, 0).filter(|to| to != from) {
                    arrows.insert([from.clone(), to, path.clone()]);
                }
            }
        }
        arrows
    }

    /// Returns the module that declares the item that `path` names in the module `at`; `None` for an item of another
    /// crate. `re_exports` counts the re-exports followed so far, at most 8.
    fn declaring(&self, at: &str, path: &str, re_exports: u32) -> Option<String> {
        let mut at = at.to_owned();
        let mut rest = path;
        while !rest.is_empty() && re_exports < 9 {
            let (name, after) = rest.split_once("::").unwrap_or((rest, ""));
            let module = self.files.get(&at)?;
            let inner = child(&at, name);
            // A function and a module may have the same name.
            let declares = module.declared.contains(name);
            let is_module = self.files.contains_key(&inner) && !(declares && after.is_empty());
            match (name, module.imports.get(name)) {
                ("crate", _) => at.clear(),
                ("self", _) => {}
                ("super", _) => at.truncate(at.rfind("::").unwrap_or(0)),
                _ if is_module => at = inner,
                (_, Some(import)) if !declares => {
                    let path = child(import, after);
                    return self.declaring(&at, path.trim_end_matches(':'), re_exports + 1);
                }
                // A name that no file declares comes from a macro of the module.
                _ => return (declares || rest != path).then_some(at),
            }
            rest = after;
        }
        None
    }
}

/// Returns the path of the item `name` in a module.
fn child(module: &str, name: &str) -> String {
    format!("{module}::{name}")
        .trim_start_matches(':')
        .to_owned()
}

impl Module {
    fn of(text: &str) -> Self {
        let text = text.split("mod tests {").next().unwrap();
        let mut lines = text
            .lines()
            .map(|line| line.split("//").next().unwrap().trim());
        let mut module = Self::default();
        let mut code = String::new();
        while let Some(line) = lines.next() {
            match line.split_once("use ") {
                Some((before, tree)) if before.is_empty() || before.starts_with("pub") => {
                    let mut tree = tree.to_owned();
                    while !tree.ends_with(';') {
                        tree += lines.next().unwrap_or(";");
                    }
                    module.import("", tree.trim_end_matches(';'), before.is_empty());
                }
                _ => code = code + line + "\n",
            }
        }
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let words: Vec<&str> = code
            .split(|c| !is_name(c))
            .filter(|word| !word.is_empty())
            .collect();
        let items = words.windows(2).filter(|pair| KINDS.contains(&pair[0]));
        module.declared = items.map(|pair| pair[1].to_owned()).collect();
        let paths = code
            .split(|c| !is_name(c) && c != ':')
            .map(|path| path.trim_matches(':'))
            .filter(|path| path.contains("::"));
        // Names in `pub use` count only if the code itself uses them.
        let used = words
            .iter()
            .filter(|word| module.imports.contains_key(**word));
        let named = paths.chain(used.copied()).map(str::to_owned);
        module.named.extend(named);
        module
    }

    /// Adds the imports in a `use` tree with the path `prefix`.
    fn import(&mut self, prefix: &str, tree: &str, is_private: bool) {
        let path = format!("{prefix}{tree}");
        let Some((head, branches)) = tree.split_once('{') else {
            let (path, alias) = path.split_once(" as ").unwrap_or((&path, ""));
            let path = path.trim_end_matches("::self");
            let last = path.rsplit("::").next().filter(|_| alias.is_empty());
            let name = last.unwrap_or(alias).to_owned();
            self.named.extend(is_private.then(|| name.clone()));
            self.imports.insert(name, path.to_owned());
            return;
        };
        let mut depth = 0;
        let mut start = 0;
        let prefix = format!("{prefix}{head}");
        for (at, c) in branches.char_indices() {
            if depth == 0 && (c == ',' || c == '}') {
                self.import(&prefix, branches[start..at].trim(), is_private);
                start = at + 1;
            }
            depth += i32::from(c == '{') - i32::from(c == '}');
        }
    }
}

/// Keywords that precede the name in an item's declaration.
const KINDS: [&str; 9] = [
    "struct",
    "enum",
    "union",
    "trait",
    "type",
    "fn",
    "const",
    "static",
    "macro_rules",
];
