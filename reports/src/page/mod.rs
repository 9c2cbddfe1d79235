//! HTML page of a run: one file that loads no others and runs only its own scripts.

pub(crate) mod frame;
mod header;
pub(crate) mod live;
pub(crate) mod swatch;

use lab_records::Grade;
use maud::{Markup, html};

use self::frame::document;
use crate::{
    error::ReportError,
    questions::{Answered, Question, ReportInputs},
    summary::Summary,
    words,
};

/// Returns the page of the run, with a section for each question that the run answers.
pub fn page(inputs: &ReportInputs<'_>, answers: &[Answered<'_>]) -> Result<String, ReportError> {
    let run = inputs.run;
    let title = format!("{} · lcmp-lab", run.info.scenario);
    let section = |(question, blocks): &Answered<'_>| {
        let markup = html! { @for block in blocks { (block.html("figures/")) } };
        (*question, markup)
    };
    let sections: Vec<(&Question, Markup)> = answers
        .iter()
        .map(section)
        .filter(|(_, markup)| !markup.0.is_empty())
        .collect();
    let body = html! {
        header {
            h1 { (run.info.scenario) }
            @if !run.info.description.is_empty() {
                p.lead { (run.info.description) }
            }
            p.note { (header::headline(run)) }
        }
        (banner(inputs.summary))
        (header::brief(run, inputs.summary))
        (contents(inputs, &sections))
        main {
            @for (question, markup) in &sections {
                details.fold id=(question.id) open[question.is_open] {
                    summary { h2 { (question.title) } }
                    (markup)
                }
            }
        }
        footer {
            p {
                "Written by lcmp-lab " (run.info.tool_version) " from the records beside \
                 this file. Figures are in " code { "figures/" } " as SVG and PNG, and their \
                 numbers as CSV."
            }
        }
    };
    let body = html! { (body) (live::scripts(run)?) };
    Ok(document(&title, &run.info.tool_version, &body))
}

/// Returns the table of contents, with links to sections and figures.
fn contents(inputs: &ReportInputs<'_>, sections: &[(&Question, Markup)]) -> Markup {
    html! {
        nav aria-label="contents" {
            ol {
                @for (Question { id, title, .. }, _) in sections {
                    li {
                        a href=(format!("#{id}")) { (title) }
                        span {
                            @for figure in inputs.figures.get(id).into_iter().flatten() {
                                a.sub href=(format!("#{}", figure.image.name)) { (figure.title) }
                                " "
                            }
                        }
                    }
                }
            }
        }
    }
}

fn banner(summary: &Summary) -> Markup {
    html! {
        @if summary.verdict == Grade::Valid {
            div.banner role="status" {
                p.answer { (summary.headline) }
                p { "Every scheduled flow finished, and every measured value of the run is within its bound." }
                @if !summary.unexercised.is_empty() {
                    p { "Warnings about the ranking:" }
                    ul { @for warning in &summary.unexercised { li { (warning) } } }
                }
            }
        } @else {
            div.banner.bad role="alert" {
                strong {
                    @match summary.verdict {
                        Grade::Invalid => "Invalid run: these results do not represent the scenario.",
                        _ => "Doubtful run: do not trust these numbers before you know why.",
                    }
                }
                ul { @for reason in &summary.reasons { li { (reason.grade) ": " (words::reason(reason)) } } }
            }
        }
    }
}
