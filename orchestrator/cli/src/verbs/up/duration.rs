//! Duration of `up` from its start to its report: estimated before the run, and compared with the actual times after
//! it.
//!
//! Each part is estimated from sizes in the plan and default costs of the place. One factor, learnt from earlier runs
//! at the place, corrects all parts: a plan does not reveal the speed of the machine or its other load. The estimate
//! only appears in messages.

use std::{collections::BTreeMap, time::Duration};

use lab_plan::{Capacity, Plan, estimate_at};
use lab_records::Phase;
use lab_units::{
    Nanos, Place,
    show::{self, about_time, sides},
};
use serde::{Deserialize, Serialize};

use crate::progress::nanos;

/// Part of the time that `lcmp-lab up` takes, in chronological order.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum UpPart {
    /// Training of weights that the scenario asks for and that are not cached.
    Training,
    /// Start and end of the program and its guest: all time outside the other parts.
    Guest,
    /// Creation and removal of the lab.
    Lab,
    /// Measurement of each link's rate, delay and buffer against the plan.
    Links,
    /// Start of agents and connections, before the flows of each policy and repetition.
    Agents,
    Flows,
    Report,
}

impl UpPart {
    const ALL: [Self; 7] = [
        Self::Training,
        Self::Guest,
        Self::Lab,
        Self::Links,
        Self::Agents,
        Self::Flows,
        Self::Report,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Guest => "guest",
            Self::Lab => "lab",
            Self::Links => "links",
            Self::Agents => "agents",
            Self::Flows => "flows",
            Self::Report => "report",
        }
    }

    /// Returns the part of `lcmp-lab up` to which a recorded phase belongs.
    fn of(phase: &Phase) -> Self {
        match phase.name.as_str() {
            "links" => Self::Links,
            name if name.ends_with(" flows") => Self::Flows,
            name if name.ends_with(" agents") || name.ends_with(" ready") => Self::Agents,
            _ => Self::Lab,
        }
    }
}

/// Duration of each part of `lcmp-lab up`.
type Times = BTreeMap<UpPart, Nanos>;

/// Estimated and actual durations, summed over earlier runs on one kernel or kind of guest. Each new run halves the
/// weight of the runs before it.
///
/// The sums are over whole runs. A factor for each part would fit only runs like the latest ones: the factor for the
/// flows of many short runs is wrong for a long run.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Experience {
    runs: u32,
    /// Sum of the durations estimated from the default costs.
    estimated_ns: Nanos,
    /// Sum of the actual durations.
    happened_ns: Nanos,
}

/// Estimated duration of an `lcmp-lab up` that has not started.
#[derive(Debug)]
pub struct DurationEstimate {
    /// Times estimated from the default costs, not corrected.
    by_costs: Times,
    /// Estimated times, multiplied by the correction factor from earlier runs.
    times: Times,
    /// Number of earlier runs that the correction is based on.
    runs: u32,
}

impl DurationEstimate {
    /// Estimates `lcmp-lab up` for `plan` on the kernel or kind of guest `place`, corrected by the earlier runs in
    /// `experience`. `training` is the estimated time of a training before the run, which is not corrected.
    pub fn new(
        plan: &Plan,
        place: Place,
        experience: &Experience,
        training: Option<Nanos>,
    ) -> Self {
        let by_costs = by_costs(plan, place);
        let times = by_costs
            .iter()
            .map(|(&part, &time)| (part, experience.correct(time)));
        let training = training.map(|time| (UpPart::Training, time));
        Self {
            times: times.chain(training).collect(),
            by_costs,
            runs: experience.runs,
        }
    }

    /// Returns true if a training comes before the run.
    pub fn has_training(&self) -> bool {
        self.times.contains_key(&UpPart::Training)
    }

    /// Returns the sum of all parts.
    pub fn total(&self) -> Nanos {
        self.times.values().copied().sum()
    }

