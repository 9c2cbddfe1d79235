//! Suggestions for misspelt words: "did you mean …?"

/// Returns the word in `known` that `found` most likely misspells, if one is close enough.
///
/// A word is close enough if it has at most one typing error per three letters (a letter omitted, added or changed, or
/// two letters swapped) and fewer errors than every other word.
#[must_use]
pub fn did_you_mean<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // A text much longer than any key cannot be close, and the cost of a distance is the product of both lengths.
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

/// Maximum length of a text that is compared with the known words, in bytes.
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
