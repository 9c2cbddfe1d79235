//! Text at the end of a run.

use anstyle::{AnsiColor, Style};

use crate::{document::text_of, questions::Answered, stats::Meaning, text::WIDTH};

/// Returns the terminal text of all answers to the report's questions, separated by blank lines, in lines of at most
/// [`WIDTH`] characters.
pub fn closing(answers: &[Answered<'_>]) -> String {
    let text = |(_, blocks): &Answered<'_>| {
        let text = text_of(blocks, WIDTH);
        text.trim_start_matches('\n').to_owned()
    };
    let mut texts: Vec<String> = answers.iter().map(text).collect();
    texts.retain(|text| !text.is_empty());
    texts.join("\n")
}

/// Colours warnings, and words that rate a change, such as `better`, for a terminal.
pub fn painted(text: &str) -> String {
    let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    let mut painted = text.to_owned();
    for meaning in Meaning::ALL {
        let style = match meaning {
            Meaning::Better => color(AnsiColor::Green),
            Meaning::Worse => color(AnsiColor::Red),
            Meaning::Same | Meaning::Unknown => Style::new().dimmed(),
        };
        let words = format!(": {}", meaning.name());
        painted = painted.replace(&words, &format!("{style}{words}{style:#}"));
    }
    let warning = color(AnsiColor::Yellow);
    painted.replace("\nwarning: ", &format!("\n{warning}warning:{warning:#} "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_no_character() {
        let text = "lcmp  p50 -60 %: better\nwarning: no flow met another\n";
        let colored = painted(text);
        assert!(colored.contains("\u{1b}[32m: better"), "{colored}");
        assert!(colored.contains("\n\u{1b}[33mwarning:"), "{colored}");
        let mut plain = colored;
        for code in ["\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, text);
    }
}
