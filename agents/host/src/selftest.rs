//! Step-by-step comparison of the programs' DCQCN arithmetic with the reference; no interface is needed.
//!
//! Random parameters and random events pass through the kernel program (`BPF_PROG_TEST_RUN`). After each step, the
//! program's state must be equal to the state that `lab-dcqcn` computes.

use aya::{
    Ebpf,
    programs::{TestRun, TestRunOptions},
};
use lab_abi::dcqcn::{
    CongestionPoint, DcqcnParams, LAW_CNP, LAW_MARKED, LAW_QUEUED, LAW_SENT, LAW_START, LAW_TIMER,
    LawStep, MAX_RATE_BPS, MAX_THRESHOLD, ONE_Q30,
};
use lab_dcqcn::{congestion, notification, reaction};
use lab_loader::LoaderError;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{
    HostError,
    programs::{OBJECT, classifier},
};

/// Counts of a self-test of the DCQCN arithmetic, and its first mismatch.
#[derive(Clone, Debug, Default)]
pub struct SelftestReport {
    /// Number of steps run.
    pub steps: u64,
    /// Number of steps per event, in the order of LAW_*.
    pub by_event: [u64; 6],
    /// Number of steps from a state in which no timer changes the rate before the next CNP.
    pub settled: u64,
    /// Number of steps that changed the rate: under the published law, and under the artifact's law.
    pub changed: [u64; 2],
    /// CNPs sent during the test.
    pub cnps: u64,
    /// Packets marked during the test.
    pub marked: u64,
    /// Number of steps after which the program's state differs from the reference.
    pub mismatches: u64,
    /// Description of the first mismatch.
    pub described: Option<String>,
}

/// Runs `steps` random steps of the DCQCN law in the kernel and compares each with the reference. A mismatch is not an
/// error; the report counts it.
///
/// # Errors
/// The kernel refuses to load or run the program.
pub fn selftest(steps: u64, seed: u64) -> Result<SelftestReport, HostError> {
    let mut ebpf = Ebpf::load(OBJECT).map_err(LoaderError::Load)?;
    classifier(&mut ebpf, PROGRAM)?
        .load()
        .map_err(HostError::program("load", PROGRAM))?;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut report = SelftestReport::default();
    let mut state = LawStep::default();
    while report.steps < steps {
        if report.steps.is_multiple_of(STEPS_PER_QP) {
            state = first_step(&mut random);
        } else {
            next_step(&mut state, &mut random);
        }
        let found = run(&mut ebpf, &state)?;
        report.settled += u64::from(reaction::next_timer(&state.point, &state.params).is_none());
        let before = state;
        apply(&mut state);
        report.add(&before, &state, &found);
        state = found;
    }
    Ok(report)
}

impl SelftestReport {
    fn add(&mut self, before: &LawStep, expected: &LawStep, found: &LawStep) {
        self.steps += 1;
        let event = usize::try_from(before.event).unwrap_or(0);
        self.by_event[event] += 1;
        let law = usize::from(before.params.decrease_interval != 0);
        self.changed[law] += u64::from(before.point.rate_bps != expected.point.rate_bps);
        self.cnps += expected.cnps - before.cnps;
        self.marked += u64::from(expected.event == LAW_QUEUED && expected.is_marked == 1);
        if found != expected {
            self.mismatches += 1;
            self.described.get_or_insert_with(|| {
                format!(
                    "step {}: {before:#?}\nfound {found:#?}\nexpected {expected:#?}",
                    self.steps
                )
            });
        }
    }
}

/// Runs a step in the kernel and returns the state after it.
fn run(ebpf: &mut Ebpf, step: &LawStep) -> Result<LawStep, HostError> {
    let mut packet = [0; PACKET];
    packet[ETHERTYPE..HEADER].copy_from_slice(&LOCAL_EXPERIMENT);
    packet[HEADER..].copy_from_slice(bytemuck::bytes_of(step));
    let mut output = packet;
    let options = TestRunOptions {
        data_in: Some(&packet),
        data_out: Some(&mut output),
        ..TestRunOptions::default()
    };
    let ran = classifier(ebpf, PROGRAM)?
        .test_run(options)
        .map_err(HostError::program("run", PROGRAM))?;
    if ran.return_value != OK {
        return Ok(LawStep::default());
    }
    Ok(bytemuck::pod_read_unaligned(&output[HEADER..]))
}

/// Applies a step with the reference law.
fn apply(step: &mut LawStep) {
    let now = step.now;
    let params = step.params;
    match step.event {
        LAW_START => step.point = reaction::start(step.point.line_bps, &params),
        LAW_TIMER => reaction::on_timer(&mut step.point, now, &params),
        LAW_SENT => reaction::on_sent(&mut step.point, now, step.bytes, &params),
        LAW_CNP => reaction::on_cnp(&mut step.point, now, &params),
        LAW_QUEUED => {
            let is_marked = congestion::is_marked(&step.congestion, step.queue, step.dice);
            step.is_marked = u32::from(is_marked);
        }
        _ => {
            let next = notification::next_cnp(step.next_cnp, now, params.cnp_interval);
            if let Some(next) = next {
                step.next_cnp = next;
                step.cnps += 1;
            }
        }
    }
}

