//! Results of the attacks of a campaign.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::Write,
    path::PathBuf,
};

use super::attack::{Attack, AttackedLab};

/// Damage that an attack caused to a run.
#[derive(Clone, Debug, Default)]
pub struct Harm {
    /// Number of flows that the progress display showed as ended before the attack.
    pub shown: u64,
    /// Number of flows that have a row in the records after the attack.
    pub kept: u64,
    /// Objects of the lab that remained after its removal.
    pub left: Vec<String>,
    /// Reason why the run directory cannot be read; `None` if it can.
    pub unreadable: Option<String>,
}

impl Harm {
    /// Returns the number of flows that were shown as ended but have no row in the records.
    fn lost(&self) -> u64 {
        self.shown.saturating_sub(self.kept)
    }

    fn failure(&self) -> Option<String> {
        let lost = (self.lost() > 0).then(|| format!("{} rows lost", self.lost()));
        let left = (!self.left.is_empty()).then(|| format!("left: {}", self.left.join(", ")));
        let all: Vec<String> = [lost, left, self.unreadable.clone()]
            .into_iter()
            .flatten()
            .collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// Results of the attacks so far. If a file is given, each result is also appended to it as a line.
#[derive(Debug, Default)]
pub struct Ledger {
    results: Vec<(AttackedLab, u64, String, Harm)>,
    file: Option<PathBuf>,
}

impl Ledger {
    /// Returns the results in a file, to which later results are appended. The file need not exist.
    pub fn go_on(file: PathBuf) -> Self {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let results = text.lines().filter_map(parse).collect();
        Self {
            results,
            file: Some(file),
        }
    }

    pub fn has(&self, attack: &Attack) -> bool {
        self.results
            .iter()
            .any(|(place, number, ..)| (*place, *number) == (attack.place, attack.number))
    }

    pub fn count(&self, place: AttackedLab) -> u64 {
        let results = self.results.iter().filter(|result| result.0 == place);
        u64::try_from(results.count()).unwrap()
    }

    pub fn add(&mut self, attack: &Attack, harm: Harm) {
        let line = format!(
            "{}\t{}\t{}\t{}\t{}\t{}\t{}",
            attack.place,
            attack.number,
            attack.kind(),
            harm.shown,
            harm.kept,
            harm.left.join(", "),
            harm.unreadable
                .clone()
                .unwrap_or_default()
                .replace(['\n', '\t'], " "),
        );
        eprintln!("attack at {:.3}{SAID}{line}", moment(attack));
        self.write(&line);
        self.results
            .push((attack.place, attack.number, attack.kind(), harm));
    }

    /// Adds a result from a line that a campaign in a guest printed; ignores all other lines.
    pub fn add_said(&mut self, text: &str) {
        if let Some((_, line)) = text.split_once(SAID) {
            self.write(line);
            self.results
                .push(parse(line).expect("the line is a result"));
        }
    }

    fn write(&self, line: &str) {
        if let Some(file) = &self.file {
            let mut file = OpenOptions::new()
                .append(true)
                .create(true)
                .open(file)
                .unwrap();
            writeln!(file, "{line}").unwrap();
        }
    }

    /// Returns the attacks that caused damage, one per line.
    pub fn failures(&self) -> Vec<String> {
        self.results
            .iter()
            .filter_map(|(place, number, kind, harm)| {
                let failure = harm.failure()?;
                Some(format!("{place} {number}, {kind}: {failure}"))
            })
            .collect()
    }

    /// Returns the results as a table, by kind of lab and kind of attack.
    pub fn table(&self) -> String {
        let mut kinds: BTreeMap<(AttackedLab, &str), [u64; 6]> = BTreeMap::new();
        for (place, _, kind, harm) in &self.results {
            let counts = [
                1,
                u64::from(!harm.left.is_empty()),
                harm.shown,
                harm.kept,
                harm.lost(),
                u64::from(harm.unreadable.is_some()),
            ];
            for key in [(*place, kind.as_str()), (*place, "all")] {
                let sums = kinds.entry(key).or_default();
                sums.iter_mut()
                    .zip(counts)
                    .for_each(|(sum, count)| *sum += count);
            }
        }
        let mut table = format!(
            "{:<8}{:<16}{:>8}{:>10}{:>8}{:>8}{:>6}{:>12}\n",
            "place", "attack", "attacks", "leftovers", "shown", "kept", "lost", "unreadable"
        );
        for ((place, kind), [attacks, left, shown, kept, lost, unreadable]) in kinds {
            table += &format!(
                "{:<8}{kind:<16}{attacks:>8}{left:>10}{shown:>8}{kept:>8}{lost:>6}{unreadable:>12}\n",
                place.to_string(),
            );
        }
        table
    }
}

/// Text that precedes each result in the output of a campaign.
const SAID: &str = " of the run: ";

fn moment(attack: &Attack) -> f64 {
    f64::from(u32::try_from(attack.moment).unwrap_or(u32::MAX)) / 1000.0
}

fn parse(line: &str) -> Option<(AttackedLab, u64, String, Harm)> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [place, number, kind, shown, kept, left, unreadable] = fields.try_into().ok()?;
    let harm = Harm {
        shown: shown.parse().ok()?,
        kept: kept.parse().ok()?,
        left: left
            .split(", ")
            .filter(|left| !left.is_empty())
            .map(str::to_owned)
            .collect(),
        unreadable: (!unreadable.is_empty()).then(|| unreadable.to_owned()),
    };
    Some((
        place.parse().ok()?,
        number.parse().ok()?,
        kind.to_owned(),
        harm,
    ))
}
