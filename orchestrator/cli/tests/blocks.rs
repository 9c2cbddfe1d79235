//! Tests that every code block in the documents that shows output is reproduced here, or checked by a test listed in
//! [`BLOCKS`].

mod common;

use std::{collections::BTreeMap, fs, path::Path};

use self::common::{Outcome, command_in, lcmp_lab, root};

/// Fenced code block of a document.
#[derive(Clone, Debug)]
struct Block {
    /// Path of the document, relative to the repository's root.
    document: String,
    /// Language after the opening fence; may be empty.
    language: String,
    /// Lines between the fences.
    lines: Vec<String>,
}

/// Way in which a block's contents are checked.
#[derive(Clone, Copy)]
enum Check {
    /// A test in this file runs the block's commands and compares their output.
    Here,
    /// A test, given by its file and name, checks the block's contents.
    Test(&'static str, &'static str),
    /// Times measured on one machine, which cannot be reproduced elsewhere; the lines without their numbers must match
    /// a snapshot.
    Form(&'static str),
    /// Log from one machine, which the text around it explains; not checked.
    Log,
    /// Commands or drawings without output; not checked.
    NoOutput,
}

/// Document with the results on the 8-DC testbed.
const TESTBED: &str = "reports/TESTBED.md";
const THIS: &str = "orchestrator/cli/tests/blocks.rs";
const ENGINES: &str = "orchestrator/cli/tests/engines.rs";
const AGREE: &str = "documents_state_what_the_bounds_hold";
const MEASUREMENT: &str = "orchestrator/cli/src/verbs/measure/snapshots/lcmp_lab__verbs__measure__show__tests__\
                           a_measurement_is_two_loads_their_costs_and_the_capacity.snap";
const COST: &str = "orchestrator/cli/src/verbs/up/snapshots/lcmp_lab__verbs__up__cost__tests__\
                    the_estimate_stands_beside_what_happened.snap";

/// Every block whose language is empty, `text` or `console`, by its document and the start of its first line.
const BLOCKS: [(&str, &str, Check); 38] = {
    use Check::{Form, Here, Log, NoOutput, Test};
    [
        ("README.md", " scenario.yaml ──▶", NoOutput),
        (
            "orchestrator/README.md",
            " scenario.yaml ─parse─▶",
            NoOutput,
        ),
        (
            "orchestrator/cli/README.md",
            "# ./lcmp-lab up --keep",
            Test(
                "orchestrator/cli/tests/exec.rs",
                "packets_on_a_link_are_roce",
            ),
        ),
        ("orchestrator/sim/README.md", "cargo test", NoOutput),
        (
            "orchestrator/sim/README.md",
            "lcmp-lab bench trains",
            NoOutput,
        ),
        ("orchestrator/sim/README.md", "lcmp-lab sim X", NoOutput),
        (
            "perftest-wrappers/README.md",
            "$ lcmp-lab bench generator",
            Form(MEASUREMENT),
        ),
        (
            "perftest-wrappers/README.md",
            "$ lcmp-lab up --guest",
            Form(COST),
        ),
        (
            "reports/FIDELITY.md",
            "$ ./lcmp-lab fidelity KERNEL_RUN",
            Test(ENGINES, AGREE),
        ),
        ("reports/FIDELITY.md", "13dc: kernel", Test(ENGINES, AGREE)),
        (
            "reports/FIDELITY.md",
            "failover: kernel",
            Test(ENGINES, AGREE),
        ),
        ("reports/FIDELITY.md", "|ΔFCT| / FCT", Test(ENGINES, AGREE)),
        ("reports/FIDELITY.md", "|ΔFCT| / FCT", Test(ENGINES, AGREE)),
        (
            "reports/README.md",
            "$ reports/tests/recompute.py",
            NoOutput,
        ),
        ("reports/README.md", "$ ./lcmp-lab up", NoOutput),
        ("reports/README.md", "$ ./lcmp-lab compare", NoOutput),
        ("reports/README.md", "$ ./lcmp-lab bundle", NoOutput),
        (
            "reports/SPEED.md",
            "$ ./lcmp-lab sim scenarios/8dc.yaml --repetitions 1 --policies \
             ecmp,wcmp,ucmp,te-100ms,rm-beta,lcmp",
            Here,
        ),
        ("reports/SPEED.md", "lcmp-lab sim", NoOutput),
        ("reports/SPEED.md", "cargo bench", NoOutput),
        ("reports/SPEED.md", "cargo bench", NoOutput),
        (
            "reports/STATISTICS.md",
            "$ ./lcmp-lab sim scenarios/8dc.yaml --policies",
            Test(THIS, "the_coverage_block_has_the_columns_of_the_verb"),
        ),
        (
            TESTBED,
            "$ ./lcmp-lab up scenarios/8dc.yaml",
            Test(THIS, "the_labs_table_is_that_of_the_scaled_simulation"),
        ),
        (TESTBED, "$ ./lcmp-lab sim scenarios/8dc.yaml", Here),
        (TESTBED, "$ ./lcmp-lab sim scenarios/te.yaml", Here),
        ("reports/assets/README.md", "npm pack", NoOutput),
        ("reports/assets/README.md", "pyftsubset", NoOutput),
        ("scenarios/README.md", "$ lcmp-lab check wan.yaml", Here),
        ("scenarios/README.md", "$ lcmp-lab sim wan.yaml", Here),
        ("scenarios/README.md", "$ lcmp-lab check wcmp.yaml", Here),
        ("scenarios/README.md", "$ lcmp-lab check wan.yaml", Here),
        ("scenarios/README.md", "$ lcmp-lab check wan.yaml", Here),
        ("scenarios/README.md", "$ lcmp-lab check wan.yaml", Here),
        ("scenarios/README.md", "$ lcmp-lab check wan.yaml", Here),
        ("scenarios/README.md", "$ lcmp-lab check wan.yaml", Here),
        ("scenarios/README.md", "$ lcmp-lab check wan.yaml", Here),
        (
            "scenarios/explain-8dc.md",
            "$ lcmp-lab explain",
            Test(
                "orchestrator/cli/tests/cli.rs",
                "explain_prints_the_hand_calculation",
            ),
        ),
        ("vagrant/README.md", "[ 1120.5]", Log),
    ]
};

/// Returns the blocks of all documents in order, document by document.
fn all_blocks() -> Vec<Block> {
    let mut folders = vec![root()];
    let mut documents = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                // Build output and results contain no documents.
                if !name.starts_with('.') && !matches!(&*name, "target" | "results") {
                    folders.push(path);
                }
            } else if name.ends_with(".md") {
                documents.push(path);
            }
        }
    }
    documents.sort();
    documents.iter().flat_map(|path| blocks_of(path)).collect()
}

