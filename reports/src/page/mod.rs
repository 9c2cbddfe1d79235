//! The HTML page: one file that loads nothing and runs only its own scripts.

mod certificate;
mod contents;
mod evidence;
mod facts;
mod flows;
mod links;
mod live;
mod results;
mod swatch;

use lab_records::Grade;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{
    error::ReportError,
    figure::font_face,
    figures::{Captioned, Section},
    summary::Summary,
    words,
};
pub use contents::Page;
pub use swatch::swatched;

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

/// Returns a page that loads nothing, with this title and body, as lcmp-lab of this version writes it.
pub fn document(title: &str, version: &str, body: &Markup) -> String {
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(security_policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(format!("lcmp-lab {version}"));
                title { (title) }
                style {
                    (PreEscaped(STYLE))
                    @for style in live::STYLES { (PreEscaped(style)) }
                    (PreEscaped(font_face()))
                }
            }
            body { (body) }
        }
    };
    html.into_string() + "\n"
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

/// Returns a figure with its title and caption, and links to its files in `folder`.
pub fn captioned(figure: &Captioned, folder: &str) -> Markup {
    let name = figure.image.name;
    html! {
        figure id=(name) {
            h3 { (figure.title) }
            div.drawing { (figure.image.inline(&figure.title)) }
            figcaption {
                @if let Some(caption) = &figure.caption { (caption) " " }
                span.files {
                    @for kind in ["png", "svg", "csv"] {
                        a href=(format!("{folder}{name}.{kind}")) { (kind.to_uppercase()) } " "
                    }
                }
            }
        }
    }
}

const STYLE: &str = include_str!("style.css");

/// Returns the content security policy: nothing is loaded, only the page's own scripts run; styles and
/// the font are in the page.
fn security_policy() -> String {
    let scripts = live::allowed_scripts();
    format!(
        "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; font-src data:; \
         base-uri 'none'; form-action 'none'"
    )
}
