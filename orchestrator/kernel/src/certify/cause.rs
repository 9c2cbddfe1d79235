//! Likely cause of the problems that a link direction has.

use std::time::Duration;

use lab_records::{CertifiedRow, LinkBounds};

/// Observations about the machine while the lab's links were measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Disturbance {
    /// Maximum lateness of the measurement's own wake-ups.
    pub latest: Duration,
    /// Description of an error of the clocks; `None` if no error was detected.
    pub clock: Option<String>,
}

/// Adds the likely cause to each row that has a problem. If the clocks had an error, that error replaces the problem of
/// every row.
pub(super) fn explain(rows: &mut [CertifiedRow], machine: &Disturbance) {
    let causes: Vec<_> = rows.iter().map(|row| cause(row, rows, machine)).collect();
    for (row, cause) in rows.iter_mut().zip(causes) {
        row.problem = match (row.problem.take(), &machine.clock) {
            (_, Some(clock)) => Some(clock.clone()),
            (problem, None) => problem.map(|problem| match cause {
                Some(cause) => format!("{problem} (likely cause: {cause})"),
                None => problem,
            }),
        };
    }
}

/// Returns the likely cause of a row's figures that are out of bounds; `None` if no cause is apparent.
fn cause(row: &CertifiedRow, all: &[CertifiedRow], machine: &Disturbance) -> Option<String> {
    let delay = row.emu_measured_delay_ns.unwrap_or(row.emu_delay_ns);
    let is_delay = |asked: u64| delay.get().abs_diff(asked) <= row.emu_delay_bound_ns.get();
    let mut others = all.iter().filter(|other| other.link != row.link);
    let swapped = others.find(|other| is_delay(other.emu_delay_ns.get()));
    let reverse = all
        .iter()
        .find(|it| it.link == row.link && it.from == row.to);
    let is_queue_out = row
        .measured_queue_packets
        .is_some_and(|it| it.abs_diff(row.queue_packets) > row.queue_bound_packets);
    let is_rate_out = row
        .emu_measured_rate_bps
        .is_some_and(|it| it.get().abs_diff(row.emu_rate_bps.get()) > row.emu_rate_bound_bps.get());
    let cause = if row.lost >= row.sent {
        "the link is cut, or its fiber leads to another port".to_owned()
    } else if row.emu_measured_rate_bps.is_none() {
        "an MTU below the largest frame".to_owned()
    } else if row.foreign > LinkBounds::FOREIGN_PACKETS {
        "other traffic on the link".to_owned()
    } else if machine.latest > LATE {
        format!(
            "the lab did not get a CPU in time: a timer was {} µs late",
            machine.latest.as_micros()
        )
    } else if row.disordered > 0 {
        "jitter or duplicates in netem, or packets of one flow on several CPUs (RPS)".to_owned()
    } else if row.emu_spread_ns > Some(row.emu_spread_bound_ns) {
        "jitter in netem".to_owned()
    } else if !is_delay(row.emu_delay_ns.get()) {
        match (swapped, reverse) {
            (Some(other), _) => format!("netem has the delay of link `{}`", other.link),
            (None, Some(reverse)) if reverse.problem.is_none() => {
                "a different delay in this direction than in the other".to_owned()
            }
            _ => "a wrong delay in netem".to_owned(),
        }
    } else if is_queue_out {
        "a wrong limit of the egress queue".to_owned()
    } else if row.lost > 0 {
        "random loss, or a queue on the way that is too short".to_owned()
    } else if is_rate_out {
        "a wrong rate of the shaper or of its delay line, or an offload".to_owned()
    } else {
        return None;
    };
    Some(cause)
}

/// Lateness of the measurement's own timers above which that lateness is given as the cause of wrong figures.
const LATE: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use lab_sample::certified;
    use lab_units::{BitsPerSec, Nanos};

    use super::*;

    fn explained(change: impl FnOnce(&mut CertifiedRow), machine: &Disturbance) -> String {
        let mut rows = [
            certified("dc1", "dc2"),
            certified("dc2", "dc1"),
            certified("dc2", "dc3"),
        ];
        rows[1].link = rows[0].link.clone();
        rows[2].emu_delay_ns = Nanos::from_millis(80);
        rows[0].problem = Some("figures".to_owned());
        change(&mut rows[0]);
        explain(&mut rows, machine);
        rows[0].problem.clone().unwrap()
    }

    #[test]
    fn figures_lead_to_their_cause() {
        type Change = fn(&mut CertifiedRow);
        let delay = |millis| Some(Nanos::from_millis(millis));
        let changes: [(Change, &str); 9] = [
            (|row| row.lost = row.sent, "the link is cut"),
            (|row| row.emu_measured_rate_bps = None, "an MTU"),
            (|row| row.foreign = 9, "other traffic"),
            (|row| row.disordered = 1, "jitter or duplicates"),
            (
                |row| row.emu_measured_delay_ns = Some(Nanos::from_millis(80)),
                "netem has the delay of link `dc2-dc3`",
            ),
            (
                |row| row.emu_measured_delay_ns = Some(Nanos::from_millis(51)),
                "a different delay in this direction",
            ),
            (
                |row| row.emu_spread_ns = Some(Nanos::from_millis(1)),
                "jitter in netem",
            ),
            (
                |row| row.measured_queue_packets = Some(75),
                "a wrong limit of the egress queue",
            ),
            (
                |row| row.emu_measured_rate_bps = BitsPerSec::new(97_000_000),
                "a wrong rate of the shaper",
            ),
        ];
        for (change, words) in changes {
            let problem = explained(change, &Disturbance::default());
            assert!(problem.contains(words), "{words}: {problem}");
        }
        let starved = Disturbance {
            latest: Duration::from_millis(7),
            clock: None,
        };
        let problem = explained(|row| row.emu_measured_delay_ns = delay(51), &starved);
        assert!(
            problem.contains("the lab did not get a CPU in time: a timer was 7000 µs late"),
            "{problem}"
        );
    }

    #[test]
    fn a_problem_without_a_figure_out_of_bounds_has_no_further_cause() {
        assert_eq!(explained(|_| {}, &Disturbance::default()), "figures");
    }

    #[test]
    fn a_wrong_clock_is_a_problem_of_every_link() {
        let machine = Disturbance {
            latest: Duration::ZERO,
            clock: Some("the clock ran 5 % fast".to_owned()),
        };
        let mut rows = [certified("dc1", "dc2")];
        explain(&mut rows, &machine);
        assert_eq!(rows[0].problem.as_deref(), Some("the clock ran 5 % fast"));
    }
}