fn blocks_of(path: &Path) -> Vec<Block> {
    let text = fs::read_to_string(path).unwrap();
    let document = path.strip_prefix(root()).unwrap().display().to_string();
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(language) => {
                is_inside = !is_inside;
                if is_inside {
                    blocks.push(Block {
                        document: document.clone(),
                        language: language.to_owned(),
                        lines: Vec::new(),
                    });
                }
            }
            None if is_inside => blocks.last_mut().unwrap().lines.push(line.to_owned()),
            None => {}
        }
    }
    assert!(!is_inside, "{document}: a block has no end");
    blocks
}

impl Block {
    fn may_show_output(&self) -> bool {
        matches!(&*self.language, "" | "text" | "console")
    }

    /// Returns the commands of this program that the block contains, each with the output lines shown below it.
    fn commands(&self) -> Vec<(String, Vec<&str>)> {
        let mut commands: Vec<(String, Vec<&str>)> = Vec::new();
        for line in &self.lines {
            match line.strip_prefix("$ ") {
                Some(command) => {
                    let command = command
                        .strip_prefix("./")
                        .unwrap_or(command)
                        .strip_prefix("lcmp-lab ")
                        .expect("our program");
                    commands.push((command.to_owned(), Vec::new()));
                }
                None => commands.last_mut().expect("a command").1.push(line),
            }
        }
        commands
    }
}

