//! An explanation for a person.

use std::fmt::Write;

use super::{Explained, Explanation};
use crate::text::about_bytes;

/// The candidates in the table's order, with what was kept and chosen.
#[must_use]
pub fn render(explanation: &Explanation) -> String {
    let Explanation {
        from,
        to,
        policy,
        hash,
        rule,
        is_scored,
        candidates,
    } = explanation;
    let mut text = format!("{from} to {to} under {policy}: hash {hash}");
    let _ = match rule {
        Some(rule) => writeln!(text, ", {rule}"),
        None => writeln!(text, ", no link is up"),
    };
    let rows: Vec<Vec<String>> = candidates
        .iter()
        .map(|candidate| cells(candidate, *is_scored))
        .collect();
    let heads: Vec<&str> = heads(*is_scored);
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heads[column].chars().count()]).max()
    };
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let mut line = |cells: &[String]| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            // Names to the left, numbers to the right.
            let _ = if line.is_empty() {
                write!(line, "  {cell:width$}")
            } else {
                write!(line, "  {cell:>width$}")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    };
    line(
        &heads
            .iter()
            .map(|head| (*head).to_owned())
            .collect::<Vec<_>>(),
    );
    for row in &rows {
        line(row);
    }
    text
}

fn heads(is_scored: bool) -> Vec<&'static str> {
    let mut heads = vec!["via", "delay", "capacity"];
    if is_scored {
        heads.extend([
            "delay score",
            "capacity score",
            "C_path",
            "queue",
            "Q",
            "T",
            "D",
            "C_cong",
            "C",
        ]);
    } else {
        heads.extend(["queue", "buckets"]);
    }
    heads.push("fate");
    heads
}

fn cells(candidate: &Explained, is_scored: bool) -> Vec<String> {
    let mut cells = vec![
        candidate.via.clone(),
        candidate.delay_ns.to_string(),
        candidate.capacity_bps.to_string(),
    ];
    let queue = about_bytes(candidate.queue_bytes);
    if is_scored {
        let scores = [
            candidate.delay_score,
            candidate.capacity_score,
            candidate.c_path,
        ];
        cells.extend(scores.map(|score| score.to_string()));
        cells.push(queue);
        let levels = [candidate.q, candidate.t, candidate.d, candidate.c_cong];
        cells.extend(levels.map(|level| level.to_string()));
        cells.push(candidate.cost.to_string());
    } else {
        cells.push(queue);
        cells.push(candidate.buckets.to_string());
    }
    let fate = match (candidate.is_alive, candidate.is_chosen, candidate.is_kept) {
        (false, ..) => "down",
        (true, true, _) => "chosen",
        (true, false, true) => "kept",
        (true, false, false) => "-",
    };
    cells.push(fate.to_owned());
    cells
}
