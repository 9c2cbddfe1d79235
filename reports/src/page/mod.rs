//! The HTML page: one file that loads nothing and has no scripts.

mod evidence;
mod facts;
mod flows;
mod links;
mod results;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use plotters::style::RGBColor;

use crate::{
    error::ReportError,
    figure::{font_face, theme::policy_colors},
    figures::Captioned,
    report::Summary,
    run::Run,
    text,
};

/// Contents of the page.
pub struct Page<'a> {
    /// The records.
    pub run: &'a Run,
    /// The results.
    pub summary: &'a Summary,
    /// The figures.
    pub figures: &'a [Captioned],
}

/// Returns the page's HTML.
pub fn page(page: &Page<'_>) -> Result<String, ReportError> {
    let run = page.run;
    let title = format!("{} · lcmp-lab", run.info.scenario);
    let routes = flows::routes(page)?;
    let body = html! {
        header {
            h1 { (run.info.scenario) }
            @if !run.info.description.is_empty() {
                p.lead { (run.info.description) }
            }
            p.note { (facts::headline(run)) }
        }
        (banner(page.summary))
        main {
            section {
                h2 { "Results" }
                (results::tables(page))
                (evidence::tables(page.summary))
            }
            section {
                h2 { "Figures" }
                @for figure in page.figures { (captioned(figure)) }
            }
            section {
                h2 { "Routes" }
                (routes)
            }
            section {
                h2 { "Links" }
                (links::tables(page))
            }
            section {
                h2 { "The run" }
                (facts::list(run))
            }
            section {
                h2 { "Flows" }
                (flows::table(run))
            }
        }
        footer {
            p {
                "Written by lcmp-lab " (run.info.tool_version) " from the records beside \
                 this file. Figures are in " code { "figures/" } " as SVG and PNG."
            }
        }
    };
    Ok(document(&title, &run.info.tool_version, &body))
}

/// Returns a page that loads nothing, with this title and body, as lcmp-lab of this version writes it.
pub fn document(title: &str, version: &str, body: &Markup) -> String {
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(format!("lcmp-lab {version}"));
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(font_face())) }
            }
            body { (body) }
        }
    };
    html.into_string() + "\n"
}

fn banner(summary: &Summary) -> Markup {
    html! {
        @if summary.clean {
            div.banner role="status" {
                strong { "Clean run." }
                " Every scheduled flow finished, and none was launched late."
            }
        } @else {
            div.banner.bad role="alert" {
                strong { "Not a clean run: do not trust these numbers before you know why." }
                ul { @for reason in &summary.reasons { li { (reason) } } }
            }
        }
    }
}

/// Returns a figure with its title and caption.
pub fn captioned(figure: &Captioned) -> Markup {
    html! {
        figure id=(figure.image.name) {
            h3 { (figure.title) }
            (figure.image.inline(&figure.title))
            @if let Some(caption) = &figure.caption { figcaption { (caption) } }
        }
    }
}

fn policy_name(run: &Run, policy: &str) -> Markup {
    swatched(&run.flows.policies, policy)
}

/// Returns the label of one of `policies` after its colour.
pub fn swatched(policies: &[String], policy: &str) -> Markup {
    let colors = policy_colors(policies);
    let index = policies.iter().position(|label| label == policy);
    let color = index.and_then(|index| colors.get(index));
    html! {
        @if let Some(color) = color {
            svg.swatch viewBox="0 0 1 1" aria-hidden="true" { rect width="1" height="1" fill=(hex(*color)); }
        }
        (policy)
    }
}

fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// Text of a table's cell without a value.
pub const NONE: &str = "–";

fn or_none(value: Option<String>) -> String {
    value.unwrap_or_else(|| NONE.into())
}

const STYLE: &str = include_str!("style.css");

/// Content security policy: nothing is loaded or run; styles and the font are in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; font-src data:; \
                      base-uri 'none'; form-action 'none'";

/// Returns `count` with its noun.
fn counted(count: u64, noun: &str) -> String {
    text::count(usize::try_from(count).unwrap_or(usize::MAX), noun)
}
