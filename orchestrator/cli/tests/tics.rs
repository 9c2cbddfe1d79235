//! Tests that two forms of code that are hard to read stay rare: lets that bind several names, and names that only cut
//! a chain in two. Clippy's `match_bool` refuses a third form, a `match` on a bool.

mod sources;

use std::{fmt::Write, fs};

use self::sources::{files, root};

/// Maximum number of lets with a tuple on both sides. A few are fine, such as a swap.
const MAX_TUPLE_LETS: usize = 3;

/// Maximum number of names that are bound again to a chain that starts with the same name.
const MAX_REBOUND: usize = 3;

/// Minimum number of Rust lines in the workspace; with fewer, the test has not found all files.
const MIN_LINES: usize = 100_000;

/// With `let (a, b) = (x, y);` the reader must pair names and values across the line; a let for each binding reads
/// better. A pattern that takes a value apart is fine, and so is a `let … else` or an `if let` with two values that
/// must both match.
#[test]
fn each_binding_has_its_let() {
    let found = places(is_tuple_let);
    assert!(
        found.len() <= MAX_TUPLE_LETS,
        "{} lets have a tuple on both sides:\n{}",
        found.len(),
        found.concat()
    );
}

/// `let rows = table.iter();` followed by `let rows = rows.map(…);` gives two values one name, only to keep lines
/// short. Better is one chain, which rustfmt breaks over lines, or a meaningful first name if the steps are separate
/// for a reason. A comment between the two lets counts as such a reason.
#[test]
fn a_chain_is_not_cut_to_fit_a_line() {
    let found = places(is_rebound);
    assert!(
        found.len() <= MAX_REBOUND,
        "{} names are bound again to a chain of their own:\n{}",
        found.len(),
        found.concat()
    );
}

#[test]
fn tuples_on_both_sides_of_a_let_are_found() {
    let is_found = |text: &str| is_tuple_let(&text.lines().collect::<Vec<_>>(), 0);
    assert!(is_found("let (a, b) = (1, 2);"));
    assert!(is_found("    let (mut a, (b, c)) = (Vec::new(), pair());"));
    assert!(is_found("let (a, b): (u8, u8) = (1, 2);"));
    assert!(is_found(
        "let (a, b) = (\n    first(1),\n    second(2),\n);"
    ));
    assert!(!is_found("let (a, b) = pair();"));
    assert!(!is_found("let (a, b) = (1..9).map(half).unzip();"));
    assert!(!is_found("let (a, b) = (first, second).parse(input)?;"));
    assert!(!is_found("let (Some(a), Some(b)) = (first, second) else {"));
    assert!(!is_found("let a = (1, 2);"));
}

#[test]
fn chains_that_are_cut_are_found() {
    let is_found = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        (0..lines.len()).any(|at| is_rebound(&lines, at))
    };
    assert!(is_found("let a = b.iter();\nlet a = a.map(c);"));
    assert!(is_found(
        "let a = b.iter();\nlet mut a: Vec<_> = a.collect();"
    ));
    assert!(is_found(
        "let a = b.map(|c| {\n    d(c)\n});\nlet a = a\n    .filter(e)\n    .count();"
    ));
    assert!(is_found("let a = b();\nlet a =\n    a.map(c);"));
    assert!(is_found("let a = b();\nlet a = a.filter(|a| a.c());"));
    assert!(!is_found("let a = b.iter();\nlet d = a.map(c);"));
    assert!(!is_found("let a = b.iter();\ne();\nlet a = a.map(c);"));
    assert!(!is_found("let a = b();\nlet a = a.min(a.half());"));
    assert!(!is_found("let a = b();\n// A reason.\nlet a = a.map(c);"));
    assert!(!is_found("let a = b();\nlet a = ab.map(c);"));
}

/// Returns the lines of the workspace at which `is_one` holds, each with its path and number.
fn places(is_one: fn(&[&str], usize) -> bool) -> Vec<String> {
    let mut count = 0;
    let mut places = Vec::new();
    for path in files("rs") {
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        count += lines.len();
        for at in (0..lines.len()).filter(|at| is_one(&lines, *at)) {
            let mut place = String::new();
            let line = lines[at].trim_start();
            let shown = path.strip_prefix(root()).unwrap();
            writeln!(place, "{}:{}: {line}", shown.display(), at + 1).unwrap();
            places.push(place);
        }
    }
    assert!(count >= MIN_LINES, "{count} lines");
    places
}

/// Returns true if the statement at line `at` is a let that destructures a tuple and whose value is a tuple.
fn is_tuple_let(lines: &[&str], at: usize) -> bool {
    if !lines[at].trim_start().starts_with("let (") {
        return false;
    }
    let statement = statement(lines, at);
    let Some((_, value)) = statement.split_once(" = (") else {
        return false;
    };
    // The parenthesis that closes the value ends the statement.
    let mut depth = 1;
    let mut has_comma = false;
    for (index, letter) in value.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 1 => has_comma = true,
            _ => {}
        }
        if depth == 0 {
            return has_comma && value[index..].trim_end() == ");";
        }
    }
    false
}

/// Returns true if the statement at line `at` binds the name of the let right before it to a chain that starts with
/// this name and does not use it again.
fn is_rebound(lines: &[&str], at: usize) -> bool {
    let Some(name) = bound(lines[at]) else {
        return false;
    };
    let before = (0..at)
        .rev()
        .find(|&line| starts_statement(lines, line, at));
    if before.and_then(|line| bound(lines[line])) != Some(name) {
        return false;
    }
    let statement = statement(lines, at);
    let Some((_, value)) = statement.split_once('=') else {
        return false;
    };
    // After a closure parameter of the same name, the name refers to the parameter.
    let own = value.split(&format!("|{name}|")).next().unwrap_or_default();
    let words = own.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let rest = value.trim_start().strip_prefix(name);
    rest.is_some_and(|rest| rest.trim_start().starts_with(['.', '?', '[']))
        && words.filter(|word| *word == name).count() == 1
}

/// Returns the name that a line's let binds; `None` for a pattern or another line.
fn bound(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("let ")?;
    let rest = rest.strip_prefix("mut ").unwrap_or(rest);
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
    rest[end..].starts_with([':', ' ']).then(|| &rest[..end])
}

/// Returns the lines of the statement that starts at line `at`: by rustfmt's rules, those below it that are indented
/// more deeply or close a bracket.
fn statement(lines: &[&str], at: usize) -> String {
    let below = lines[at + 1..]
        .iter()
        .take_while(|line| depth(line) > depth(lines[at]) || closes(line));
    let own = below.map(|line| line.trim_start());
    [lines[at].trim_start()]
        .into_iter()
        .chain(own)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns true if line `line` starts a statement that is not nested more deeply than line `at`.
fn starts_statement(lines: &[&str], line: usize, at: usize) -> bool {
    depth(lines[line]) <= depth(lines[at]) && !closes(lines[line])
}

fn closes(line: &str) -> bool {
    line.trim_start().starts_with([')', ']', '}', '.'])
}

/// Returns the number of spaces before a line's text; the maximum for an empty line.
fn depth(line: &str) -> usize {
    line.find(|letter| letter != ' ').unwrap_or(usize::MAX)
}