    /// Returns the sentence with the estimate, which `up` prints before it starts.
    pub fn sentence(&self) -> String {
        let parts: Vec<String> = self
            .times
            .iter()
            .filter(|(_, time)| time.get() >= MIN_SHOWN)
            .map(|(part, time)| format!("{} {}", part.name(), about_time(*time)))
            .collect();
        let basis = match self.runs {
            0 => "estimated from default costs, without an earlier run".to_owned(),
            1 => "estimated from an earlier run in the same environment".to_owned(),
            runs => format!("estimated from {runs} earlier runs in the same environment"),
        };
        format!(
            "takes about {} in all, unless a policy overloads a path: {} ({basis})",
            about_time(self.total()),
            parts.join(", ")
        )
    }

    /// Returns a table of the estimated times next to the actual ones.
    pub fn table(&self, happened: &Happened) -> String {
        let row = |name: &str, estimated: Nanos, happened: Nanos| {
            [name.to_owned(), about_time(estimated), about_time(happened)]
        };
        let time = |times: &Times, part| times.get(&part).copied().unwrap_or_default();
        let head = ["time of the run", "estimated", "happened"].map(str::to_owned);
        let is_shown = |part: &UpPart| *part != UpPart::Training || self.has_training();
        let parts = UpPart::ALL.into_iter().filter(is_shown).map(|part| {
            row(
                part.name(),
                time(&self.times, part),
                time(&happened.0, part),
            )
        });
        let all = row(
            "in all",
            self.times.values().copied().sum(),
            happened.0.values().copied().sum(),
        );
        let rows: Vec<_> = [head].into_iter().chain(parts).chain([all]).collect();
        format!("\n{}", show::table(0, sides(1), &rows))
    }
}

/// Actual duration of an `lcmp-lab up` that has ended, by part.
#[derive(Debug)]
pub struct Happened(Times);

impl Happened {
    /// Returns an `up`'s duration by part: `phases` are the run's recorded phases, and `total` is the whole duration,
    /// including `training` and `report`.
    pub fn new(
        phases: &[Phase],
        training: Option<Duration>,
        report: Duration,
        total: Duration,
    ) -> Self {
        let mut times = Times::new();
        for phase in phases {
            let time = times.entry(UpPart::of(phase)).or_default();
            *time = time.saturating_add(phase.took_ns);
        }
        times.extend(training.map(|time| (UpPart::Training, nanos(time))));
        times.insert(UpPart::Report, nanos(report));
        let known: Nanos = times.values().copied().sum();
        times.insert(UpPart::Guest, nanos(total).saturating_sub(known));
        Self(times)
    }
}

impl Experience {
    /// Returns `time` multiplied by the correction factor, the ratio of actual to estimated times in earlier runs.
    fn correct(&self, time: Nanos) -> Nanos {
        let estimated = u128::from(self.estimated_ns.get());
        if estimated == 0 {
            return time;
        }
        let corrected = u128::from(time.get()) * u128::from(self.happened_ns.get()) / estimated;
        Nanos::new(u64::try_from(corrected).unwrap_or(u64::MAX))
    }

    /// Adds a run to the sums, and halves the weight of earlier runs.
    pub fn add(&mut self, estimate: &DurationEstimate, happened: &Happened) {
        let more = |sum: Nanos, times: &Times| {
            let of_run = times.iter().filter(|(part, _)| **part != UpPart::Training);
            let time: Nanos = of_run.map(|(_, time)| *time).sum();
            Nanos::new(sum.get() / 2).saturating_add(time)
        };
        self.runs = self.runs.saturating_add(1);
        self.estimated_ns = more(self.estimated_ns, &estimate.by_costs);
        self.happened_ns = more(self.happened_ns, &happened.0);
    }
}