/// Returns the first step of a QP with random parameters, drawn from ranges that include the paper's values and a
/// scaled lab's.
fn first_step(random: &mut Pcg64Mcg) -> LawStep {
    let line = match below(random, 4) {
        0 => 100_000_000,
        1 => 100_000_000_000,
        2 => MAX_RATE_BPS,
        _ => 1 + log_uniform(random, 42),
    };
    // The lower bound of a thousandth of the line rate limits the number of rate increases to catch up on after a
    // pause.
    let rate = |random: &mut Pcg64Mcg| line / 1_000 + 1 + below(random, line / 10 + 1);
    let time = |random: &mut Pcg64Mcg| 1 + log_uniform(random, 34);
    let params = DcqcnParams {
        cnp_interval: time(random),
        alpha_interval: time(random),
        increase_interval: time(random),
        byte_counter: 100 + log_uniform(random, 24),
        additive_bps: rate(random),
        hyper_bps: rate(random),
        min_bps: 1 + log_uniform(random, 30),
        gain_q30: match below(random, 4) {
            0 => u32::try_from(below(random, u64::from(ONE_Q30) + 1)).unwrap_or(0),
            _ => ONE_Q30 >> below(random, 12),
        },
        fast_recovery: u32::try_from(1 + below(random, 8)).unwrap_or(1),
        decrease_interval: below(random, 2) * time(random),
        first_decrease: time(random),
    };
    let k_min = below(random, MAX_THRESHOLD);
    let congestion = CongestionPoint {
        k_min,
        k_max: k_min + below(random, MAX_THRESHOLD - k_min + 1),
        p_max_q32: log_uniform(random, 32) + below(random, 2),
    };
    let mut step = LawStep {
        event: LAW_START,
        now: log_uniform(random, 50),
        params,
        congestion,
        ..LawStep::default()
    };
    step.point.line_bps = line;
    step
}

/// Turns the state after a step into the next step: adds a random event at a random later time.
fn next_step(step: &mut LawStep, random: &mut Pcg64Mcg) {
    let interval = step.params.increase_interval;
    let until = |due: u64| match due {
        u64::MAX => 0,
        _ => due.saturating_sub(step.now),
    };
    step.now += match below(random, 9) {
        0 => 0,
        1 => until(step.point.increase_due),
        2 => until(step.point.alpha_due),
        3 => until(step.point.decrease_due),
        4 => below(random, 40 * interval),
        5 => log_uniform(random, 36),
        _ => below(random, 2 * interval),
    };
    step.event = match below(random, 18) {
        0 => LAW_TIMER,
        1..=3 => LAW_CNP,
        4 | 5 => LAW_MARKED,
        6 | 7 => LAW_QUEUED,
        _ => LAW_SENT,
    };
    step.bytes = match below(random, 4) {
        0 => 4_170,
        1 => u32::try_from(step.point.bytes_left.min(70_000)).unwrap_or(1),
        _ => u32::try_from(below(random, 70_000)).unwrap_or(1),
    };
    let congestion = &step.congestion;
    step.queue = match below(random, 4) {
        0 => congestion.k_min + below(random, 2),
        1 => congestion.k_max + below(random, 2),
        2 => congestion.k_min + below(random, congestion.k_max - congestion.k_min + 1),
        _ => log_uniform(random, 40),
    };
    step.dice = u32::try_from(log_uniform(random, 32)).unwrap_or(u32::MAX);
}

/// Returns a random number below `bound`, which must not be 0; the small bias is irrelevant for tests.
fn below(random: &mut Pcg64Mcg, bound: u64) -> u64 {
    random.next_u64() % bound
}

/// Returns a random number of up to `bits` bits; all lengths are equally likely.
fn log_uniform(random: &mut Pcg64Mcg, bits: u64) -> u64 {
    let length = below(random, bits + 1);
    below(random, 1 << length)
}

const PROGRAM: &str = "law_step";

/// Number of steps after which a new QP with new parameters starts.
const STEPS_PER_QP: u64 = 200;

/// Value that the program returns to let the kernel handle a packet, `TC_ACT_OK`.
const OK: u32 = 0;

/// Length of an Ethernet header.
const HEADER: usize = 14;

/// Offset of the type field in an Ethernet header.
const ETHERTYPE: usize = 12;

/// Ethertype for local experiments (IEEE 802).
const LOCAL_EXPERIMENT: [u8; 2] = [0x88, 0xb5];

const PACKET: usize = HEADER + size_of::<LawStep>();
