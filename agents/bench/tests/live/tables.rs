//! Tables that change while the switch runs.

use std::{thread, time::Duration};

use lab_abi::{
    LcmpConfig, Rule,
    wire::{AgentCommand, AgentMessage, DecisionReport, EcnConfig, LinkReport, PolicyConfig},
};
use lab_bench::{
    AgentController, Side,
    testbed::{P1, P2, PREFIX},
};
use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use crate::{
    FLOWS, chosen,
    lab::{self, Lab, Result},
};

#[test]
fn rewritten_buckets_are_for_new_flows_and_demands_are_counted() -> Result {
    Lab::test(|lab| {
        let (mut controller, agent) = lab.start(PolicyConfig::Buckets, |config| {
            config.demand_interval_ns = Some(Nanos::from_millis(100));
        })?;
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        let pinned = chosen(&controller.decisions(FLOWS.len())?);

        controller.set_buckets([0, 100])?;
        let later = 51_000..51_020;
        lab.send(later.clone(), 1)?;
        let led = chosen(&controller.decisions(later.len())?);
        assert!(led.values().all(|&port| port == P2), "{led:?}");
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        let last = controller.stop()?;
        for flow in last.flows.iter().filter(|flow| FLOWS.contains(&flow.sport)) {
            assert_eq!((flow.port, flow.decisions), (pinned[&flow.sport], 1));
        }
        let sent = lab::bytes_of(2 * FLOWS.len() + later.len());
        assert_eq!(controller.demands, [(PREFIX.0, sent)].into());
        agent.join().expect("no panic")?;
        Ok(())
    })
}

/// Flows on the port that is left keep it, although the other flows leave the table.
#[test]
fn flows_leave_a_live_port_that_is_no_longer_a_candidate() -> Result {
    Lab::test(|lab| {
        let (mut controller, agent) = lab.start(PolicyConfig::Buckets, |_| {})?;
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        let pinned = chosen(&controller.decisions(FLOWS.len())?);
        let lost = pinned.values().filter(|port| **port == P1).count();
        assert!((1..FLOWS.len()).contains(&lost), "{pinned:?}");

        let mut destination = lab.config(PolicyConfig::Buckets).destinations[0].clone();
        destination
            .candidates
            .retain(|candidate| candidate.port == P2);
        controller.apply(&AgentCommand::SetDestination(destination))?;
        let stats = controller.stats_where(|stats| stats.expired > 0)?;
        assert_eq!(usize::try_from(stats.expired), Ok(lost));
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        let last = controller.stop()?;
        let kept = last.flows.iter().filter(|flow| flow.port == P2);
        assert!(kept.clone().all(|flow| flow.decisions == 1));
        assert_eq!(kept.count(), FLOWS.len() - lost);
        agent.join().expect("no panic")?;
        Ok(())
    })
}

#[test]
fn tables_that_nobody_confirms_are_not_used() -> Result {
    Lab::test(|lab| {
        let (mut controller, agent) = lab.start(PolicyConfig::Buckets, |config| {
            config.max_table_age_ns = Some(MAX_AGE);
            config.destinations[0].candidates[0].buckets = 0;
        })?;
        let send = |controller: &mut AgentController, flows: std::ops::Range<u16>| {
            lab.send(flows.clone(), 1)?;
            controller.decisions(flows.len())
        };
        let by_hash = |made: &[DecisionReport]| {
            made.iter()
                .map(|made| (made.rule, made.port))
                .all(|made| made == (Rule::Hash, P2))
        };
        // While the tables are fresh, flows follow the buckets, and one port has no buckets.
        assert!(by_hash(&send(&mut controller, 50_000..50_005)?));
        // Once the tables are old, flows are hashed over both ports, and the decisions are counted as stale.
        thread::sleep(Duration::from_nanos(MAX_AGE.get()));
        let old = send(&mut controller, 51_000..51_030)?;
        assert!(old.iter().all(|made| made.rule == Rule::Stale));
        assert!(old.iter().any(|made| made.port == P1));
        controller
            .stats_where(|stats| stats.counters.stale == 30 && stats.counters.fallbacks == 30)?;
        // After a confirmation the tables are fresh again.
        controller.apply(&AgentCommand::ConfirmTables)?;
        assert!(by_hash(&send(&mut controller, 52_000..52_005)?));
        controller.stop()?;
        agent.join().expect("no panic")?;
        Ok(())
    })
}

#[test]
fn packets_that_meet_a_queue_are_marked_until_the_link_is_changed() -> Result {
    Lab::test(|lab| {
        let ecn = EcnConfig {
            k_min: Bytes::new(1_000),
            k_max: Bytes::new(10_000),
            p_max: Ratio::ONE,
        };
        let (mut controller, agent) = lab.start(PolicyConfig::Buckets, |config| {
            config.destinations[0].candidates[1].buckets = 0;
            config.ports[1].ecn = Some(ecn);
        })?;
        let marked = |link: &LinkReport| link.marks.is_some_and(|marks| marks > 0);
        lab.while_flooding(50_000, || controller.link_of(P1, marked))?;
        controller.apply(&AgentCommand::SetLink {
            port: P1,
            rate_bps: BitsPerSec::new(lab::RATE_BPS).expect("not zero"),
            buffer_bytes: Bytes::new(lab::BUFFER_BYTES),
            ecn: None,
        })?;
        controller.link_of(P1, |link| link.marks.is_none())?;
        controller.stop()?;
        agent.join().expect("no panic")?;
        Ok(())
    })
}

