//! History page of a suite: each gauge over time, with its level changes.

use std::collections::BTreeMap;

use lab_records::HistoryRow;
use maud::{Markup, html};

use crate::changepoint::{ChangePoint, change_points};

/// History of one gauge in one case.
#[derive(Clone, Debug, PartialEq)]
pub struct GaugeSeries<'a> {
    /// Name of the case.
    pub case: &'a str,
    /// Name of the gauge, such as `lcmp.p99`.
    pub gauge: &'a str,
    /// Rows of the history, oldest first.
    pub rows: Vec<&'a HistoryRow>,
    /// Level changes, found in the logarithms of the values.
    pub changes: Vec<ChangePoint>,
}

/// Groups the rows of a suite's history by case and gauge.
#[must_use]
pub fn series<'a>(suite: &str, rows: &'a [HistoryRow]) -> Vec<GaugeSeries<'a>> {
    let mut by_gauge: BTreeMap<(&str, &str), Vec<&HistoryRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.suite == suite) {
        let key = (row.case.as_str(), row.gauge.as_str());
        by_gauge.entry(key).or_default().push(row);
    }
    let series = by_gauge.into_iter().map(|((case, gauge), rows)| {
        let logs: Vec<f64> = rows.iter().map(|row| row.value.ln()).collect();
        GaugeSeries {
            case,
            gauge,
            changes: change_points(&logs),
            rows,
        }
    });
    series.collect()
}

impl GaugeSeries<'_> {
    /// Describes each level change in one sentence without a full stop.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let sentence = |change: &ChangePoint| {
            let row = self.rows[change.at];
            format!(
                "{} {}: {:.3} → {:.3} ({:+.1} %) at {}, commit {}",
                self.case,
                self.gauge,
                change.before.exp(),
                change.after.exp(),
                ((change.after - change.before).exp() - 1.0) * 100.0,
                row.at,
                row.commit
            )
        };
        self.changes.iter().map(sentence).collect()
    }
}

/// Returns the history of a suite as an HTML page.
#[must_use]
pub fn page(suite: &str, series: &[GaugeSeries<'_>], version: &str) -> String {
    let changes: Vec<String> = series.iter().flat_map(GaugeSeries::sentences).collect();
    let body = html! {
        header {
            h1 { (suite) ": history" }
            p.note {
                "Geometric means over repetitions of each policy's percentiles of FCT slowdown, one value \
                 for each run of the suite. A vertical line is a change of level (PELT on logarithms, \
                 penalty 16 σ²): noise alone causes one in at most 1 % of histories."
            }
        }
        main {
            section {
                h2 { "Changes of level" }
                @if changes.is_empty() { p { "None." } }
                @else { ul { @for change in &changes { li { (change) } } } }
            }
            section {
                h2 { "Gauges" }
                div.wide {
                    table {
                        thead {
                            tr {
                                th { "case" } th { "gauge" } th.n { "runs" } th.n { "first" }
                                th.n { "last" } th { "history" }
                            }
                        }
                        tbody { @for one in series { (row(one)) } }
                    }
                }
            }
        }
    };
    lab_reports::bare_page(&format!("{suite}: history · lcmp-lab"), version, &body)
}

fn row(series: &GaugeSeries<'_>) -> Markup {
    let value =
        |row: Option<&&HistoryRow>| row.map_or(String::new(), |row| format!("{:.3}", row.value));
    html! {
        tr {
            th { (series.case) }
            th { (series.gauge) }
            td.n { (series.rows.len()) }
            td.n { (value(series.rows.first())) }
            td.n { (value(series.rows.last())) }
            td { (line(series)) }
        }
    }
}

/// Draws the values as an SVG line, scaled so that the smallest is at the bottom and the largest at the top.
fn line(series: &GaugeSeries<'_>) -> Markup {
    let values = || series.rows.iter().map(|row| row.value);
    let min = values().fold(f64::INFINITY, f64::min);
    let max = values().fold(0.0, f64::max);
    let span = if max > min { max - min } else { 1.0 };
    let count = u32::try_from(series.rows.len()).unwrap_or(u32::MAX);
    let x = |at: f64| (at + 0.5) / f64::from(count) * WIDTH;
    let points: Vec<String> = (0u32..)
        .zip(values())
        .map(|(at, value)| {
            let y = HEIGHT - 4.0 - (value - min) / span * (HEIGHT - 8.0);
            format!("{:.1},{y:.1}", x(f64::from(at)))
        })
        .collect();
    let label = format!(
        "{} {} over {count} runs, {min:.3} to {max:.3}",
        series.case, series.gauge
    );
    html! {
        svg role="img" aria-label=(label) viewBox=(format!("0 0 {WIDTH} {HEIGHT}"))
            width=(WIDTH) height=(HEIGHT) {
            @for change in &series.changes {
                @let at = x(f64::from(u32::try_from(change.at).unwrap_or(u32::MAX)) - 0.5);
                line x1=(format!("{at:.1}")) x2=(format!("{at:.1}")) y1="0" y2=(HEIGHT)
                    stroke="currentColor" stroke-dasharray="3 2";
            }
            polyline points=(points.join(" ")) fill="none" stroke="currentColor" stroke-width="1.5";
            @for point in &points {
                @if let Some((cx, cy)) = point.split_once(',') {
                    circle cx=(cx) cy=(cy) r="1.8" fill="currentColor";
                }
            }
        }
    }
}

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 44.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn history(values: &[f64]) -> Vec<HistoryRow> {
        let row = |(at, value): (usize, &f64)| HistoryRow {
            suite: "nightly".into(),
            case: "8dc".into(),
            gauge: "lcmp.p99".into(),
            at: format!("night {at}"),
            commit: format!("c{at}"),
            value: *value,
            run: String::new(),
        };
        values.iter().enumerate().map(row).collect()
    }

    #[test]
    fn a_change_of_level_names_its_commit() {
        let rows = history(&[2.0, 2.01, 1.99, 2.0, 2.2, 2.21, 2.19, 2.2]);
        let found = series("nightly", &rows);
        let sentences = found[0].sentences();
        assert_eq!(sentences.len(), 1, "{sentences:?}");
        assert!(
            sentences[0].contains("(+10.0 %) at night 4, commit c4"),
            "{sentences:?}"
        );
        let html = page("nightly", &found, "0.1.0");
        assert!(
            html.contains(&sentences[0]) && html.contains("<polyline"),
            "{html}"
        );
        assert_eq!(series("other", &rows), []);
    }

    /// With two runs, the points are at a quarter and three quarters of the width 420; the height 40 has a margin of 4 at
    /// both edges.
    #[test]
    fn runs_are_spread_over_the_width_and_values_over_the_height() {
        let rows = history(&[1.0, 3.0]);
        let found = series("nightly", &rows);
        let svg = line(&found[0]).into_string();
        assert!(svg.contains(r#"points="105.0,40.0 315.0,4.0""#), "{svg}");
    }
}
