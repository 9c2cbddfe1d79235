//! The report on the reproduced figures, as a document.

use std::collections::{BTreeMap, BTreeSet};

use lab_reports::document::{Block, Column, Document, Medium, NONE, Section, Table};
use lab_units::show;

use crate::{
    catalogue::REDTE,
    claim::{ClaimVerdict, Judged, signed_percent},
    measured::Measured,
    published::Quantity,
    report::{
        CaseReport, Cell, ClaimReport, FidelityReport, Report, Settings, StatementReport,
        TextReport,
    },
    variant::Source,
};

/// Explanation below the heading of the table of stated changes.
const TEXT_LEGEND: &str = "Changes under LCMP over a figure's cases, in percent, by the paper's methods: \
    p50 is the change of a bin's median, as the median over 20 bins of sizes; P99 is the change of a \
    bin's P99 in the worst bin.";

/// Note below the table of stated changes if it has rows of RedTE.
const REDTE_NOTE: &str = "Rows of redte: flows arrive for 8 to 200 ms, so that RedTE's loop of 100 ms \
    acts at most twice while they arrive, and never in figures 7 and 8. Before its first decision, it splits flows by \
    capacity; later splits route only what reaches a switch later, such as the ACKs of long paths.";

/// Explanation below the heading of the table of stated values.
const STATEMENT_LEGEND: &str = "Values that the text states: a percentile of slowdowns is of the bin \
    that contains the stated size, or a range over all 20 bins of sizes; rises are relative to LCMP; a pair has \
    several paths if several paths have the fewest links.";

/// Explanation of the sources and columns, at the start of the report.
const LEGEND: &str = "Values are FCT slowdowns as in the authors' analysis: means over 20 bins of \
    sizes of each bin's p50 and p99; values of links are average utilisations in percent. Published: the authors' \
    files. Simulated: the authors' semantics, and their UCMP, which hashes over the widest first links. \
    Emulated: the lab's testbed on SoftRoCE under DCQCN, `testbed.yaml`, 4 + 4 hosts, random flows in both \
    directions, three repetitions, without PFC: its changes between policies can be compared with the published \
    ones, but its values cannot. Fair: the simulator with the paper's semantics, PFC and buffers, UCMP by its own \
    cost (in the row ucmp-artifact). RedTE (redte) runs with weights of our own, trained by the published method, \
    since the authors' weights are not public: verdicts against it are separate and do not count in the verdicts \
    on the claims. LCMP's delay score saturates at 512 ms (524 ms in the column fair) in figures 1, 5, 10 and 11, \
    where the paper has 32 or 64 ms; at 64 ms in figure 9 and the testbed, and at 32 ms in figures 7 and 8. A run \
    with one repetition is one draw of arrivals: how far its changes spread over draws is not known. A verdict \
    based on doubtful runs is marked `?`, and its \
    reason names their cases; an invalid run has no values.";

/// Explanation of the column of `--trains`.
const TRAINS: &str = "Trains: like Simulated, but consecutive packets of a flow are simulated as one event \
    (`sim --trains`), which is an approximation. The columns simulated and fair show only runs that existed before.";

/// Explanation of `--quick` and of the mark `?`.
const QUICK: &str = "Quick: in runs that were missing, flows arrive for a tenth of the duration. Queues \
    stay shorter and bins hold few flows, so that a verdict based on such runs, marked `?`, is weak.";

