//! Short names of datacenters, made of labels.

use std::collections::BTreeSet;

/// Rules for the names of datacenters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NameRules<'a> {
    /// Maximum length in characters, at least 4.
    pub max: usize,
    /// Names that must not be given.
    pub reserved: &'a [&'a str],
}

impl Default for NameRules<'_> {
    fn default() -> Self {
        Self {
            max: 8,
            reserved: &[],
        }
    }
}

/// Returns a name for each label, in the same order; all names differ.
///
/// A name has the lower-case letters and digits of its label, at most `rules.max` of them, and starts with a letter. If
/// an earlier label has the same name, a number from 2 follows, after an `x` if the name ends with a digit. So a name
/// depends only on its label and the labels before it.
#[must_use]
pub fn names<'l>(labels: impl Iterator<Item = &'l str>, rules: NameRules<'_>) -> Vec<String> {
    let mut taken: BTreeSet<String> = rules.reserved.iter().map(|&name| name.to_owned()).collect();
    labels
        .map(|label| {
            let mut stem = plain_letters(label);
            stem.truncate(rules.max);
            let numbered = (2_u64..).map(|number| with_number(&stem, number, rules.max));
            let mut names = std::iter::once(stem.clone()).chain(numbered);
            let name = names.find(|name| !taken.contains(name)).unwrap_or(stem);
            taken.insert(name.clone());
            name
        })
        .collect()
}

/// Returns the letters and digits of `label` in lower case and without accents, after an `n` if they do not start with
/// a letter.
#[must_use]
pub fn plain_letters(label: &str) -> String {
    let mut kept: String = label.chars().filter_map(plain).collect();
    if !kept.starts_with(|c: char| c.is_ascii_lowercase()) {
        kept.insert(0, 'n');
    }
    kept
}

/// Returns the lower-case letter without accents, or the digit; `None` for other characters.
fn plain(c: char) -> Option<char> {
    let c = c.to_lowercase().next().unwrap_or(c);
    let bare = ACCENTED.iter().find(|(accented, _)| accented.contains(c));
    let c = bare.map_or(c, |(_, bare)| *bare);
    Some(c).filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
}

/// Accented letters of European place names, with the letters that stand for them.
const ACCENTED: [(&str, char); 12] = [
    ("áàâäãåāăąæ", 'a'),
    ("çćč", 'c'),
    ("ďđð", 'd'),
    ("éèêëēėęě", 'e'),
    ("íìîïīį", 'i'),
    ("łľĺ", 'l'),
    ("ñńňņ", 'n'),
    ("óòôöõøōőœ", 'o'),
    ("řŕ", 'r'),
    ("śšşșß", 's'),
    ("ťțţ", 't'),
    ("úùûüūůűų", 'u'),
];

fn with_number(stem: &str, number: u64, max: usize) -> String {
    let suffix = number.to_string();
    // The stem has one byte per character.
    let room = max.saturating_sub(suffix.len());
    let cut = stem.get(..room).unwrap_or(stem);
    if cut.ends_with(|c: char| c.is_ascii_digit()) {
        let cut = cut
            .get(..room - 1)
            .filter(|_| cut.len() == room)
            .unwrap_or(cut);
        return format!("{cut}x{suffix}");
    }
    format!("{cut}{suffix}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(labels: &[&str]) -> Vec<String> {
        let reserved = &["all", "root"];
        names(labels.iter().copied(), NameRules { max: 8, reserved })
    }

    #[test]
    fn names_are_the_first_letters_and_digits() {
        let found = of(&[
            "San Francisco",
            "DC-1",
            "Düsseldorf",
            "3rd Street",
            "東京",
            "?",
        ]);
        assert_eq!(
            found,
            ["sanfranc", "dc1", "dusseldo", "n3rdstre", "n", "n2"]
        );
    }

    #[test]
    fn later_nodes_of_one_name_are_numbered_and_reserved_names_are_taken() {
        let found = of(&[
            "London",
            "London",
            "London2",
            "Sanfranciscos",
            "San Francis",
            "dc1",
            "dc1",
        ]);
        let expected = [
            "london",
            "london2",
            "london2x2",
            "sanfranc",
            "sanfran2",
            "dc1",
            "dc1x2",
        ];
        // `london2x2` would have nine characters.
        assert_eq!(found[..2], expected[..2]);
        assert_eq!(found[2], "londonx2");
        assert_eq!(found[3..], expected[3..]);
        assert_eq!(of(&["All", "Root"]), ["all2", "root2"]);
    }

    proptest! {
        #[test]
        fn names_differ_and_follow_the_rules(labels in proptest::collection::vec("[a-b0-1 é-]{0,12}", 0..60)) {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            let found = of(&labels);
            prop_assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len());
            for name in &found {
                prop_assert!((1..=8).contains(&name.len()), "{}", name);
                prop_assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{}", name);
                prop_assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()));
            }
            // More nodes at the end change no name.
            let mut longer = labels.clone();
            longer.push("b");
            prop_assert_eq!(&of(&longer)[..found.len()], &found[..]);
        }
    }
}
