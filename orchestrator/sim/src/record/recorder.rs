//! The observer that writes what happens.

use std::collections::BTreeMap;

use lab_records::{
    DecisionRow, FlowStatus, LinkRow, PfcRow, PortRow, QueueRow, RecordsError, RunWriter,
    StoryEvent, StoryRow, SwitchRow,
};

use super::{
    paths::FlowPaths,
    rows::{End, NoteRows},
    story::Stories,
};
use crate::{
    note::{DecisionNote, HopNote, Note},
    run::{EndReason, Observer, Outcome, Progress},
    shard::Told,
    simulate::Scene,
};

/// Writes rows at the end of every window, so that memory is bounded by what one window says and
/// by the flows under way.
pub struct Recorder<'w> {
    scene: Scene<'w>,
    told: &'w Told,
    rows: NoteRows<'w>,
    writer: &'w mut RunWriter,
    watch: &'w mut dyn FnMut(Progress) -> bool,
    /// Paths of flows that have started and not ended.
    paths: BTreeMap<u32, FlowPaths>,
    /// By flow.
    has_ended: Vec<bool>,
    stories: Stories,
    pending: Pending,
    /// The first thing that could not be written; nothing is written after it.
    error: Option<RecordsError>,
}

/// Rows to be written at the end of the window.
#[derive(Debug, Default)]
struct Pending {
    links: Vec<LinkRow>,
    queues: Vec<QueueRow>,
    switches: Vec<SwitchRow>,
    decisions: Vec<DecisionRow>,
    pfc: Vec<PfcRow>,
    ports: Vec<PortRow>,
    story: Vec<StoryRow>,
}

impl<'w> Recorder<'w> {
    pub fn new(
        scene: Scene<'w>,
        told: &'w Told,
        writer: &'w mut RunWriter,
        watch: &'w mut dyn FnMut(Progress) -> bool,
    ) -> Self {
        Self {
            scene,
            told,
            rows: NoteRows::new(scene),
            writer,
            watch,
            paths: BTreeMap::new(),
            has_ended: vec![false; scene.flows.len()],
            stories: Stories::default(),
            pending: Pending::default(),
            error: None,
        }
    }

    /// Writes what is left: a row for every flow that did not finish.
    pub fn close(mut self, outcome: &Outcome) -> Result<(), RecordsError> {
        let mut has_started = vec![false; self.scene.flows.len()];
        for &flow in &outcome.unfinished {
            has_started[flow as usize] = true;
        }
        for (flow, has_started) in (0u32..).zip(has_started) {
            if !self.has_ended[flow as usize] {
                let end = self.unfinished(flow, has_started, outcome);
                self.end_flow(flow, &end);
            }
        }
        self.pending.story.extend(self.stories.end_all());
        self.flush();
        self.error.map_or(Ok(()), Err)
    }

    fn unfinished(&self, flow: u32, has_started: bool, outcome: &Outcome) -> End {
        let end = self.rows.paper_time(outcome.end);
        let start = self.rows.paper_time(self.scene.flows[flow as usize].start);
        let (status, reason) = match (outcome.reason, has_started) {
            (EndReason::Stopped, true) => (
                FlowStatus::Interrupted,
                format!("the run was interrupted at {end}"),
            ),
            (EndReason::Stopped, false) => (
                FlowStatus::Interrupted,
                format!("the run was interrupted at {end}, it was to start at {start}"),
            ),
            (EndReason::Until, true) => (
                FlowStatus::TimedOut,
                format!("not finished when the time was up at {end}"),
            ),
            (EndReason::Until, false) => (
                FlowStatus::NotReady,
                format!("it was to start at {start}, the time was up at {end}"),
            ),
            (EndReason::Stuck | EndReason::Finished, _) => (
                FlowStatus::TimedOut,
                "a packet of it was lost and nothing sends it again (hint: \
                 transport.retransmit_timeout)"
                    .to_owned(),
            ),
        };
        End::Not {
            status,
            reason,
            has_started,
        }
    }

    fn end_flow(&mut self, flow: u32, end: &End) {
        self.has_ended[flow as usize] = true;
        let paths = self.paths.remove(&flow);
        let paths = paths.unwrap_or_else(|| self.rows.no_paths(flow));
        let row = self.rows.flow(flow, end, &paths);
        let written = self.writer.append_flow(&row);
        self.keep(written);
        self.pending.story.extend(self.stories.end(flow));
    }

    fn hop(&mut self, note: HopNote) {
        // Packets that were sent again may still be under way.
        if self.has_ended[note.flow as usize] {
            return;
        }
        let (from, to) = self.rows.hop(note.port);
        let rows = &self.rows;
        let paths = self.paths.entry(note.flow);
        let paths = paths.or_insert_with(|| rows.no_paths(note.flow));
        let trace = if note.is_ack {
            &mut paths.ack
        } else {
            &mut paths.data
        };
        trace.hop(from, to);
    }

    fn decided(&mut self, note: &DecisionNote) {
        let Some(row) = self.rows.decision(note) else {
            return;
        };
        if self.is_told(note.flow) {
            let story = self.rows.decided(note, row.chosen.clone());
            self.tell(note.flow, story);
        }
        self.pending.decisions.push(row);
    }

    fn is_told(&self, flow: u32) -> bool {
        match self.told {
            Told::None => false,
            Told::All => true,
            Told::Flows(flows) => flows.contains(&self.scene.flows[flow as usize].plan),
        }
    }

    fn tell(&mut self, flow: u32, row: StoryRow) {
        self.pending.story.extend(self.stories.add(flow, row));
    }

    fn flush(&mut self) {
        let Pending {
            links,
            queues,
            switches,
            decisions,
            pfc,
            ports,
            story,
        } = std::mem::take(&mut self.pending);
        let mut write = || {
            self.writer.append(&links)?;
            self.writer.append(&queues)?;
            self.writer.append(&switches)?;
            self.writer.append(&decisions)?;
            self.writer.append(&pfc)?;
            self.writer.append(&ports)?;
            self.writer.append(&story)
        };
        if self.error.is_none() {
            self.error = write().err();
        }
    }

    fn keep(&mut self, written: Result<(), RecordsError>) {
        if self.error.is_none() {
            self.error = written.err();
        }
    }
}

impl Observer for Recorder<'_> {
    fn note(&mut self, note: Note) {
        match note {
            Note::Finished(end) => self.end_flow(end.flow, &End::At(end.at)),
            Note::Decided(note) => self.decided(&note),
            Note::Link(note) => self.pending.links.push(self.rows.link(&note)),
            Note::Port(note) => self.pending.ports.push(self.rows.port(&note)),
            Note::Queue(note) => self.pending.queues.push(self.rows.queue(&note)),
            Note::Switch(note) => self.pending.switches.push(self.rows.switch(&note)),
            Note::Pfc(note) => self.pending.pfc.push(self.rows.pfc(&note)),
            Note::Hop(note) => self.hop(note),
            Note::Story(note) => {
                let row = self.rows.story(&note);
                let is_last = note.event == StoryEvent::Finished;
                self.tell(note.flow, row);
                if is_last {
                    self.pending.story.extend(self.stories.end(note.flow));
                }
            }
        }
    }

    fn progress(&mut self, progress: Progress) -> bool {
        self.flush();
        (self.watch)(progress) && self.error.is_none()
    }
}
