//! One policy's run of the artifact's flows, kept in memory to be compared with its outputs.

use std::collections::BTreeMap;

use lab_artifact::{NodeIds, SimulatedFlow, average_utilisation};
use lab_plan::{Link, LinkKind, Plan};
use lab_units::{Bytes, Nanos};

use crate::{
    error::SimError,
    note::Note,
    run::{Observer, Outcome, Progress, RunOptions},
    simulate::{Audience, Job, Scene, perform},
    time::SimTime,
    world::SimFlow,
};

/// What a policy's run gave.
#[derive(Clone, Debug)]
pub struct Played {
    /// Its flows.
    pub flows: Vec<SimulatedFlow>,
    /// What each inter-DC link had carried in both directions, by time.
    carried: BTreeMap<String, BTreeMap<Nanos, Bytes>>,
}

impl Played {
    /// When the last flow finished.
    #[must_use]
    pub fn last_end(&self) -> Nanos {
        let ends = self.flows.iter();
        let ends = ends.filter_map(|flow| Some(flow.start.saturating_add(flow.fct?)));
        ends.max().unwrap_or(Nanos::ZERO)
    }

    /// The average utilisation in percent of the inter-DC link of `plan`, which was played, between
    /// two switches of the artifact's numbers, over `span`; `None` where there is no such link.
    #[must_use]
    pub fn utilisation(&self, plan: &Plan, between: [u32; 2], span: Nanos) -> Option<f64> {
        let ids = NodeIds::of(plan);
        let is_meant = |link: &&Link| {
            let ends = [link.a, link.b].map(|node| ids.theirs(node));
            link.kind == LinkKind::InterDc && (ends == between || ends == [between[1], between[0]])
        };
        let link = plan.links.iter().find(is_meant)?;
        let samples = self.carried(link);
        Some(average_utilisation(
            &samples,
            link.emu.rate_bps,
            self.last_end(),
            span,
        ))
    }

    /// What `link` had carried, from time 0 on.
    fn carried(&self, link: &Link) -> Vec<(Nanos, Bytes)> {
        let mut samples = vec![(Nanos::ZERO, Bytes::ZERO)];
        let counted = self.carried.get(&link.name);
        samples.extend(counted.into_iter().flatten().map(|(&at, &sent)| (at, sent)));
        samples
    }
}

/// Plays `job`; `watch` hears how far it is each time that a tenth of the flows has finished.
///
/// # Errors
/// What cannot be simulated.
pub fn play(
    job: Job<'_>,
    options: &RunOptions,
    watch: &mut dyn FnMut(Progress),
) -> Result<Played, SimError> {
    perform(job, options, Keeper { watch })
}

struct Keeper<'a> {
    watch: &'a mut dyn FnMut(Progress),
}

impl Audience for Keeper<'_> {
    type Output = Played;

    fn attend(
        self,
        scene: Scene<'_>,
        play: &mut dyn FnMut(&mut dyn Observer) -> Outcome,
    ) -> Played {
        let mut kept = Kept {
            scene,
            watch: self.watch,
            ends: vec![None; scene.flows.len()],
            carried: BTreeMap::new(),
            told: 0,
        };
        play(&mut kept);
        let plan = scene.job.plan;
        let flow = |(flow, end): (&SimFlow, &Option<SimTime>)| {
            let planned = &plan.flows[flow.plan.index()];
            SimulatedFlow {
                flow: flow.who.data,
                size: planned.size_bytes,
                start: planned.start_ns,
                fct: end.map(|end| (end - flow.start).nanos_trunc()),
                standalone: planned.ideal_fct_ns,
            }
        };
        Played {
            flows: scene.flows.iter().zip(&kept.ends).map(flow).collect(),
            carried: kept.carried,
        }
    }
}

struct Kept<'a> {
    scene: Scene<'a>,
    watch: &'a mut dyn FnMut(Progress),
    ends: Vec<Option<SimTime>>,
    carried: BTreeMap<String, BTreeMap<Nanos, Bytes>>,
    /// Tenths of the flows that were told of.
    told: u64,
}

impl Observer for Kept<'_> {
    fn note(&mut self, note: Note) {
        match note {
            Note::Finished(end) => self.ends[end.flow as usize] = Some(end.at),
            Note::Link(note) => {
                let port = self.scene.network.ports[note.port as usize].plan;
                let link = &self.scene.job.plan.links[port.link().index()];
                let link = self.carried.entry(link.name.clone()).or_default();
                let sent = link.entry(note.at.nanos_trunc()).or_insert(Bytes::ZERO);
                *sent = Bytes::new(sent.get() + note.counts.tx_bytes);
            }
            Note::Decided(_)
            | Note::Port(_)
            | Note::Queue(_)
            | Note::Switch(_)
            | Note::Pfc(_)
            | Note::Hop(_)
            | Note::Story(_) => {}
        }
    }

    fn progress(&mut self, progress: Progress) -> bool {
        let tenths = progress.work.finished * 10 / progress.flows.max(1);
        if tenths > self.told {
            self.told = tenths;
            (self.watch)(progress);
        }
        true
    }
}