/// Returns the report as a document; the chart `reproduction` lies in the folder [`FIGURES`] next to the page.
#[must_use]
pub fn document(report: &Report) -> Document<'static> {
    let sources: Vec<Source> = report.settings.sources().collect();
    let mut opening = vec![Block::Text(
        Medium::Any,
        format!("{} {LEGEND}", origin(report)),
    )];
    if report.settings.is_in_trains {
        opening.push(Block::Text(Medium::Any, TRAINS.to_owned()));
    }
    if report.settings.is_quick {
        let runs = || report.cases.iter().flat_map(|case| case.runs.values());
        let short: BTreeSet<_> = runs()
            .filter(|run| run.played.is_short)
            .map(|run| &run.run)
            .collect();
        let all: BTreeSet<_> = runs().map(|run| &run.run).collect();
        let words = format!(
            "{QUICK} {} of the {} runs are shortened.",
            short.len(),
            all.len()
        );
        opening.push(Block::Text(Medium::Any, words));
    }
    let mut claims = vec![Block::Table(
        Medium::Any,
        sourced(&["claim"], 1, &sources, claim_rows(report)),
    )];
    claims.extend(report.claims.iter().flat_map(claim));
    let made = &sources[1..];
    let changes = report.text.iter().flat_map(|row| text_rows(row, made));
    let changes = sourced(&["figure", "against", "text"], 2, made, changes);
    let stated = report.statements.iter();
    let values = stated.map(|row| statement_row(row, &sources));
    let values = sourced(&["figure", "value", "text"], 2, &sources, values);
    let heads = ["the text", "the published data and code"].map(Column::sentences);
    let contradictions = report.contradictions.iter();
    let contradictions = Table::new([Column::names("figure")].into_iter().chain(heads)).with(
        contradictions.map(|row| [&row.figure, &row.text, &row.data].map(|it| it.as_str().into())),
    );
    let has_redte = report.text.iter().any(|row| row.stated.base == REDTE);
    let note = if has_redte { REDTE_NOTE } else { "" };
    let tables = [
        ("Percentages of the text", TEXT_LEGEND, changes, note),
        ("Values of the text", STATEMENT_LEGEND, values, ""),
        ("Text against data", "", contradictions, ""),
    ];
    let titled = tables
        .into_iter()
        .filter(|(.., table, _)| !table.is_empty())
        .map(|(title, legend, table, note)| {
            let [legend, note] = [legend, note].map(|words| {
                (!words.is_empty()).then(|| Block::Text(Medium::Any, words.to_owned()))
            });
            let table = Some(Block::Table(Medium::Any, table));
            Section::new(title, [legend, table, note].into_iter().flatten().collect())
        });
    let sections = [Section::new("Claims", claims)].into_iter().chain(titled);
    let last = [Section::new("Values", cases(report)), runs(report)];
    Document {
        title: "The paper's figures, reproduced".to_owned(),
        version: String::new(),
        origin: "",
        opening,
        sections: sections.chain(last).collect(),
    }
}

