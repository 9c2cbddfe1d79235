//! One policy's run, kept in memory.

use std::collections::BTreeMap;

use lab_artifact::SimulatedFlow;
use lab_plan::{Link, Plan};
use lab_sim::{
    Job, Observer, Outcome, Progress, RunOptions, SimError, SimTime,
    note::Note,
    physics::NextHopOrder,
    simulate::{Audience, Scene, perform},
};
use lab_units::{Bytes, Nanos};

/// What a policy's run gave.
pub struct Played {
    /// Its flows.
    pub flows: Vec<SimulatedFlow>,
    /// What each link had carried in both directions, by time.
    carried: BTreeMap<String, BTreeMap<Nanos, Bytes>>,
}

impl Played {
    /// When the last flow finished.
    pub fn last_end(&self) -> Nanos {
        let ends = self.flows.iter();
        let ends = ends.filter_map(|flow| Some(flow.start.saturating_add(flow.fct?)));
        ends.max().unwrap_or(Nanos::ZERO)
    }

    /// What `link` had carried, from time 0 on.
    pub fn carried(&self, link: &Link) -> Vec<(Nanos, Bytes)> {
        let mut samples = vec![(Nanos::ZERO, Bytes::ZERO)];
        let counted = self.carried.get(&link.name);
        samples.extend(counted.into_iter().flatten().map(|(&at, &sent)| (at, sent)));
        samples
    }
}

/// Plays `policy` of `plan`; `watch` hears now and then how far it is.
pub fn play(
    plan: &Plan,
    policy: usize,
    order: &NextHopOrder,
    threads: usize,
    watch: &mut dyn FnMut(Progress),
) -> Result<Played, SimError> {
    let job = Job {
        order: Some(order),
        ..Job::new(plan, policy, 0)
    };
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    perform(job, &options, Keeper { watch })
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
        let flow = |(flow, end): (&lab_sim::world::SimFlow, &Option<SimTime>)| {
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
            Note::Decided(_) | Note::Queue(_) | Note::Pfc(_) | Note::Hop(_) | Note::Story(_) => {}
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