#[test]
fn every_block_that_may_show_output_has_its_check() {
    let mut unchecked: Vec<Block> = all_blocks()
        .into_iter()
        .filter(Block::may_show_output)
        .collect();
    for (document, start, check) in BLOCKS {
        let is_it = |block: &Block| block.document == document && block.lines[0].starts_with(start);
        let at = unchecked
            .iter()
            .position(is_it)
            .unwrap_or_else(|| panic!("{document} has no block `{start}…`"));
        let block = unchecked.remove(at);
        match check {
            Check::Here => assert!(!block.commands().is_empty()),
            Check::Test(file, name) => {
                let source = fs::read_to_string(root().join(file)).unwrap();
                assert!(source.contains(&format!("fn {name}(")), "{file}: {name}");
            }
            Check::Form(snapshot) => {
                let snapshot = words(&fs::read_to_string(root().join(snapshot)).unwrap());
                let is_fixed = |line: &&String| !line.contains(|c: char| c.is_ascii_digit());
                let fixed: Vec<&String> = block.lines.iter().filter(is_fixed).collect();
                let is_stale =
                    |line: &&&String| !line.starts_with("$ ") && !snapshot.contains(&words(line));
                assert!(
                    !fixed.is_empty(),
                    "{document}: `{start}…` has no line without numbers"
                );
                assert_eq!(fixed.iter().find(is_stale), None, "{document}: `{start}…`");
            }
            Check::Log | Check::NoOutput => {}
        }
    }
    // `explain-8dc.md` is left out, because another test compares all of its blocks.
    unchecked.retain(|block| block.document != "scenarios/explain-8dc.md");
    assert!(unchecked.is_empty(), "{unchecked:#?}");
}

/// Returns a text with each run of white space replaced by one space.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns true if the lines appear consecutively in the output `printed`. `…` matches any text; alone on a line, it
/// matches any number of lines.
fn is_shown(shown: &[&str], printed: &[&str]) -> bool {
    (0..=printed.len()).any(|from| begins(shown, &printed[from..]))
}

fn begins(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => true,
        Some((&"…", rest)) => is_shown(rest, printed),
        Some((line, rest)) => printed
            .split_first()
            .is_some_and(|(first, after)| is_line(line, first) && begins(rest, after)),
    }
}