/// Returns a table with the columns `heads`, of which the first `left` contain names, and a column for each source.
fn sourced(
    heads: &[&'static str],
    left: usize,
    sources: &[Source],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> Table {
    let sources = sources.iter().map(|source| source.name());
    Table::of(heads.iter().copied().chain(sources), left, rows)
}

fn claim(claim: &ClaimReport) -> [Block<'static>; 3] {
    let list = |at: usize| {
        let names: Vec<&str> = claim.figures[at]
            .iter()
            .map(|figure| figure.name())
            .collect();
        names.join(", ")
    };
    let mut words = format!(
        "“{}” Rule, over {}: {}.",
        claim.sentence,
        list(0),
        claim.rule
    );
    if !claim.figures[1].is_empty() {
        words += &format!(" Not requested: {}.", list(1));
    }
    let verdict = |(who, judged): (String, &Judged)| {
        (
            who,
            vec![format!("{}: {}", judged.verdict.words(), judged.reason())],
        )
    };
    [
        Block::Heading(Medium::Any, claim.id.to_owned()),
        Block::Text(Medium::Any, words),
        Block::Facts(Medium::Any, judgements(claim).map(verdict).collect()),
    ]
}

fn cases(report: &Report) -> Vec<Block<'static>> {
    let title = "Published and found slowdowns".to_owned();
    let dots =
        "Each dot is a p50 or p99; the dashed line is where published and found values are equal.";
    let mut blocks = vec![
        Block::Picture(title, format!("{FIGURES}/reproduction.png")),
        Block::Text(Medium::Page, dots.to_owned()),
    ];
    let fidelity = report
        .fidelity
        .iter()
        .map(|row| format!("{}.", fidelity_line(row)));
    blocks.extend(fidelity.map(|line| Block::Text(Medium::Any, line)));
    for case in &report.cases {
        let mut facts: Vec<(String, Vec<String>)> = Vec::new();
        let mut fact = |term: String, value: String| facts.push((term, vec![value]));
        for (names, cause) in causes(case) {
            fact("over 5 %".to_owned(), format!("{names}: {cause}"));
        }
        for (source, warning) in warnings(case) {
            fact(source.name().to_owned(), warning.to_owned());
        }
        for (source, reason) in &case.without {
            fact(format!("not {}", source.name()), reason.clone());
        }
        blocks.extend([
            Block::Heading(Medium::Any, format!("{} {}", case.figure, case.case)),
            Block::Text(Medium::Any, format!("{}.", traffic(case))),
            Block::Table(Medium::Any, cells(case, &report.settings)),
            Block::Facts(Medium::Any, facts),
        ]);
    }
    blocks
}

fn runs(report: &Report) -> Section<'static> {
    let mut rows: Vec<[String; 4]> = Vec::new();
    for run in report.cases.iter().flat_map(|case| case.runs.values()) {
        let doubts = match run.doubts.as_slice() {
            [] => NONE.to_owned(),
            doubts => doubts.join("; "),
        };
        let row = [
            run.run.clone(),
            run.commit.clone(),
            run.repetitions.to_string(),
            doubts,
        ];
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let table = Table::of(
        ["run", "commit of the tool", "repetitions", "not clean"],
        2,
        rows,
    );
    Section::of_page("Runs", vec![Block::Table(Medium::Page, table)])
}

/// Describes the flows of a case's runs: number, origin, and a shortened duration.
fn traffic(case: &CaseReport) -> String {
    let words = |run: &Measured| {
        let flows = show::commas(u64::try_from(run.flows).unwrap_or(u64::MAX));
        let origin = ["published", "drawn"][usize::from(run.played.is_drawn)];
        let time = ["", " in a tenth of the duration"][usize::from(run.played.is_short)];
        format!("{flows} {origin} flows{time}")
    };
    let runs = case.runs.iter();
    let each: Vec<_> = runs
        .map(|(source, run)| (source.name(), words(run)))
        .collect();
    match each.as_slice() {
        [] => "no runs".to_owned(),
        [(_, first), others @ ..] if others.iter().all(|(_, words)| words == first) => {
            first.clone()
        }
        each => {
            let named = each
                .iter()
                .map(|(source, words)| format!("{source} {words}"));
            named.collect::<Vec<_>>().join(", ")
        }
    }
}

/// Returns the table of a case's values, one column per source; the simulated one is followed by its difference.
fn cells(case: &CaseReport, settings: &Settings) -> Table {
    let with_difference = |source: Source, value: String, difference: String| {
        let difference = (source == Source::Simulated).then_some(difference);
        [value].into_iter().chain(difference)
    };
    let heads: Vec<String> = settings
        .sources()
        .flat_map(|source| with_difference(source, source.name().to_owned(), "diff".to_owned()))
        .collect();
    let heads = ["policy", ""]
        .into_iter()
        .chain(heads.iter().map(String::as_str));
    let row = |cell: &Cell| {
        let names = [cell.policy.clone(), cell.name.clone()];
        let difference = cell
            .difference
            .map_or_else(|| NONE.to_owned(), signed_percent);
        let values = settings.sources().flat_map(|source| {
            let value = number(cell.values.get(&source).copied());
            with_difference(source, value, difference.clone())
        });
        names.into_iter().chain(values).collect::<Vec<_>>()
    };
    Table::of(heads, 2, case.cells.iter().map(row))
}

fn number(value: Option<f64>) -> String {
    match value {
        None => NONE.to_owned(),
        Some(value) if value < 99.995 => format!("{value:.2}"),
        Some(value) => format!("{value:.1}"),
    }
}

/// Lists the causes of differences over 5 % between simulated and published values in a case, each after the names of
/// the values that it explains.
fn causes(case: &CaseReport) -> Vec<(String, &str)> {
    let mut causes: Vec<(String, &str)> = Vec::new();
    for cell in &case.cells {
        let Some(cause) = &cell.cause else { continue };
        let name = format!("{} {}", cell.policy, cell.name);
        match causes.iter_mut().find(|(_, other)| other == cause) {
            Some((names, _)) => *names += &format!(", {name}"),
            None => causes.push((name, cause)),
        }
    }
    causes
}

/// States the command and commit that made the report, and how many runs are from other commits.
fn origin(report: &Report) -> String {
    let settings = &report.settings;
    let mut text = format!(
        "Written by `{}` at commit {}",
        settings.command, settings.commit
    );
    text += if is_clean(&settings.commit) {
        "."
    } else {
        "; the build was dirty: files differed from the commit, so the commit does not identify the program that wrote the report."
    };
    let runs = || report.cases.iter().flat_map(|case| case.runs.values());
    let all: BTreeSet<_> = runs().map(|run| &run.run).collect();
    let others: BTreeSet<_> = runs()
        .filter(|run| run.commit != settings.commit || !is_clean(&run.commit))
        .map(|run| &run.run)
        .collect();
    if !others.is_empty() {
        let others = others.len();
        let all = all.len();
        text += &format!(" {others} of the {all} runs are from another commit or a dirty build.");
    }
    text
}

/// Returns true if the commit name of a build has no suffix such as `+changes`, that is, no tracked file differed from
/// the commit.
fn is_clean(commit: &str) -> bool {
    commit.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the warnings of a case's runs, in the order of the sources.
fn warnings(case: &CaseReport) -> impl Iterator<Item = (Source, &str)> {
    case.runs.iter().flat_map(|(source, run)| {
        run.warnings
            .iter()
            .map(|warning| (*source, warning.as_str()))
    })
}

/// Returns the rows of the verdict table; verdicts against RedTE have separate rows.
fn claim_rows(report: &Report) -> Vec<Vec<String>> {
    let words = |judged: &Judged| {
        let is_weak = (judged.is_weak || !judged.doubtful.is_empty())
            && judged.verdict != ClaimVerdict::CannotTell;
        format!(
            "{}{}",
            judged.verdict.words(),
            if is_weak { "?" } else { "" }
        )
    };
    let row = |name: String, verdicts: &BTreeMap<Source, Judged>| {
        let sources = report.settings.sources();
        let verdicts =
            sources.map(|source| verdicts.get(&source).map_or_else(|| NONE.to_owned(), words));
        [name].into_iter().chain(verdicts).collect()
    };
    let rows = report.claims.iter().flat_map(|claim| {
        let redte = (!claim.redte.is_empty())
            .then(|| row(format!("{} against {REDTE}", claim.id), &claim.redte));
        [Some(row(claim.id.to_owned(), &claim.verdicts)), redte]
    });
    rows.flatten().collect()
}

/// Returns the verdicts on a claim, each after the name of its source.
fn judgements(claim: &ClaimReport) -> impl Iterator<Item = (String, &Judged)> {
    let verdicts = claim
        .verdicts
        .iter()
        .map(|(source, judged)| (source.name().to_owned(), judged));
    let redte = claim
        .redte
        .iter()
        .map(|(source, judged)| (format!("{} against {REDTE}", source.name()), judged));
    verdicts.chain(redte)
}

/// Returns the table row of a value that the paper's text states.
fn statement_row(row: &StatementReport, sources: &[Source]) -> Vec<String> {
    let stated = &row.stated;
    let quantity = match stated.quantity {
        Quantity::P50 => "p50",
        Quantity::P99 => "p99",
        Quantity::P50Rise => "p50 rise %",
        Quantity::P99Rise => "p99 rise %",
        Quantity::Utilisation => "% of",
        Quantity::Pairs => "pairs",
        Quantity::MultiPathPairs => "pairs with several paths",
        Quantity::DelayRatio => "longest / shortest delay",
    };
    let at = match (stated.quantity, stated.at.parse()) {
        (Quantity::Utilisation, _) | (_, Err(_)) => stated.at.clone(),
        (_, Ok(bytes)) => format!("at {} B", show::commas(bytes)),
    };
    let words: Vec<&str> = [&stated.policy, quantity, &at]
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect();
    let found = |source: Source| {
        let found = row.found.get(&source);
        found.map_or_else(
            || NONE.to_owned(),
            |[low, high]| span(Some(*low), Some(*high)),
        )
    };
    let stated = [
        stated.figure.clone(),
        words.join(" "),
        span(stated.low, stated.high),
    ];
    let found = sources.iter().copied().map(found);
    stated.into_iter().chain(found).collect()
}

/// Formats a value, or a range if its two ends differ.
fn span(low: Option<f64>, high: Option<f64>) -> String {
    let digits = |value: f64| match value {
        whole if whole.fract() == 0.0 => format!("{whole:.0}"),
        value => format!("{value:.1}"),
    };
    match (low.map(digits), high.map(digits)) {
        (None, None) => NONE.to_owned(),
        (None, Some(high)) => format!("<{high}"),
        (Some(low), None) => format!(">{low}"),
        (Some(low), Some(high)) if low == high => low,
        (Some(low), Some(high)) => format!("{low}…{high}"),
    }
    .replace('-', "−")
}

/// Returns the two table rows for a change that the paper's text states: p50 in the median bin, p99 in the worst bin.
fn text_rows(row: &TextReport, sources: &[Source]) -> [Vec<String>; 2] {
    let stated = &row.stated;
    let ends = [
        (stated.p50_least, stated.p50_most),
        (stated.p99_least, stated.p99_most),
    ];
    [0, 1].map(|at| {
        let found = |source: Source| {
            let both = row.found.get(&source);
            both.map_or_else(
                || NONE.to_owned(),
                |both| range(Some(both[at][0]), Some(both[at][1])),
            )
        };
        let stated = [
            match &*stated.case {
                "*" => stated.figure.clone(),
                case => format!("{} {case}", stated.figure),
            },
            format!("{} {}", stated.base, ["p50", "P99"][at]),
            range(ends[at].0, ends[at].1),
        ];
        let found = sources.iter().copied().map(found);
        stated.into_iter().chain(found).collect()
    })
}

/// Formats a range of changes in percent, starting from the smallest reduction.
fn range(least: Option<f64>, most: Option<f64>) -> String {
    let whole = |value: f64| match format!("{value:+.0}").replace('-', "−") {
        zero if ["+0", "−0"].contains(&&*zero) => "0".to_owned(),
        text => text,
    };
    match (least.map(whole), most.map(whole)) {
        (None, None) => NONE.to_owned(),
        (None, Some(one)) => format!("up to {one}"),
        (Some(one), None) => one,
        (Some(least), Some(most)) if least == most => least,
        (Some(least), Some(most)) => format!("{least}…{most}"),
    }
}

/// Compares a published coefficient of figure 6 with the coefficient computed from runs in the lab and the simulator.
fn fidelity_line(row: &FidelityReport) -> String {
    let found = match (row.found, &row.undecided) {
        (Some(found), _) => format!("{found:.4} between the lab and the simulator"),
        (None, Some(reason)) => format!("cannot tell: {reason}"),
        (None, None) => {
            "cannot tell: no lab run exists (hint: `--engine kernel` makes one)".to_owned()
        }
    };
    format!(
        "fig6 Pearson of {}: published {:.2}; {found}",
        row.percentile, row.published
    )
}

/// Folder of the figure beside the page.
pub const FIGURES: &str = "figures";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lab_reports::check::{Answer, Judgement};

    use super::*;
    use crate::{
        CASES, Case, CaseValues, Figure, catalogue::LCMP, measured::Played,
        published::tests::of_repository, report::CaseRuns,
    };

    /// Returns a report on figure 5 in which runs repeat the published values, except that LCMP's are twice as large.
    fn report(is_quick: bool) -> Report {
        let published = of_repository();
        let cases = CASES.iter().filter(|case| case.figure == Figure::Fig5);
        let runs = cases.map(|case| {
            let mut values = CaseValues::published(case, &published).unwrap();
            let lcmp = values.slowdowns.get_mut(LCMP).unwrap();
            lcmp.p50.mean *= 2.0;
            let measured = Measured {
                played: Played {
                    is_drawn: true,
                    is_short: is_quick,
                },
                run: "20260101T000000Z-fig5".into(),
                commit: "abc".into(),
                flows: 7_064,
                repetitions: 1,
                doubts: Vec::new(),
                warnings: vec!["C_cong changed 0 of 7,064 decisions".into()],
                values,
            };
            let without = Err("the lab was not asked for".to_owned());
            CaseRuns {
                case,
                runs: BTreeMap::from([
                    (Source::Simulated, Ok(measured)),
                    (Source::Emulated, without),
                ]),
            }
        });
        let settings = Settings {
            command: "lcmp-lab reproduce fig5".into(),
            commit: "abc".into(),
            figures: vec![Figure::Fig5],
            is_quick,
            is_in_trains: false,
        };
        Report::new(settings, &published, runs.collect(), None)
    }

    #[test]
    fn every_difference_and_its_cause_is_shown() {
        let report = report(false);
        let text = document(&report).terminal();
        for line in text.lines() {
            assert!(line.chars().count() <= show::WIDTH, "{line}");
        }
        let lcmp = "lcmp           p50       7.00      14.00  +100.0 %         –     –";
        assert!(text.contains(lcmp), "{text}");
        assert!(text.contains("over 5 %: lcmp p50: the output is"), "{text}");
        assert!(text.contains("fig5    redte p50"), "{text}");
        let claim = &report.claims[0];
        assert_eq!(
            claim.verdicts[&Source::Simulated].verdict,
            ClaimVerdict::HoldsPartly
        );
        let verdict = Judgement::of(&report.checks());
        assert_eq!(verdict, Judgement::Inconclusive, "fair runs are missing");
    }

    #[test]
    fn the_page_has_the_command_the_rules_and_every_run() {
        let text = document(&report(false)).markdown(FIGURES);
        for part in [
            "Written by `lcmp-lab reproduce fig5` at commit abc. Values are",
            "| C1 | holds | holds partly | cannot tell | cannot tell |",
            "| C1 against redte | – | cannot tell | cannot tell | cannot tell |",
            "Rows of redte: flows arrive for 8 to 200 ms,",
            "- simulated: C_cong changed 0 of 7,064 decisions",
            "Not requested: fig7, fig8.",
            "| lcmp | p50 | 7.00 | 14.00 | +100.0 % | – | – |",
            "- not emulated: the lab was not asked for",
            "| 20260101T000000Z-fig5 | abc | 1 | – |",
            "(figures/reproduction.png)",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("a tenth of the duration"), "{text}");
    }

    #[test]
    fn trains_have_a_column_if_they_are_asked_for() {
        let published = of_repository();
        let Report {
            mut settings,
            cases,
            ..
        } = report(true);
        settings.is_in_trains = true;
        let runs = cases.into_iter().map(|case| {
            let is_of = |it: &&Case| (it.figure, it.name) == (case.figure, case.case);
            let simulated = case.runs.into_values().map(Ok);
            CaseRuns {
                case: CASES.iter().find(is_of).unwrap(),
                runs: [Source::Trains].into_iter().zip(simulated).collect(),
            }
        });
        let report = Report::new(settings, &published, runs.collect(), None);
        let text = document(&report).markdown(FIGURES);
        for part in [
            "Trains: like Simulated, but",
            "| claim | published | simulated | trains | emulated | fair |",
            "| C1 | holds | cannot tell | holds partly? | cannot tell | cannot tell |",
            "| policy |  | published | simulated | diff | trains | emulated | fair |",
            "| lcmp | p50 | 7.00 | – | – | 14.00 | – | – |",
            "| figure | against | text | simulated | trains | emulated | fair |",
            "| figure | value | text | published | simulated | trains | emulated | fair |",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let checks = report.checks();
        let codes: Vec<_> = checks.iter().map(|check| check.code.as_str()).collect();
        assert!(
            codes.iter().all(|code| code.ends_with(" trains")),
            "{codes:?}"
        );
        assert_eq!(Judgement::of(&checks), Judgement::Pass);
    }

    #[test]
    fn a_report_of_changed_files_says_dirty_and_counts_runs_of_other_commits() {
        let mut report = report(false);
        let clean = "Written by `lcmp-lab reproduce fig5` at commit abc.";
        assert_eq!(origin(&report), clean);
        report.settings.commit = "abc+changes".into();
        let found = origin(&report);
        assert!(
            found.contains("commit abc+changes; the build was dirty: "),
            "{found}"
        );
        let others = "1 of the 1 runs are from another commit or a dirty build.";
        assert!(found.ends_with(others), "{found}");
    }

    #[test]
    fn a_value_of_the_text_is_one_number_or_a_range() {
        assert_eq!(span(Some(16.0), Some(16.0)), "16");
        assert_eq!(span(Some(6.1), Some(7.63)), "6.1…7.6");
        assert_eq!(span(Some(20.0), None), ">20");
        assert_eq!(span(Some(-3.5), Some(-3.5)), "−3.5");
    }

    #[test]
    fn verdicts_of_a_quick_run_are_marked() {
        let rows = claim_rows(&report(true));
        assert_eq!(
            rows[0],
            ["C1", "holds", "holds partly?", "cannot tell", "cannot tell"]
        );
        let text = document(&report(true)).terminal();
        assert!(text.contains("over 5 %: lcmp p50: a tenth of the duration"));
    }

    #[test]
    fn verdicts_of_a_doubtful_run_are_marked_and_name_its_case() {
        let published = of_repository();
        let mut found = report(false);
        let runs = found
            .cases
            .iter_mut()
            .map(|case| {
                let mut runs = std::mem::take(&mut case.runs);
                let run = runs.get_mut(&Source::Simulated).unwrap();
                if case.case == "50 %" {
                    run.doubts = vec!["2 flows did not finish".into()];
                }
                CaseRuns {
                    case: CASES
                        .iter()
                        .find(|it| (it.figure, it.name) == (case.figure, case.case))
                        .unwrap(),
                    runs: runs
                        .into_iter()
                        .map(|(source, run)| (source, Ok(run)))
                        .collect(),
                }
            })
            .collect();
        let report = Report::new(found.settings, &published, runs, None);
        assert_eq!(claim_rows(&report)[0][2], "holds partly?");
        let reason = report.claims[0].verdicts[&Source::Simulated].reason();
        assert!(reason.ends_with("; doubtful runs: fig5 50 %"), "{reason}");
    }

    #[test]
    fn figure_6_is_decided_by_runs_or_undecided_for_a_reason() {
        let published = of_repository();
        let report = |fidelity| {
            let settings = Settings {
                command: "lcmp-lab reproduce fig6".into(),
                commit: "abc".into(),
                figures: vec![Figure::Fig6],
                is_quick: false,
                is_in_trains: false,
            };
            Report::new(settings, &published, Vec::new(), fidelity)
        };
        let failed = "the simulation ran out of memory";
        for (fidelity, words, verdict) in [
            (None, "no lab run exists", Judgement::Pass),
            (Some(Ok([0.9, 0.8])), "0.9000 between", Judgement::Pass),
            (Some(Err(failed.into())), failed, Judgement::Inconclusive),
        ] {
            let report = report(fidelity);
            let text = report.text();
            assert!(text.contains(words), "{text}");
            assert_eq!(Judgement::of(&report.checks()), verdict, "{words}");
        }
    }

    #[test]
    fn ranges_read_from_the_smallest_to_the_largest_reduction() {
        assert_eq!(range(Some(-36.0), Some(-41.4)), "−36…−41");
        assert_eq!(range(Some(3.0), Some(-0.2)), "+3…0");
        assert_eq!(range(Some(-76.0), Some(-76.2)), "−76");
        assert_eq!(range(None, Some(-54.0)), "up to −54");
        assert_eq!(range(None, None), NONE);
    }
}