fn by_costs(plan: &Plan, place: Place) -> Times {
    let costs = Costs::of(place);
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let runs = count(plan.policies.len()).saturating_mul(u64::from(plan.repetitions));
    let agents = plan.switches.iter().filter(|switch| {
        let dc = plan.nodes[switch.node.index()].dc;
        !plan.dcs[dc.index()].legacy
    });
    let times = |cost: Nanos, count: u64| Nanos::new(cost.get().saturating_mul(count));
    let agents = count(agents.count());
    let begun = times(costs.begin, agents).saturating_add(costs.connections);
    let started = times(costs.agent.saturating_sub(costs.begin), agents);
    let rows = count(plan.flows.len()).saturating_mul(count(plan.policies.len()));
    Times::from([
        (
            UpPart::Guest,
            costs.guest.saturating_add(times(costs.guest_row, rows)),
        ),
        (UpPart::Lab, times(costs.node, count(plan.nodes.len()))),
        (
            UpPart::Links,
            times(costs.direction, 2 * count(plan.links.len())),
        ),
        (UpPart::Agents, started.saturating_add(times(begun, runs))),
        (
            UpPart::Flows,
            estimate_at(plan, &Capacity::default_of(place)).wall_ns,
        ),
        (
            UpPart::Report,
            costs.report.saturating_add(times(costs.row, rows)),
        ),
    ])
}

/// Default costs of a run on one kernel or kind of guest, in wall-clock time.
struct Costs {
    /// Start and end of the program and its guest, without the time per row.
    guest: Nanos,
    /// Time per flow and policy for evaluating and copying the records in the guest.
    guest_row: Nanos,
    /// Creation and removal of a node with its links.
    node: Nanos,
    /// Measurement of one direction of a link.
    direction: Nanos,
    /// Start of an agent for the first repetition, mostly to verify the switch program and to read the kernel's types.
    agent: Nanos,
    /// Time in which a running agent begins its next repetition with the same program.
    begin: Nanos,
    /// Set-up of connections before the flows of a policy and repetition.
    connections: Nanos,
    /// Report, without the time per row.
    report: Nanos,
    /// Time per flow and policy in the report.
    row: Nanos,
}

impl Costs {
    /// Returns the default costs on the kernel or kind of guest `place`. The costs of emulated guests were fitted to
    /// runs on two cores; all others are guesses, which the first run corrects.
    ///
    /// The table shows seconds, estimated and then actual, for each part of runs in the emulated guest. The flows are
    /// estimated by [`Capacity::default_of`]. Other programs ran during the first half of the
    /// run `testbed, load 30 %`; a dash is a part that was not measured:
    ///
    /// | run | guest | links | report |
    /// |---|---|---|---|
    /// | 8dc, other programs running | 33.9, 37.6 | 6.0, 9.3 | 2.3, 2.1 |
    /// | 8dc, other programs running at first | 33.9, 38.0 | 6.0, 14.0 | 2.3, – |
    /// | 8dc-paper, other programs running | 33.9, 29.5 | 6.0, 3.7 | 2.3, 1.4 |
    /// | 8dc, two policies | 18.0, 14.7 | 6.0, 6.0 | 1.0, – |
    /// | testbed, load 50 % | 30.9, 25.7 | 6.0, 2.7 | 2.0, – |
    /// | testbed, load 30 % | 22.5, 57.0 | 6.0, 18.1 | 1.3, – |
    /// | smoke | 10.0, 17.1 | 2.4, 1.8 | 0.3, – |
    ///
    /// Lab and agents were fitted to 8dc (16 nodes, 8 agents) and to the graph AttMpls of the Topology Zoo (50 nodes, 25
    /// agents): creation and removal took 0.7 s and 2.6 s, the agents 0.7 to 0.9 s and 2.3 to 3.1 s before each policy but
    /// the first. Before the first, the 7 agents of the graph Sanren took 8.7 s.
    const fn of(place: Place) -> Self {
        let [guest, node, direction, agent, begin, connections] = match place {
            Place::GuestVirtual | Place::GuestTcg => [10_000, 50, 150, 1_100, 100, 1_200],
            Place::GuestKvm => [5_000, 20, 150, 100, 25, 300],
            Place::Here => [500, 20, 150, 100, 25, 300],
        };
        let guest_row = match place {
            Place::GuestVirtual | Place::GuestTcg => 600_000,
            Place::GuestKvm => 50_000,
            Place::Here => 0,
        };
        Self {
            guest: Nanos::from_millis(guest),
            guest_row: Nanos::new(guest_row),
            node: Nanos::from_millis(node),
            direction: Nanos::from_millis(direction),
            agent: Nanos::from_millis(agent),
            begin: Nanos::from_millis(begin),
            connections: Nanos::from_millis(connections),
            report: Nanos::from_millis(300),
            row: Nanos::new(50_000),
        }
    }
}

