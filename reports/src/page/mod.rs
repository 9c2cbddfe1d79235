//! The HTML page: one file that loads nothing and runs only its own scripts.

mod certificate;
mod contents;
mod evidence;
mod facts;
mod flows;
pub(crate) mod frame;
mod links;
mod live;
mod results;
pub(crate) mod swatch;

use lab_records::Grade;
use maud::{Markup, html};

use self::frame::{captioned, document};
use crate::{error::ReportError, figures::Section, summary::Summary, words};
pub use contents::Page;

/// Returns the page's HTML.
pub fn page(page: &Page<'_>) -> Result<String, ReportError> {
    let run = page.run;
    let title = format!("{} · lcmp-lab", run.info.scenario);
    let routes = flows::routes(page)?;
    let sections: [(&str, &str, Markup); 6] = [
        (
            "results",
            "Which policy is faster?",
            html! {
                (results::tables(page))
                (evidence::tables(page.summary))
            },
        ),
        (
            "slowdown",
            "Which flows gain, and which lose?",
            figures_of(page, Section::Slowdown),
        ),
        (
            "paths",
            "Which paths did flows take?",
            html! {
                (figures_of(page, Section::Paths))
                h3 { "Routes" }
                (routes)
            },
        ),
        (
            "links",
            "How full were links and queues?",
            html! {
                (figures_of(page, Section::Links))
                (links::tables(page))
            },
        ),
        (
            "flows",
            "What happened to single flows?",
            html! {
                (live::timeline())
                (figures_of(page, Section::Flows))
                (flows::table(run))
            },
        ),
        ("run", "How was the run made?", facts::list(run)),
    ];
    let body = html! {
        header {
            h1 { (run.info.scenario) }
            @if !run.info.description.is_empty() {
                p.lead { (run.info.description) }
            }
            p.note { (facts::headline(run)) }
        }
        (banner(page.summary))
        (facts::brief(run, page.summary))
        (contents(page, &sections))
        main {
            @for (id, title, content) in &sections {
                details.fold id=(id) open[*id == "results"] {
                    summary { h2 { (title) } }
                    (content)
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
    let body = html! { (body) (live::scripts(page)?) };
    Ok(document(&title, &run.info.tool_version, &body))
}

/// Returns the list of sections and figures, with links.
fn contents(page: &Page<'_>, sections: &[(&str, &str, Markup)]) -> Markup {
    html! {
        nav aria-label="contents" {
            ol {
                @for (id, title, _) in sections {
                    li {
                        a href=(format!("#{id}")) { (title) }
                        span {
                            @for figure in page.figures.iter().filter(|it| it.section.id() == *id) {
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

fn figures_of(page: &Page<'_>, section: Section) -> Markup {
    let figures = page
        .figures
        .iter()
        .filter(|figure| figure.section == section);
    html! { @for figure in figures { (captioned(figure, "figures/")) } }
}

fn banner(summary: &Summary) -> Markup {
    html! {
        @if summary.verdict == Grade::Valid {
            div.banner role="status" {
                p.answer { (summary.answer) }
                p { "Every scheduled flow finished, and every figure of the run is within its bound." }
                @if !summary.unexercised.is_empty() {
                    p { "Warnings about the ranking:" }
                    ul { @for warning in &summary.unexercised { li { (warning) } } }
                }
            }
        } @else {
            div.banner.bad role="alert" {
                strong {
                    @match summary.verdict {
                        Grade::Invalid => "Invalid run: these numbers are not those of the scenario.",
                        _ => "Doubtful run: do not trust these numbers before you know why.",
                    }
                }
                ul { @for reason in &summary.reasons { li { (reason.grade) ": " (words::reason(reason)) } } }
            }
        }
    }
}
