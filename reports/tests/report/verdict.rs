//! Tests of the verdict on a run: one test per reason, with values at and beyond its bound.

use lab_records::{
    Certification, CertifiedRow, ChangeKind, Clock, Conduct, CpuWatch, EngineInfo, FaultInfo,
    FlowCounts, FlowTables, Grade, GuestCpu, LabWork, LinkChange, LiveChange, Mechanism,
    PolicyEvidence, ReasonCode, Recovery, RunEnd, RunInfo, Sampling, Verdict, Warning, Watch,
};
use lab_reports::words;
use lab_sample as sample;
use lab_units::{BitsPerSec, Nanos};

/// Judges the sample run of 200 flows, modified by `change`.
fn judge(change: impl FnOnce(&mut RunInfo, &mut RunEnd, &mut FlowCounts)) -> Verdict {
    let mut info = sample::info();
    let mut end = sample::end();
    info.scheduled_flows = 100;
    end.lab = Some(LabWork {
        packet_hops: 100_000,
        lab_ns: Nanos::from_millis(1_000),
    });
    let mut counts = FlowCounts {
        flows: 200,
        finished: 200,
        unfinished: 0,
        below_one: 0,
    };
    change(&mut info, &mut end, &mut counts);
    Verdict::of(&info, Some(&end), &counts)
}

/// Asserts that the verdict has this grade and a single reason, and that the text of the reason contains `words`.
#[track_caller]
fn assert_reason(verdict: &Verdict, grade: Grade, words: &str) {
    assert_eq!(verdict.grade, grade, "{verdict:?}");
    match (grade, verdict.reasons.as_slice()) {
        (Grade::Valid, []) => {}
        (_, [reason]) => assert!(words::reason(reason).contains(words), "{reason:?}"),
        _ => panic!("{verdict:?}"),
    }
}

/// Asserts the grades of a measured quantity for three values: within its bound, beyond it, and far beyond it.
#[track_caller]
fn assert_grades<T: Copy>(
    words: &str,
    [valid, doubtful, invalid]: [T; 3],
    set: impl Fn(&mut RunEnd, T),
) {
    for (value, grade) in [
        (valid, Grade::Valid),
        (doubtful, Grade::Doubtful),
        (invalid, Grade::Invalid),
    ] {
        let verdict = judge(|info, end, _| {
            if words.contains("CPU") && !words.contains("guest") || words.contains("clock") {
                info.clock = Clock::Real;
            }
            set(end, value);
        });
        assert_reason(&verdict, grade, words);
    }
}

fn watch(end: &mut RunEnd, change: impl FnOnce(&mut Watch)) {
    let mut watch = Watch {
        wakeups: 1_000,
        cpu: Some(CpuWatch::default()),
        ..Watch::default()
    };
    change(&mut watch);
    end.conduct.watch = Some(watch);
}

fn cpu(end: &mut RunEnd, change: impl FnOnce(&mut CpuWatch)) {
    watch(end, |watch| {
        change(watch.cpu.as_mut().expect("there is one"));
    });
}

#[test]
fn a_run_without_a_figure_out_of_bounds_is_valid() {
    assert_reason(&judge(|_, _, _| {}), Grade::Valid, "");
}

#[test]
fn a_run_that_did_not_end_is_doubtful() {
    let counts = FlowCounts {
        flows: 2,
        finished: 2,
        ..FlowCounts::default()
    };
    let verdict = Verdict::of(&sample::info(), None, &counts);
    assert_reason(&verdict, Grade::Doubtful, "did not end");
}

#[test]
fn flows_that_did_not_finish() {
    for (unfinished, grade) in [
        (0, Grade::Valid),
        (1, Grade::Doubtful),
        (200, Grade::Doubtful),
    ] {
        let verdict = judge(|_, _, counts| counts.unfinished = unfinished);
        assert_reason(&verdict, grade, "flows did not finish");
    }
}

#[test]
fn a_run_without_flows_is_doubtful_because_it_compares_nothing() {
    let verdict = judge(|info, _, counts| {
        info.scheduled_flows = 0;
        *counts = FlowCounts::default();
    });
    let words = "no flows were measured, so nothing was compared";
    assert_reason(&verdict, Grade::Doubtful, words);
}

/// Of two policies with 100 flows each, one has finished none.
#[test]
fn a_policy_none_of_whose_flows_finished_makes_a_run_doubtful() {
    let verdict = judge(|_, _, counts| (counts.finished, counts.unfinished) = (100, 100));
    assert_reason(&verdict, Grade::Doubtful, "100 of 200 flows did not finish");
}