/// Minimum duration of a part that the sentence with the estimate mentions, ns.
const MIN_SHOWN: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use lab_plan::PlanOptions;

    use super::*;

    fn phase(name: &str, millis: u64) -> Phase {
        Phase {
            name: name.to_owned(),
            took_ns: Nanos::from_millis(millis),
            virtual_ns: None,
        }
    }

    /// Returns a plan with six nodes, of which three are switches, and five links: two between datacenters and one for
    /// each host.
    fn plan() -> Plan {
        const SCENARIO: &str = "
name: t
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }, { name: dc3, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc2, dc3], rate: 100 Gbit, delay: 5 ms }
traffic:
  - flows: [{ from: dc1/h1, to: dc3/h1, size: 5 MB }]
policies: [ecmp, lcmp]
repetitions: 2
scale: { rate: 1/2000, time: 100 }
";
        let scenario = lab_scenario::parse("t.yaml", SCENARIO.as_bytes()).unwrap();
        let files = lab_scenario::Files::new();
        lab_plan::resolve(&scenario, SCENARIO, &files, &PlanOptions::default()).unwrap()
    }

    /// Expected total: 10 s + 6 · 50 ms + 10 · 150 ms + 3 · 2 s + 3 · 3 · 100 ms + 4 · 1.2 s + flows + 0.3 s, and
    /// 0.65 ms for each of four rows.
    #[test]
    fn the_parts_follow_from_the_plan_and_add_up() {
        let plan = plan();
        let place = Place::GuestVirtual;
        let estimate = DurationEstimate::new(&plan, place, &Experience::default(), None);
        let flows = estimate_at(&plan, &Capacity::default_of(place)).wall_ns;
        let rows = u64::try_from(plan.flows.len() * 2).unwrap();
        let expected = [
            (UpPart::Guest, Nanos::new(10_000_000_000 + 600_000 * rows)),
            (UpPart::Lab, Nanos::from_millis(300)),
            (UpPart::Links, Nanos::from_millis(1_500)),
            (UpPart::Agents, Nanos::from_millis(9_000)),
            (UpPart::Flows, flows),
            (UpPart::Report, Nanos::new(300_000_000 + 50_000 * rows)),
        ];
        assert_eq!(estimate.times, Times::from(expected));
        let sentence = estimate.sentence();
        let all = 21_100_000_000 + 650_000 * rows + flows.get();
        let all = format!("takes about {} in all", about_time(Nanos::new(all)));
        assert!(sentence.starts_with(&all), "{sentence}");
        assert!(
            sentence.ends_with("(estimated from default costs, without an earlier run)"),
            "{sentence}"
        );
        assert!(sentence.contains("agents 9 s"), "{sentence}");
    }

    #[test]
    fn time_outside_the_phases_is_the_guests() {
        let phases = [
            phase("build-up", 700),
            phase("links", 900),
            phase("ecmp agents", 2_000),
            phase("ecmp ready", 500),
            phase("ecmp flows", 4_000),
            phase("lcmp flows", 5_000),
            phase("teardown", 300),
        ];
        let report = Duration::from_millis(600);
        let training = Some(Duration::from_secs(70));
        let happened = Happened::new(&phases, training, report, Duration::from_secs(90));
        let millis = |part| happened.0[&part].get() / 1_000_000;
        assert_eq!(
            UpPart::ALL.map(millis),
            [70_000, 6_000, 1_000, 900, 2_500, 9_000, 600]
        );
    }

    /// The first run takes twice as long as estimated, so the next estimate is doubled. If the next run takes as long
    /// as the default costs predict, the factor becomes (2 / 2 + 1) / (1 / 2 + 1) = 4/3.
    #[test]
    fn earlier_runs_correct_the_estimate() {
        let plan = plan();
        let place = Place::GuestVirtual;
        let mut experience = Experience::default();
        let first = DurationEstimate::new(&plan, place, &experience, None);
        let took = |factor: u64| {
            let times = first
                .by_costs
                .iter()
                .map(|(&part, &time)| (part, Nanos::new(factor * time.get())));
            Happened(times.collect())
        };
        experience.add(&first, &took(2));
        let second = DurationEstimate::new(&plan, place, &experience, None);
        for (part, time) in &first.times {
            assert_eq!(second.times[part].get(), 2 * time.get(), "{part:?}");
        }
        assert!(
            second
                .sentence()
                .ends_with("(estimated from an earlier run in the same environment)")
        );
        experience.add(&second, &took(1));
        let third = DurationEstimate::new(&plan, place, &experience, None);
        for (part, time) in &first.times {
            let expected = time.get() * 4 / 3;
            assert!(third.times[part].get().abs_diff(expected) <= 1, "{part:?}");
        }
        assert!(
            third
                .sentence()
                .ends_with("(estimated from 2 earlier runs in the same environment)")
        );
    }

    /// A separate factor for the flows would be 0 here, and the estimate for a long run would be far too short.
    #[test]
    fn a_part_far_from_its_estimate_corrects_all_parts_by_one_factor() {
        let plan = plan();
        let place = Place::GuestVirtual;
        let first = DurationEstimate::new(&plan, place, &Experience::default(), None);
        let mut times = first.by_costs.clone();
        let all: u64 = times.values().map(|time| time.get()).sum();
        times.insert(UpPart::Flows, Nanos::ZERO);
        let rest: u64 = times.values().map(|time| time.get()).sum();
        let mut experience = Experience::default();
        experience.add(&first, &Happened(times));
        let second = DurationEstimate::new(&plan, place, &experience, None);
        for (part, time) in &first.times {
            let expected = u128::from(time.get()) * u128::from(rest) / u128::from(all);
            assert_eq!(u128::from(second.times[part].get()), expected, "{part:?}");
        }
    }

    #[test]
    fn the_table_has_both_times_of_each_part_and_of_all() {
        let plan = plan();
        let place = Place::GuestVirtual;
        let estimate = DurationEstimate::new(&plan, place, &Experience::default(), None);
        let total = Duration::from_secs(60);
        let report = Duration::from_secs(1);
        let happened = Happened::new(&[phase("links", 900)], None, report, total);
        let table = estimate.table(&happened);
        let line = |name: &str| {
            let line = table.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line("links"), "links 1.5 s 900 ms");
        assert_eq!(line("guest"), "guest 10 s 58.1 s");
        assert!(line("in all").ends_with(" 60 s"), "{table}");
        assert_eq!(table.trim().lines().count(), 8, "{table}");
    }

    #[test]
    fn a_training_is_a_part_of_its_own_that_corrects_no_other() {
        let plan = plan();
        let place = Place::GuestVirtual;
        let mut experience = Experience::default();
        let training = Some(Nanos::from_millis(360_000));
        let first = DurationEstimate::new(&plan, place, &experience, training);
        let sentence = first.sentence();
        assert!(sentence.contains(": training 6 min, guest "), "{sentence}");
        let mut times = first.times.clone();
        times.insert(UpPart::Training, Nanos::from_millis(720_000));
        let happened = Happened(times);
        let table = first.table(&happened);
        let line = table.lines().find(|line| line.starts_with("training"));
        let words: Vec<&str> = line.unwrap().split_whitespace().collect();
        assert_eq!(words.join(" "), "training 6 min 12 min");
        experience.add(&first, &happened);
        let second = DurationEstimate::new(&plan, place, &experience, None);
        assert_eq!(second.times, first.by_costs);
    }
}