#[test]
fn an_agent_rests_until_the_time_that_it_is_told() -> Result {
    Lab::test(|lab| {
        let (mut controller, agent) = lab.start(PolicyConfig::Buckets, |_| {})?;
        let sampled_at = |message| match message {
            AgentMessage::Queues(queues) => Some(Nanos::new(queues.time_ns)),
            _ => None,
        };
        let before = controller.wait_for("its queues", sampled_at)?;
        let second = Nanos::from_millis(1_000);
        let half = before.saturating_add(second);
        let until_ns = half.saturating_add(second);
        controller.command(&AgentCommand::Start {
            at_ns: until_ns.saturating_add(second),
            rest_until_ns: until_ns,
        })?;
        let mut times = vec![before];
        while times.last().is_none_or(|&time| time < until_ns) {
            times.push(controller.wait_for("its queues", sampled_at)?);
        }
        // On a busy machine the command takes some time to arrive, so only the second half of the rest is checked.
        let resting = times.iter().filter(|&&time| half < time && time < until_ns);
        assert_eq!(resting.count(), 0, "{times:?}");
        controller.stop()?;
        agent.join().expect("no panic")?;
        Ok(())
    })
}

#[test]
fn weights_are_tuned_while_the_agent_runs() -> Result {
    Lab::test(|lab| {
        let rate = BitsPerSec::new(lab::RATE_BPS).expect("not zero");
        let lcmp = LcmpConfig::paper(rate);
        let policy = PolicyConfig::Lcmp(lcmp.clone());
        let (mut controller, agent) = lab.start(policy, |config| {
            config.destinations[0].candidates[0].c_path = 60;
        })?;
        let costs =
            |controller: &mut AgentController, flows: std::ops::Range<u16>| -> Result<Vec<u32>> {
                lab.send(flows.clone(), 1)?;
                let made = controller.decisions(flows.len())?;
                Ok(made[0].candidates.iter().map(|row| row.cost).collect())
            };
        assert_eq!(costs(&mut controller, 50_000..50_010)?, [180, 60]);
        controller.apply(&AgentCommand::SetLcmp(LcmpConfig {
            alpha: 1,
            beta: 3,
            ..lcmp
        }))?;
        assert_eq!(costs(&mut controller, 51_000..51_010)?, [60, 20]);
        drop(controller);
        agent.join().expect("no panic")?;
        Ok(())
    })
}

#[test]
fn a_port_that_came_back_takes_new_flows_alone() -> Result {
    Lab::test(|lab| {
        let (mut controller, agent) = lab.start(PolicyConfig::Buckets, |_| {})?;
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        controller.decisions(FLOWS.len())?;
        lab.testbed.ip(Side::Target, "link set r1 down")?;
        controller.port_is(P1, false)?;
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        lab.testbed.ip(Side::Target, "link set r1 up")?;
        controller.port_is(P1, true)?;
        // Flows that have moved stay on their new port.
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        let later = 51_000..51_040;
        lab.send(later.clone(), 1)?;
        let last = controller.stop()?;
        let port_of = |sport| {
            last.flows
                .iter()
                .find(|flow| flow.sport == sport)
                .map(|flow| flow.port)
        };
        assert!(FLOWS.into_iter().all(|flow| port_of(flow) == Some(P2)));
        let on_p1 = later.filter(|&flow| port_of(flow) == Some(P1)).count();
        assert!(on_p1 > 5, "{on_p1} of 40 new flows");
        assert_eq!(last.end, AgentMessage::Bye);
        agent.join().expect("no panic")?;
        Ok(())
    })
}

#[test]
fn an_own_program_decides() -> Result {
    Lab::test(|lab| {
        let rate = BitsPerSec::new(lab::RATE_BPS).expect("not zero");
        let object = |name: &str| {
            let directory = env!("CARGO_MANIFEST_DIR");
            format!("{directory}/../ebpf/examples/{name}.bpf.o")
        };
        for (name, is_expected) in [
            // `delay-only` sends all flows over the path with the lowest delay.
            ("delay-only", (|ports| ports == [P1]) as fn(Vec<_>) -> bool),
            // Both ports are idle, so `two-choice` takes the first port drawn, and the hash spreads the flows.
            ("two-choice", |ports| ports == [P1, P2]),
        ] {
            let policy = PolicyConfig::Own(lab_abi::wire::OwnPolicy {
                object: object(name),
                parameters: LcmpConfig::paper(rate),
            });
            let (mut controller, agent) = lab.start(policy, |_| {})?;
            assert_eq!(lab.send(FLOWS, 2)?, 2 * FLOWS.len());
            let made = controller.decisions(FLOWS.len())?;
            assert!(made.iter().all(|made| made.rule == Rule::Own), "{name}");
            let mut ports: Vec<_> = chosen(&made).into_values().collect();
            ports.sort_unstable();
            ports.dedup();
            assert!(is_expected(ports.clone()), "{name}: {ports:?}");
            drop(controller);
            agent.join().expect("no panic")?;
        }
        let policy = PolicyConfig::Own(lab_abi::wire::OwnPolicy {
            object: object("nowhere"),
            parameters: LcmpConfig::paper(rate),
        });
        let (mut controller, agent) = lab.start_unready(policy, |_| {})?;
        let Some(AgentMessage::Error { message }) = controller.message()? else {
            panic!("there is no such object")
        };
        assert!(
            message.contains("cannot read it: No such file"),
            "{message}"
        );
        agent.join().expect("no panic").expect_err("no object");
        Ok(())
    })
}

/// Maximum age of the switch's destination tables in these tests, far longer than sending a few packets takes.
const MAX_AGE: Nanos = Nanos::from_millis(5_000);
