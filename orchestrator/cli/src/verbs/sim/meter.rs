//! Progress of a simulation on standard error: a bar on a terminal, lines otherwise.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use lab_plan::{PaperUnits, Scale};
use lab_sim::{Outcome, Progress, RepetitionCost, RunOptions, SimTime};

use crate::{
    progress::{REDRAWS_PER_SECOND, about, bar},
    terminal::note,
};

/// Progress display of a simulation, one job after the other.
pub struct Meter {
    bar: Option<ProgressBar>,
    paper: PaperUnits,
    name: String,
    expected: RepetitionCost,
    until: Option<SimTime>,
    since: Instant,
    /// Time of the latest progress line; used only if no bar is drawn.
    shown: Instant,
}

impl Meter {
    /// Returns a display that converts emulated times to the paper's scale by `scale`.
    pub fn new(scale: &Scale) -> Self {
        let now = Instant::now();
        Self {
            bar: bar(PARTS, "{prefix:>10} {bar:24.cyan/dim} {msg}"),
            paper: PaperUnits::new(scale),
            name: String::new(),
            expected: RepetitionCost::default(),
            until: None,
            since: now,
            shown: now,
        }
    }

    /// Begins the job `name`, whose estimate is `expected`.
    pub fn begin(&mut self, name: &str, expected: RepetitionCost, options: &RunOptions) {
        name.clone_into(&mut self.name);
        self.expected = expected;
        self.until = options.until;
        self.since = Instant::now();
        self.shown = self.since;
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.set_prefix(name.to_owned());
        }
    }

    /// Shows the progress of the job; calls that come sooner than a redraw are ignored.
    pub fn show(&mut self, progress: Progress) {
        let every = match self.bar {
            Some(_) => Duration::from_millis(1_000 / u64::from(REDRAWS_PER_SECOND)),
            None => BETWEEN_LINES,
        };
        let now = Instant::now();
        if now - self.shown < every {
            return;
        }
        self.shown = now;
        let elapsed = now - self.since;
        let share = self.share(&progress);
        let message = format!(
            "{} virtual time, {}/{} flows, {} events/s, {}",
            self.paper(progress.now),
            progress.work.finished,
            progress.flows,
            short(per_second(progress.work.events, elapsed)),
            left(share, elapsed),
        );
        match &self.bar {
            Some(bar) => {
                bar.set_position(share);
                bar.set_message(message);
            }
            None => note(&format!("{:>10}  {message}", self.name)),
        }
    }

    /// Replaces the progress of the ended job by a line with its totals.
    pub fn end(&self, outcome: &Outcome, took: Duration) {
        let text = format!(
            "{:>10}  {}/{} flows in {}: {} virtual time, {} events/s, {} packet-hops/s",
            self.name,
            outcome.work.finished,
            self.expected.flows,
            about(took),
            self.paper(outcome.end),
            short(per_second(outcome.work.events, took)),
            short(per_second(outcome.work.packet_hops, took)),
        );
        match &self.bar {
            Some(bar) => {
                bar.suspend(|| note(&text));
                bar.finish_and_clear();
            }
            None => note(&text),
        }
    }

    /// Returns the job's completed share, by packet-hops or by virtual time, whichever is larger, in units of
    /// 1/[`PARTS`].
    fn share(&self, progress: &Progress) -> u64 {
        let by_packets = part(progress.work.packet_hops, self.expected.packet_hops);
        let part_of = |until: SimTime| part(progress.now.picos(), until.picos());
        let by_time = self.until.map_or(0, part_of);
        by_packets.max(by_time)
    }

    fn paper(&self, time: SimTime) -> String {
        lab_units::show::about_time(self.paper.time(time.nanos_trunc()))
    }
}

/// Returns `done` / `all` in units of 1/[`PARTS`], at most `PARTS - 1`.
fn part(done: u64, all: u64) -> u64 {
    let part = u128::from(done) * u128::from(PARTS) / u128::from(all.max(1));
    u64::try_from(part).unwrap_or(PARTS).min(PARTS - 1)
}

fn left(share: u64, elapsed: Duration) -> String {
    if share * 100 < PARTS || elapsed < Duration::from_secs(1) {
        return "time left unknown".to_owned();
    }
    let whole = elapsed.as_secs_f64() * (parts(PARTS) / parts(share));
    let left = Duration::from_secs_f64(whole).saturating_sub(elapsed);
    let left = Duration::from_secs(left.as_secs().max(1));
    format!("about {} left", about(left))
}

fn parts(count: u64) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

fn per_second(count: u64, time: Duration) -> u64 {
    let nanos = time.as_nanos().max(1);
    u64::try_from(u128::from(count) * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
}

/// Formats a count with one decimal place and a decimal prefix, such as `12.8 M`.
pub fn short(count: u64) -> String {
    let (unit, name) = match count {
        0..10_000 => return count.to_string(),
        10_000..1_000_000 => (1_000, "k"),
        1_000_000..1_000_000_000 => (1_000_000, "M"),
        1_000_000_000..1_000_000_000_000 => (1_000_000_000, "G"),
        _ => (1_000_000_000_000, "T"),
    };
    let tenths = count / (unit / 10);
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

/// Resolution of the completed share, and length of the bar in steps.
const PARTS: u64 = 10_000;

/// Time between two progress lines where no bar is drawn.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        let shown = [0, 9_999, 12_345, 12_849_000, 3_000_000_000, u64::MAX].map(short);
        let expected = ["0", "9999", "12.3 k", "12.8 M", "3.0 G", "18446744.0 T"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn time_left_is_estimated_after_one_percent() {
        let elapsed = Duration::from_secs(10);
        assert_eq!(left(PARTS / 4, elapsed), "about 30 s left");
        assert_eq!(left(PARTS - 1, elapsed), "about 1 s left");
        assert_eq!(left(0, elapsed), "time left unknown");
    }

    #[test]
    fn a_share_is_below_the_whole_until_the_end() {
        assert_eq!(part(5, 10), PARTS / 2);
        assert_eq!(part(20, 10), PARTS - 1);
        assert_eq!(part(1, 0), PARTS - 1);
    }
}