#[test]
fn flows_that_were_not_recorded_or_are_too_fast_make_a_run_invalid() {
    let verdict = judge(|_, _, counts| counts.flows = 199);
    assert_reason(
        &verdict,
        Grade::Invalid,
        "199 of 200 scheduled flows recorded",
    );
    let verdict = judge(|_, _, counts| counts.below_one = 1);
    assert_reason(&verdict, Grade::Invalid, "1 of 200 flows impossibly fast");
}

#[test]
fn a_failure_of_the_engine_makes_a_run_invalid() {
    let verdict = judge(|_, end, _| end.problems.push("the agent of dc1 failed".to_owned()));
    assert_reason(&verdict, Grade::Invalid, "the agent of dc1 failed");
}

#[test]
fn an_interrupted_run_is_doubtful_and_its_missing_flows_no_error() {
    let verdict = judge(|_, end, counts| {
        end.is_interrupted = true;
        end.problems.push("the run was interrupted".to_owned());
        counts.flows = 199;
    });
    let reasons: Vec<_> = words::reasons(&verdict);
    assert_eq!(
        reasons,
        [
            "199 of 200 scheduled flows recorded",
            "the run was interrupted"
        ]
    );
    assert_eq!(verdict.grade, Grade::Doubtful);
}

#[test]
fn flows_launched_late() {
    assert_grades("flows launched late", [0, 1, 21], |end, late| {
        end.late_launches = late;
    });
}

/// One late flow in a thousand leaves p99 between p98.9 and p99.1.
#[test]
fn one_flow_in_a_thousand_may_launch_late() {
    let grade = |flows, late| {
        let verdict = judge(|info, end, counts| {
            info.scheduled_flows = flows / 2;
            (counts.flows, counts.finished) = (flows, flows);
            end.late_launches = late;
        });
        verdict.grade
    };
    assert_eq!(grade(2_000, 2), Grade::Valid);
    assert_eq!(grade(2_000, 3), Grade::Doubtful);
    assert_eq!(grade(1_998, 2), Grade::Doubtful);
}

#[test]
fn samples_of_queues_late() {
    assert_grades(
        "of queue lengths taken late",
        [1, 2, 51],
        |end, late_samples| {
            end.evidence.policies.push(PolicyEvidence {
                mechanism: Mechanism::Unknown { decisions: 1 },
                sampling: Some(Sampling {
                    samples: 100,
                    late_samples,
                    ..Sampling::default()
                }),
                ..sample::evidence("lcmp")
            });
        },
    );
}

#[test]
fn flows_that_no_switch_decided_make_a_run_doubtful() {
    for (undecided, grade) in [(0, Grade::Valid), (1, Grade::Doubtful)] {
        let verdict = judge(|_, end, _| {
            end.evidence.policies.push(PolicyEvidence {
                mechanism: Mechanism::Unknown { decisions: 1 },
                undecided,
                ..sample::evidence("lcmp")
            });
        });
        let words = "lcmp: 1 flow finished without a recorded decision by the source's switch";
        assert_reason(&verdict, grade, words);
    }
}

#[test]
fn lost_rows_of_decisions_make_a_run_doubtful() {
    for (unrecorded, grade) in [(0, Grade::Valid), (2, Grade::Doubtful)] {
        let verdict = judge(|_, end, _| {
            end.evidence.policies.push(PolicyEvidence {
                tables: Some(FlowTables {
                    decisions: 9,
                    unrecorded,
                    ..FlowTables::default()
                }),
                ..sample::evidence("lcmp")
            });
        });
        let words = "lcmp: 2 of 9 decisions without a row in the records, bound 0";
        assert_reason(&verdict, grade, words);
    }
}

#[test]
fn a_guest_whose_cpu_was_busy() {
    assert_grades("the guest's CPU was busy", [90, 91, 99], |end, busy| {
        end.guest_cpu = Some(GuestCpu {
            busy_ns: Nanos::new(busy),
            available_ns: Nanos::new(100),
        });
    });
}

#[test]
fn a_guest_that_waited_for_its_host_is_doubtful() {
    let verdict = judge(|_, end, _| end.conduct.host_waits = 1);
    assert_reason(
        &verdict,
        Grade::Doubtful,
        "the guest waited for the host 1 time while",
    );
}

