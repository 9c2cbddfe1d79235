//! Frame of every page: head and styles, and figures with captions.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::live;
use crate::{figure::font_face, figures::Captioned};

/// Returns a page with this title and body, which loads no other files and names the version of lcmp-lab.
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

/// Returns a figure with its title and caption, and with links to its files in `folder`.
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

/// Returns the content security policy of pages: nothing may be loaded, and only the page's own scripts may run. Styles
/// and the font are in the page.
fn security_policy() -> String {
    let scripts = live::allowed_scripts();
    format!(
        "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; font-src data:; \
         base-uri 'none'; form-action 'none'"
    )
}
