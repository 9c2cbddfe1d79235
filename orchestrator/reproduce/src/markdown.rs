//! Formats the report as Markdown.

use std::{collections::BTreeSet, fmt::Write};

use crate::{
    report::{CaseReport, ClaimReport, Report},
    text::{
        CELL_HEADS, CLAIM_HEADS, LEGEND, NONE, QUICK, STATEMENT_HEADS, STATEMENT_LEGEND,
        TEXT_HEADS, TEXT_LEGEND, causes, cell_row, claim_rows, fidelity_line, judgements, origin,
        statement_row, text_rows, traffic, warnings,
    },
};

/// Returns the report, which shows the figure `reproduction` from the folder `figures` next to the report.
#[must_use]
pub fn markdown(report: &Report, figures: &str) -> String {
    let mut text = format!(
        "# The paper's figures, reproduced\n\n{} {LEGEND}\n\n",
        origin(report)
    );
    if report.settings.is_quick {
        let runs = || report.cases.iter().flat_map(|case| case.runs.values());
        let short: BTreeSet<_> = runs()
            .filter(|run| run.played.is_short)
            .map(|run| &run.run)
            .collect();
        let all: BTreeSet<_> = runs().map(|run| &run.run).collect();
        let short = short.len();
        let all = all.len();
        let _ = writeln!(text, "{QUICK} {short} of the {all} runs are so short.\n");
    }
    text += "## Claims\n\n";
    table(&mut text, CLAIM_HEADS, &claim_rows(report));
    for claim in &report.claims {
        claim_section(&mut text, claim);
    }
    if !report.text.is_empty() {
        let _ = writeln!(text, "## Percentages of the text\n\n{TEXT_LEGEND}\n");
        let rows = report.text.iter().flat_map(text_rows);
        table(&mut text, TEXT_HEADS, &rows.collect::<Vec<_>>());
    }
    if !report.statements.is_empty() {
        let _ = writeln!(text, "## Values of the text\n\n{STATEMENT_LEGEND}\n");
        let rows: Vec<_> = report.statements.iter().map(statement_row).collect();
        table(&mut text, STATEMENT_HEADS, &rows);
    }
    if !report.contradictions.is_empty() {
        text += "## Text against data\n\n";
        let rows = report
            .contradictions
            .iter()
            .map(|row| [row.figure.clone(), row.text.clone(), row.data.clone()]);
        table(
            &mut text,
            ["figure", "the text", "the published data and code"],
            &rows.collect::<Vec<_>>(),
        );
    }
    let _ = write!(
        text,
        "## Values\n\n![Published and found slowdowns]({figures}/reproduction.png)\n\nEach dot is a p50 or p99; \
         the dashed line is where published and found values are equal.\n\n"
    );
    for row in &report.fidelity {
        let _ = writeln!(text, "{}.\n", fidelity_line(row));
    }
    for case in &report.cases {
        case_section(&mut text, case);
    }
    runs(&mut text, report);
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn claim_section(text: &mut String, claim: &ClaimReport) {
    let list = |at: usize| {
        let names: Vec<&str> = claim.figures[at]
            .iter()
            .map(|figure| figure.name())
            .collect();
        names.join(", ")
    };
    let _ = write!(
        text,
        "**{}**: “{}” Rule, over {}: {}.",
        claim.id,
        claim.sentence,
        list(0),
        claim.rule
    );
    if !claim.figures[1].is_empty() {
        let _ = write!(text, " Not asked for: {}.", list(1));
    }
    text.push_str("\n\n");
    for (who, judged) in judgements(claim) {
        let _ = writeln!(
            text,
            "- {who}: {}: {}",
            judged.verdict.words(),
            judged.reason()
        );
    }
    text.push('\n');
}

fn case_section(text: &mut String, case: &CaseReport) {
    let _ = writeln!(
        text,
        "### {} {}\n\n{}.\n",
        case.figure,
        case.case,
        traffic(case)
    );
    let rows: Vec<_> = case.cells.iter().map(cell_row).collect();
    table(text, CELL_HEADS, &rows);
    for (names, cause) in causes(case) {
        let _ = writeln!(text, "- over 5 %: {names}: {cause}");
    }
    for (source, warning) in warnings(case) {
        let _ = writeln!(text, "- {}: {warning}", source.name());
    }
    for (source, reason) in &case.without {
        let _ = writeln!(text, "- not {}: {reason}", source.name());
    }
    text.push('\n');
}

fn runs(text: &mut String, report: &Report) {
    text.push_str("## Runs\n\n");
    let mut rows: Vec<[String; 4]> = Vec::new();
    for run in report.cases.iter().flat_map(|case| case.runs.values()) {
        let doubts = if run.doubts.is_empty() {
            NONE.to_owned()
        } else {
            run.doubts.join("; ")
        };
        let repetitions = run.repetitions.to_string();
        let row = [run.run.clone(), run.commit.clone(), repetitions, doubts];
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let heads = ["run", "commit of the tool", "repetitions", "not clean"];
    table(text, heads, &rows);
}

fn table<const N: usize>(text: &mut String, heads: [&str; N], rows: &[[String; N]]) {
    let _ = writeln!(text, "| {} |\n|{}", heads.join(" | "), "---|".repeat(N));
    for row in rows {
        let cells = row.each_ref().map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::report;

    #[test]
    fn the_page_has_the_command_the_rules_and_every_run() {
        let text = markdown(&report(false), "figures");
        for part in [
            "Written by `lcmp-lab reproduce fig5` at commit abc. Values are",
            "| C1 | holds | holds partly | cannot tell | cannot tell |",
            "| C1 te-100ms for RedTE | – | – | – | cannot tell |",
            "- simulated: C_cong changed 0 of 7,064 decisions",
            "Not asked for: fig7, fig8.",
            "| lcmp | p50 | 7.00 | 14.00 | +100.0 % | – | – |",
            "- not emulated: the lab was not asked for",
            "| 20260101T000000Z-fig5 | abc | 1 | – |",
            "(figures/reproduction.png)",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("a tenth of the duration"), "{text}");
    }
}