fn is_line(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else {
        return false;
    };
    let mut has_gap = false;
    for part in parts {
        has_gap = true;
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty() || has_gap && shown.ends_with('…')
}

/// Returns a line without the times and speeds that depend on the machine.
fn without_speeds(line: &str) -> String {
    let cut = |line: &str, from: &str, to: &str| match line.split_once(from) {
        Some((before, after)) => {
            let after = after.split_once(to).map_or("", |(_, after)| after);
            format!("{before}{from}{after}")
        }
        None => line.to_owned(),
    };
    let line = cut(line, " flows in ", ":");
    let line = cut(&line, " virtual time, ", "packet-hops/s");
    cut(&line, "done in ", "\n")
}

#[track_caller]
fn assert_shown(shown: &[&str], out: &Outcome) {
    let printed = format!("{}{}", out.stderr, out.stdout);
    let [shown, printed] = [shown.to_vec(), printed.lines().collect()]
        .map(|lines: Vec<&str>| lines.into_iter().map(without_speeds).collect::<Vec<_>>());
    let [a, b] =
        [&shown, &printed].map(|lines| lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(
        is_shown(&a, &b),
        "the document shows:\n{}\nwhere the program prints:\n{}",
        shown.join("\n"),
        printed.join("\n")
    );
}

#[test]
fn gaps_stand_for_any_text() {
    let printed = ["first", "second 2", "third"];
    for shown in [
        &["second 2"][..],
        &["first", "…", "third"],
        &["…"],
        &["first", "sec… 2"],
        &["second …"],
    ] {
        assert!(is_shown(shown, &printed), "{shown:?}");
    }
    for shown in [
        &["first", "third"][..],
        &["sec"],
        &["second … 3"],
        &["third", "…", "first"],
    ] {
        assert!(!is_shown(shown, &printed), "{shown:?}");
    }
}

/// The documents of `reports/` show three simulations, two with eight repetitions and one with a single repetition.
#[test]
fn the_documents_show_what_the_simulator_prints() {
    let results = tempfile::tempdir().unwrap();
    let mut shown = 0;
    let documents = [TESTBED, "reports/SPEED.md"];
    for block in documents
        .map(|document| blocks_of(&root().join(document)))
        .concat()
    {
        let is_here = |(document, start, check): &(&str, &str, Check)| {
            matches!(check, Check::Here) && *document == block.document && block.lines[0] == *start
        };
        if !BLOCKS.iter().any(is_here) {
            continue;
        }
        for (command, lines) in block.commands() {
            let words: Vec<&str> = command.split_whitespace().collect();
            let out = lcmp_lab(results.path(), &words);
            assert_eq!(out.exit, Some(0), "{out:?}");
            assert_shown(&lines, &out);
            shown += 1;
        }
    }
    assert_eq!(shown, 3);
}

/// The first table in `TESTBED.md` is from a lab; `sim --scaled` of the same scenario must agree with it. Flow counts,
/// percentiles and largest slowdown of each policy may differ by at most 1 %.
#[test]
fn the_labs_table_is_that_of_the_scaled_simulation() {
    let results = tempfile::tempdir().unwrap();
    let out = lcmp_lab(results.path(), &["sim", "--scaled", "scenarios/8dc.yaml"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let blocks = blocks_of(&root().join(TESTBED));
    let up = |block: &&Block| block.lines[0] == "$ ./lcmp-lab up scenarios/8dc.yaml";
    let shown = slowdowns(&blocks.iter().find(up).unwrap().lines);
    let lines: Vec<String> = out.stdout.lines().map(str::to_owned).collect();
    let simulated = slowdowns(&lines);
    assert_eq!(shown.len(), 7, "{shown:?}");
    assert!(shown.keys().eq(simulated.keys()), "{simulated:?}");
    for (policy, measured) in &shown {
        for (a, b) in measured.iter().zip(simulated[policy]) {
            assert!(
                (a - b).abs() <= 0.01 * b,
                "{policy}: {measured:?} {simulated:?}"
            );
        }
    }
}

/// The table for the papers' own parameters has a row from the simulator, which the simulator must print again, and a
/// row from a lab, which must be close to the scaled simulation. LCMP's p50 there falls between paths of 5 and 50 ms,
/// so it depends on ties that a single queue sample decides.
#[test]
fn the_row_of_the_papers_parameters_is_what_both_engines_print() {
    let results = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let common = [
            "sim",
            "scenarios/8dc-paper.yaml",
            "--policies",
            "ecmp,ucmp,lcmp",
        ];
        let out = lcmp_lab(results.path(), &[&common, more].concat());
        assert_eq!(out.exit, Some(0), "{out:?}");
        out.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let text = fs::read_to_string(root().join(TESTBED)).unwrap();
    let row = |head: &str| {
        let row = text.lines().find_map(|line| line.strip_prefix(head));
        let cells = row.expect("the row").trim_matches(['|', ' ']).split(" | ");
        let parts = cells.map(|cell| cell.split_once(" / ").expect("two values"));
        parts
            .map(|(p50, p99)| [p50.to_owned(), p99.to_owned()])
            .collect::<Vec<_>>()
    };
    let policies = ["ecmp", "ucmp", "lcmp"];
    let simulated = run(&[]);
    for (policy, shown) in policies.iter().zip(row("| `sim`, eight draws |")) {
        let line = simulated.iter().find(|line| line.starts_with(policy));
        // Intervals are printed in brackets and left out here.
        let line: String = line.unwrap().split(['[', ']']).step_by(2).collect();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[2..4], shown, "{line}");
    }
    let scaled = slowdowns(&run(&["--scaled"]));
    for (policy, shown) in policies.iter().zip(row("| `up`, one draw |")) {
        let [_, p50, p99, _] = scaled[*policy];
        for (shown, simulated, within) in [(&shown[0], p50, 0.15), (&shown[1], p99, 0.02)] {
            let shown: f64 = shown.parse().unwrap();
            assert!(
                (shown - simulated).abs() <= within * simulated,
                "{policy}: {shown} {simulated}"
            );
        }
    }
}

/// The block with the output of `coverage` shows a hundred repetitions; a short run must print the same columns.
#[test]
fn the_coverage_block_has_the_columns_of_the_verb() {
    let results = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let out = lcmp_lab(results.path(), words);
        assert!(matches!(out.exit, Some(0 | 1)), "{out:?}");
        out.stdout
    };
    run(&["sim", "scenarios/smoke.yaml", "--repetitions", "4"]);
    let latest = results.path().join("latest");
    let printed = run(&["coverage", latest.to_str().unwrap(), "--group", "2"]);
    let blocks = blocks_of(&root().join("reports/STATISTICS.md"));
    let shown = blocks.iter().flat_map(|block| &block.lines);
    let head = |line: &&str| line.starts_with("holds");
    let [shown, printed] = [
        shown.map(String::as_str).find(head),
        printed.lines().find(head),
    ];
    assert_eq!(shown.map(words), printed.map(words));
}

/// Parses the table that begins with these columns: flow count, p50, p99 and largest slowdown of each policy.
fn slowdowns(lines: &[String]) -> BTreeMap<String, [f64; 4]> {
    let from = lines
        .iter()
        .position(|line| line.starts_with("FCT slowdown"));
    let rows = lines[from.expect("a table") + 1..].iter();
    // Parameters of a policy are indented below its row.
    rows.filter(|row| !row.starts_with(' '))
        .map_while(|row| {
            let mut cells = row.split_whitespace();
            let policy = cells.next()?.to_owned();
            let numbers: Option<Vec<f64>> = cells
                .map(|cell| cell.replace(',', "").parse().ok())
                .collect();
            Some((policy, numbers?.try_into().ok()?))
        })
        .collect()
}

/// The guide in `scenarios/README.md` builds a scenario in steps; each command in it must give the shown output for the
/// scenario so far. Sections that it shows alone must be sound in a scenario of their own.
#[test]
fn the_guide_to_a_scenario_of_ones_own_holds() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("wan.yaml");
    let mut changes: Vec<(String, String)> = Vec::new();
    let mut commands = 0;
    let mut sections = 0;
    for block in blocks_of(&root().join("scenarios/README.md")) {
        match &*block.language {
            "yaml" if !block.lines[0].starts_with("# ") => {
                let section = folder.path().join("section.yaml");
                fs::write(&section, with_other_sections(&block.lines)).unwrap();
                let sizes = folder.path().join("megabyte.csv");
                fs::write(&sizes, "bytes,percent\n999999,0\n1000001,100\n").unwrap();
                let check = ["check", "section.yaml"];
                let out = Outcome::from(command_in(folder.path(), &check).output().unwrap());
                assert_eq!(out.exit, Some(0), "{out:?}");
                sections += 1;
            }
            "yaml" | "csv" => {
                let name = block.lines[0]
                    .strip_prefix("# ")
                    .expect("a name")
                    .split(':')
                    .next()
                    .unwrap();
                fs::write(folder.path().join(name), block.lines.join("\n") + "\n").unwrap();
            }
            "diff" => {
                let part = |sign: char| {
                    block
                        .lines
                        .iter()
                        .filter_map(|line| line.strip_prefix(sign))
                        .map(|line| format!("{line}\n"))
                        .collect::<String>()
                };
                changes.push((part('-'), part('+')));
            }
            "sh" => {}
            _ => {
                let whole = fs::read_to_string(&scenario).unwrap();
                let mut text = whole.clone();
                for (before, after) in changes.drain(..) {
                    assert!(text.contains(&before), "{before}");
                    text = text.replace(&before, &after);
                }
                fs::write(&scenario, text).unwrap();
                for (command, lines) in block.commands() {
                    let words: Vec<&str> = command.split_whitespace().collect();
                    let out = command_in(folder.path(), &words).output().unwrap();
                    assert_shown(&lines, &Outcome::from(out));
                    commands += 1;
                }
                fs::write(&scenario, whole).unwrap();
            }
        }
    }
    assert_eq!((commands, sections), (9, 10));
}

/// Returns a scenario with these lines of one section; the topology and the traffic, unless the lines have them, are
/// the Zoo's Abilene and a workload.
fn with_other_sections(lines: &[String]) -> String {
    let topology = if lines[0].starts_with("topology:") {
        ""
    } else {
        "topology: zoo:Abilene"
    };
    let traffic = if lines.iter().any(|line| line.starts_with("traffic:")) {
        ""
    } else {
        "traffic:
  - workload: { sizes: megabyte.csv, pairs: all-to-all, load: 5%, duration: 2 ms }"
    };
    format!(
        "name: section
{topology}
{}
{traffic}
policies: [ecmp]
",
        lines.join("\n")
    )
}