#[test]
fn a_watchdog_that_woke_late() {
    assert_grades(
        "wake-ups of the watchdog late",
        [10, 11, 201],
        |end, late| {
            watch(end, |watch| watch.late_wakeups = late);
        },
    );
}

#[test]
fn a_wall_clock_that_jumped() {
    let jumps = [900_000, 2_000_000, 2_000_000_000];
    assert_grades("the wall clock jumped", jumps, |end, jump| {
        watch(end, |watch| watch.clock_jumps_ns = Nanos::new(jump));
    });
}

#[test]
fn cpus_without_headroom() {
    assert_grades(
        "of all CPUs' time was in use",
        [0.9, 0.95, 1.0],
        |end, share| {
            cpu(end, |cpu| cpu.busy = share);
        },
    );
    assert_grades(
        "of the CPUs' time went to other machines",
        [0.01, 0.1, 0.3],
        |end, share| {
            cpu(end, |cpu| cpu.steal = share);
        },
    );
    assert_grades(
        "of one CPU's time went to softirqs",
        [0.5, 0.9, 1.0],
        |end, share| {
            cpu(end, |cpu| cpu.softirq = share);
        },
    );
    assert_grades("tasks per CPU waited", [0.2, 1.0, 3.0], |end, waiting| {
        cpu(end, |cpu| cpu.waiting = waiting);
    });
}

#[test]
fn packets_dropped_outside_the_emulated_queues() {
    assert_grades("packets dropped outside", [0, 1, 101], |end, dropped| {
        end.conduct.dropped_outside = dropped;
    });
}

#[test]
fn packets_dropped_on_links_without_loss() {
    assert_grades("asks for no loss", [0, 1, 101], |end, dropped| {
        end.conduct.dropped_unasked = dropped;
    });
}

#[test]
fn queues_that_were_changed_while_flows_ran_make_a_run_invalid() {
    let found = "ecmp 0: tbf of `l0d1-d2` in `t-dc1`: wanted limit 2 B, found limit 1 B";
    let verdict = judge(|_, end, _| end.conduct.altered.push(found.to_owned()));
    assert_reason(&verdict, Grade::Invalid, found);
    let verdict = judge(|_, end, _| end.conduct.altered = vec![found.to_owned(); 7]);
    let last = verdict.reasons.last().map(words::reason);
    assert_eq!(
        last.as_deref(),
        Some("interfaces or queues changed while flows ran: 2 more")
    );
    assert_eq!(verdict.reasons.len(), 6);
}

#[test]
fn retransmissions_are_doubtful_unless_a_loss_a_re_route_or_a_fault_explains_them() {
    let recovery = |emulated_drops, reroutes| Conduct {
        recovery: Some(Recovery {
            retries: 3,
            emulated_drops,
            reroutes,
        }),
        ..Conduct::default()
    };
    let verdict = judge(|_, end, _| end.conduct = recovery(0, 0));
    assert_reason(&verdict, Grade::Doubtful, "an earlier packet 3 times");
    for (drops, reroutes) in [(1, 0), (0, 1)] {
        let verdict = judge(|_, end, _| end.conduct = recovery(drops, reroutes));
        assert_reason(&verdict, Grade::Valid, "");
    }
    let verdict = judge(|info, end, _| {
        end.conduct = recovery(0, 0);
        info.faults.push(FaultInfo {
            time_ns: Nanos::ZERO,
            link: "dc1-dc8".to_owned(),
            change: LinkChange::Down,
            rate_bps: None,
        });
    });
    assert_reason(&verdict, Grade::Valid, "");
}

#[test]
fn changes_while_flows_ran_are_doubtful() {
    for (kind, words) in [
        (ChangeKind::Exec, "1 command of `exec` ran beside the flows"),
        (ChangeKind::Tune, "1 change of parameters by `tune`"),
        (ChangeKind::AgentRestart, "1 restart of killed agents"),
    ] {
        let verdict = judge(|_, end, _| {
            end.changes.push(LiveChange {
                kind,
                policy: None,
                repetition: None,
                time_ns: None,
                at: None,
                text: "dc1".to_owned(),
            });
        });
        assert_reason(&verdict, Grade::Doubtful, words);
    }
}

