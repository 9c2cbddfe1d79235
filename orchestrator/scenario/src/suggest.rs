//! Suggestions for misspelt words, such as "did you mean `rate`?"

use std::collections::BTreeMap;

use lab_topologies::zoo;

/// Returns the word in `known` of which `found` is most likely a misspelling; `None` if no word is close enough.
///
/// A word is close enough if it has at most one typing error per three letters (a letter omitted, added or changed, or
/// two letters swapped) and fewer errors than every other word.
#[must_use]
pub fn did_you_mean<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // A much longer text cannot be close to a word, and the comparison takes time proportional to the product of both
    // lengths.
    if found.len() > MAX_LENGTH {
        return None;
    }
    let slips = (found.chars().count() / 3).max(1);
    let ranked = known.into_iter().map(|word| {
        let distance = strsim::damerau_levenshtein(&found.to_lowercase(), word);
        (distance, word)
    });
    let mut close: Vec<_> = ranked.filter(|(distance, _)| *distance <= slips).collect();
    close.sort_unstable();
    match close[..] {
        [(best, _), (next, _), ..] if best == next => None,
        [(_, word), ..] => Some(word.to_owned()),
        [] => None,
    }
}

/// Returns the graphs of the Topology Zoo that `name` may mean: the one that it misspells, or else those that begin like it.
#[must_use]
pub fn near_graphs(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let known: BTreeMap<String, &str> = zoo::names().map(|it| (it.to_lowercase(), it)).collect();
    let same = known.get_key_value(&lower).map(|(known, _)| known.clone());
    let misspelt = same.or_else(|| did_you_mean(&lower, known.keys().map(String::as_str)));
    if let Some(name) = misspelt.and_then(|found| known.get(&found)) {
        return vec![(*name).to_owned()];
    }
    // Many networks have several graphs, which differ by the year at the end of their names.
    let stem = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let begun = known
        .iter()
        .filter(|(known, _)| stem.len() > 1 && known.starts_with(stem));
    begun
        .take(MAX_NEAR)
        .map(|(_, name)| (*name).to_owned())
        .collect()
}

/// Maximum number of graphs in a hint.
const MAX_NEAR: usize = 8;

/// Maximum length in bytes of a text that is compared with known words.
const MAX_LENGTH: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let known = ["rate", "delay", "k_max"];
        assert_eq!(did_you_mean("rte", known).as_deref(), Some("rate"));
        assert_eq!(did_you_mean("Delay", known).as_deref(), Some("delay"));
        assert_eq!(did_you_mean("kmax", known).as_deref(), Some("k_max"));
        assert_eq!(did_you_mean("bandwidth", known), None);
        assert_eq!(did_you_mean("dc9", ["dc1", "dc2"]), None);
        assert_eq!(did_you_mean(&"r".repeat(10_000), known), None);
    }

    #[test]
    fn texts_of_more_than_forty_bytes_are_no_slip() {
        let long = "r".repeat(39);
        for (found, is_slip) in [("r".repeat(40), true), ("r".repeat(41), false)] {
            let near = did_you_mean(&found, [long.as_str()]);
            assert_eq!(near.is_some(), is_slip, "{found}");
        }
    }
}
