//! Tests that names and links in the documents exist, and that doc comments follow the style.

mod sources;

use std::{fs, path::PathBuf};

use self::sources::{files, root};

/// Returns the texts between backticks, each within one line.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Returns true if the source defines a function, type or constant `name`, in Rust or C.
fn defines(source: &str, name: &str) -> bool {
    let rust = ["fn ", "struct ", "enum ", "const ", "trait "];
    let defined = |line: &str| {
        let words = rust.iter().filter_map(|word| line.split_once(word));
        let mut names = words.map(|(_, rest)| rest);
        let is_name = |rest: &str| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            &rest[..end.unwrap_or(rest.len())] == name
        };
        names.any(is_name) || line.starts_with("static ") && line.contains(&format!(" {name}("))
    };
    source.lines().any(defined)
}

#[test]
fn the_papers_map_names_what_exists() {
    let texts = ["agents/README.md", "reports/SENSITIVITY.md"]
        .map(|document| fs::read_to_string(root().join(document)).unwrap());
    let mut named = 0;
    for span in texts.iter().flat_map(|text| code_spans(text)) {
        let (path, name) = span.split_once(':').unwrap_or((span, ""));
        if !path.contains('/') {
            continue;
        }
        let path = root().join(path);
        assert!(path.exists(), "there is no `{span}`");
        if !name.is_empty() {
            let source = fs::read_to_string(&path).unwrap();
            assert!(defines(&source, name), "`{span}` is not defined there");
            named += 1;
        }
    }
    assert!(named >= 30, "{named} names");
}

/// Returns the paths of all Markdown documents in the workspace's folders, and of the root README.
fn documents() -> Vec<PathBuf> {
    let mut documents = files("md");
    documents.push(root().join("README.md"));
    documents
}

/// Returns the anchor that GitHub gives to a heading: lower case, no punctuation, hyphens for spaces.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let targets = text.split("](").skip(1);
        for target in targets.filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            assert!(path.exists(), "{}: `{target}`", document.display());
            if !heading.is_empty() {
                let linked = fs::read_to_string(&path).unwrap();
                let headings = linked.lines().filter(|line| line.starts_with('#'));
                assert!(
                    headings.map(anchor).any(|anchor| anchor == heading),
                    "{}: `{target}`",
                    document.display()
                );
            }
        }
    }
}

#[test]
fn an_anchor_is_a_headings_text_without_punctuation() {
    assert_eq!(
        anchor("## The gate of `regress --baseline`"),
        "the-gate-of-regress---baseline"
    );
    assert_eq!(
        anchor("### Columns, and *units*: ΔFCT"),
        "columns-and-units-δfct"
    );
}

/// Maximum number of lines in the root README, which should let a reader decide quickly if the program is of use.
const MAX_README_LINES: usize = 150;

#[test]
fn the_readme_is_short() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let lines = readme.lines().count();
    assert!(lines <= MAX_README_LINES, "{lines} lines");
}

/// The root README repeats two results from `reports/TESTBED.md`: the lab's p50 and p99, and the simulator's with
/// intervals. Other tests compare `TESTBED.md` with the program.
#[test]
fn the_readmes_results_are_the_testbeds() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let testbed = fs::read_to_string(root().join("reports/TESTBED.md")).unwrap();
    for policy in [
        "ecmp", "wcmp", "ucmp", "te-100ms", "redte", "rm-beta", "lcmp",
    ] {
        let head = format!("| `{policy}`");
        let row = readme.lines().find(|line| line.starts_with(&head));
        let cells: Vec<&str> = row.expect(policy).split('|').map(str::trim).collect();
        let printed = |flows: &str| {
            let head = [policy, flows];
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
            let mut lines = testbed.lines().map(words);
            lines
                .find(|words: &Vec<String>| words.iter().take(2).eq(&head))
                .expect(policy)
                .join(" ")
        };
        for (flows, values) in [("6,635", &cells[2..4]), ("52,324", &cells[4..6])] {
            let start = format!("{policy} {flows} {} ", values.join(" "));
            let printed = printed(flows);
            assert!(printed.starts_with(&start), "{start}: {printed}");
        }
    }
}

/// Returns the text of a doc comment's line; `None` for other lines.
fn doc_comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or(line.strip_prefix("//!"))
}

/// Opening words of a doc comment that lack a noun.
const VAGUE: [&str; 6] = ["What", "Whether", "How", "When", "It", "Where"];

/// Maximum number of doc comments, per 1,000, that may open with a word of [`VAGUE`].
const MAX_VAGUE_PER_MILLE: usize = 50;

#[test]
fn doc_comments_open_with_a_noun_or_a_verb() {
    let mut all = 0;
    let mut vague = Vec::new();
    for path in files("rs") {
        let text = fs::read_to_string(&path).unwrap();
        let mut before = false;
        for (number, line) in (1..).zip(text.lines()) {
            let comment = doc_comment(line);
            if let Some(comment) = comment
                && !before
            {
                all += 1;
                let word = comment.split_whitespace().next().unwrap_or_default();
                if VAGUE.contains(&word) {
                    vague.push(format!("{}:{number}: {comment}", path.display()));
                }
            }
            before = comment.is_some();
        }
    }
    let per_mille = vague.len() * 1_000 / all;
    assert!(
        per_mille <= MAX_VAGUE_PER_MILLE,
        "{per_mille} of 1,000 doc comments: {vague:#?}"
    );
}

/// Minimum number of words "of" that makes a sentence too hard to read.
const MANY_OFS: usize = 3;

/// Returns the first sentence of a doc comment: up to a full stop that ends a line or precedes a space, or up to a
/// blank line.
fn first_sentence<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut sentence = String::new();
    for line in lines.map(str::trim).take_while(|line| !line.is_empty()) {
        let end = line.find(". ").map_or(line.len(), |at| at + 1);
        sentence.push_str(&line[..end]);
        if line[..end].ends_with('.') {
            break;
        }
        sentence.push(' ');
    }
    sentence
}

/// Returns the number of words "of" in a sentence, outside code spans.
fn ofs(sentence: &str) -> usize {
    let prose = sentence.split('`').step_by(2);
    let words = prose.flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
    words.filter(|word| word.eq_ignore_ascii_case("of")).count()
}

#[test]
fn doc_comments_open_without_chains_of_of() {
    let mut chains = Vec::new();
    for path in files("rs") {
        let text = fs::read_to_string(&path).unwrap();
        let comments: Vec<_> = text.lines().map(doc_comment).collect();
        let mut before = false;
        for (at, comment) in comments.iter().enumerate() {
            if comment.is_some() && !before {
                let lines = comments[at..].iter().map_while(|comment| *comment);
                let sentence = first_sentence(lines);
                if ofs(&sentence) >= MANY_OFS {
                    chains.push(format!("{}:{}: {sentence}", path.display(), at + 1));
                }
            }
            before = comment.is_some();
        }
    }
    assert!(chains.is_empty(), "{chains:#?}");
}

#[test]
fn a_first_sentence_ends_at_its_full_stop_and_code_is_not_prose() {
    let lines = [
        " Bytes of a row, as `size of` has",
        " them. Of no flow.",
        " More of it.",
    ];
    let sentence = first_sentence(lines.into_iter());
    assert_eq!(sentence, "Bytes of a row, as `size of` has them.");
    assert_eq!(ofs(&sentence), 1);
}