#[test]
fn deviations_of_switches_and_hosts_are_doubtful() {
    for (code, count, words) in [
        (
            ReasonCode::UnpinnedDecisions,
            1_u32,
            "1 decision that created no flow-table entry: the table was full",
        ),
        (
            ReasonCode::StaleDecisions,
            3,
            "3 decisions by hash over all live next hops: tables or queue samples were stale",
        ),
        (
            ReasonCode::LostDecisionRecords,
            1_200,
            "1,200 decision records lost: the ring buffer was full",
        ),
        (
            ReasonCode::LostMessages,
            1,
            "1 message from the agent lost: more than 16 MiB of messages waited to be read (hint: set longer \
             intervals under `measure`)",
        ),
        (
            ReasonCode::IncompleteReports,
            1,
            "the agent ended before it sent its last reports: counters and decisions are missing",
        ),
        (
            ReasonCode::UnpausableSenders,
            2,
            "2 packets from senders that PFC should have paused but could not: they are not hosts",
        ),
        (
            ReasonCode::DroppedDespitePfc,
            2,
            "2 packets dropped despite PFC: a switch's shared buffer had no room",
        ),
        (
            ReasonCode::DroppedFromTrains,
            3,
            "3 packets dropped by queues: in trains, other packets are lost, and QPs recover differently (hint: leave out \
             `--trains`)",
        ),
        (
            ReasonCode::UnpacedPackets,
            1,
            "1 packet not paced: too many QPs",
        ),
        (
            ReasonCode::DroppedByPacer,
            2,
            "2 packets dropped by the pacer",
        ),
        (
            ReasonCode::ReorderedByPacer,
            2,
            "2 packets left the pacer out of order",
        ),
        (ReasonCode::UnsentCnps, 2, "2 CNPs that could not be sent"),
        (ReasonCode::UnrecordedPauses, 2, "2 pauses not recorded"),
    ] {
        let verdict = judge(|_, end, _| {
            let counts = [(code, u64::from(count)), (ReasonCode::LostMessages, 0)];
            end.conduct.add_deviations("lcmp: dc1", &counts);
        });
        assert_reason(&verdict, Grade::Doubtful, &format!("lcmp: dc1: {words}"));
        let [reason] = &verdict.reasons[..] else {
            panic!("{verdict:?}");
        };
        assert_eq!((reason.code, reason.value), (code, Some(f64::from(count))));
    }
}

/// If flows start only in the first 25 % of the workload's duration, the results are correct, but they hardly suffice
/// to rank policies.
#[test]
fn a_workload_that_was_not_offered_leaves_a_run_valid_and_is_named() {
    let mut warnings = Vec::new();
    let verdict = judge(|_, end, _| {
        end.evidence.covered = Some(0.25);
        warnings = end.evidence.warnings();
    });
    assert_reason(&verdict, Grade::Valid, "");
    assert_eq!(warnings, [Warning::ShortArrivals { covered: 0.25 }]);
}

#[test]
fn links_out_of_their_bounds() {
    let rate = |mbit: u64| BitsPerSec::new(mbit * 1_000_000);
    for (row, grade) in [
        (sample::certified("dc1", "dc8"), Grade::Valid),
        (
            CertifiedRow {
                emu_measured_rate_bps: rate(98),
                problem: Some("rate 98 Mbit".to_owned()),
                ..sample::certified("dc1", "dc8")
            },
            Grade::Doubtful,
        ),
        (
            CertifiedRow {
                emu_measured_rate_bps: rate(80),
                problem: Some("rate 80 Mbit".to_owned()),
                ..sample::certified("dc1", "dc8")
            },
            Grade::Invalid,
        ),
        (
            CertifiedRow {
                emu_measured_rate_bps: None,
                emu_measured_delay_ns: None,
                lost: 190,
                problem: Some("nothing arrived".to_owned()),
                ..sample::certified("dc1", "dc8")
            },
            Grade::Invalid,
        ),
    ] {
        let links = Certification::of(&[sample::certified("dc8", "dc1"), row]);
        let verdict = judge(|_, end, _| end.conduct.links = Some(links));
        assert_reason(
            &verdict,
            grade,
            "1 of 2 link directions measured out of bounds",
        );
    }
}

#[test]
fn a_simulation_needs_no_figures_of_a_machine() {
    let verdict = judge(|info, end, _| {
        info.engine = EngineInfo::Sim(lab_records::SimInfo {
            semantics: lab_records::Semantics::Paper,
            cc: vec!["dcqcn".to_owned(); 2],
            threads: 2,
            trains: None,
        });
        (end.lab, end.guest_cpu) = (None, None);
    });
    assert_reason(&verdict, Grade::Valid, "");
}
