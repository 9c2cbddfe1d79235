//! Agents that are killed, and their successors.

use std::{
    io::Write,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use lab_abi::wire::{
    AgentConfig, AgentMessage, AttachMode, Attachment, DecisionReport, PolicyConfig,
};
use lab_bench::{
    AgentController, BenchError, Side,
    testbed::{P1, P2},
};
use nix::{sys::signal::Signal, unistd::Pid};

use crate::{
    FLOWS, chosen,
    lab::{BpfMount, Lab, Result, skipped},
};

/// Entry point of an agent process that tests start. It is not a test and is not counted as one.
#[test]
#[ignore = "entry point of a process that tests start"]
fn agent_entry_point() {
    let config = serde_json::from_reader(std::io::stdin()).expect("a configuration");
    lab_switchd::run(config).expect("a clean end");
}

/// Starts the switch's agent in a process of its own.
fn start(lab: &Lab, config: &AgentConfig) -> Result<(AgentController, Child)> {
    let enter = lab.testbed.enter(Side::Switch);
    AgentController::listen(&lab.socket(), || spawn(config, enter))
}

fn spawn(config: &AgentConfig, enter: impl FnOnce() -> Result + Send) -> Child {
    let test = std::env::current_exe().expect("this test");
    let start = || {
        enter().expect("root may enter it");
        Command::new(test)
            .args([
                "--exact",
                "killed::agent_entry_point",
                "--ignored",
                "--nocapture",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts")
    };
    // A child process inherits the namespace of the thread that starts it.
    let mut child = thread::scope(|scope| scope.spawn(start).join()).expect("no panic");
    let text = serde_json::to_vec(config).expect("plain data");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(&text).expect("it reads");
    child
}

fn kill(agent: &mut Child) {
    agent.kill().expect("it is ours");
    agent.wait().expect("it is dead");
}

fn pid(agent: &Child) -> Pid {
    Pid::from_raw(i32::try_from(agent.id()).expect("a process id"))
}

fn config(lab: &Lab, bpf: &BpfMount, attach: AttachMode) -> AgentConfig {
    AgentConfig {
        attach,
        pin_dir: Some(format!("{}/s", bpf.path().display())),
        ..lab.config(PolicyConfig::Buckets)
    }
}

fn a_switch_outlives_its_agent(attach: AttachMode) -> Result {
    Lab::test(|lab| {
        let bpf = lab.bpf_directory();
        let config = config(&lab, &bpf, attach);
        let (mut controller, mut agent) = start(&lab, &config)?;
        let ready = controller.ready()?;
        assert_eq!(ready.adopted, None);
        if attach == AttachMode::Netlink {
            assert_eq!(ready.attachment, Attachment::Netlink);
        }
        assert_eq!(lab.send(FLOWS, 2)?, FLOWS.len() * 2);
        let pinned = chosen(&controller.decisions(FLOWS.len())?);

        // The agent is killed while packets flow: no packet is lost, then or later, and new flows still get decisions.
        let later = 51_000..51_010;
        thread::scope(|scope| {
            let sending =
                scope.spawn(|| (0..20).map(|_| lab.send(FLOWS, 1)).sum::<Result<usize>>());
            thread::sleep(Duration::from_millis(5));
            kill(&mut agent);
            let arrived = sending.join().expect("no panic")?;
            assert_eq!(arrived, 20 * FLOWS.len());
            Ok::<(), BenchError>(())
        })?;
        let end = std::iter::from_fn(|| controller.message().transpose());
        let is_end = |message: &AgentMessage| {
            matches!(message, AgentMessage::Bye | AgentMessage::Error { .. })
        };
        let end = end.collect::<Result<Vec<_>>>()?.into_iter().find(is_end);
        assert_eq!(end, None, "it had no time for a last message");
        assert_eq!(lab.send(later.clone(), 1)?, later.len());

        // The next agent takes over all flows and counters.
        let (mut controller, mut agent) = start(&lab, &config)?;
        let flows = FLOWS.len() + later.len();
        let adopted = controller.ready()?.adopted;
        assert_eq!(adopted, u64::try_from(flows).ok());
        let meanwhile = controller.decisions(later.len())?;
        assert!(meanwhile.iter().all(|made| later.contains(&made.sport)));
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        let last = controller.stop()?;
        assert_eq!(last.end, AgentMessage::Bye);
        assert_eq!(last.flows.len(), flows);
        for flow in last.flows.iter().filter(|flow| FLOWS.contains(&flow.sport)) {
            let expected = (pinned[&flow.sport], 23, 1);
            assert_eq!((flow.port, flow.packets, flow.decisions), expected);
        }
        let stats = last.stats;
        assert_eq!(stats.counters.new_flows, u64::try_from(flows).expect("few"));
        assert_eq!(
            (stats.counters.failovers, stats.evicted, stats.expired),
            (0, 0, 0)
        );
        assert!(agent.wait().expect("it ended").success());

        // The second agent ended regularly and removed everything.
        assert!(!bpf.path().join("s").exists());
        assert!(!lab.qdiscs()?.contains("clsact"), "{}", lab.qdiscs()?);
        lab.nobody_forwards(&FLOWS)?;
        Ok(())
    })
}

#[test]
fn a_switch_outlives_its_agent_and_the_next_one_takes_it_over() -> Result {
    a_switch_outlives_its_agent(AttachMode::Auto)
}

#[test]
fn a_switch_outlives_its_agent_by_netlink_as_well() -> Result {
    a_switch_outlives_its_agent(AttachMode::Netlink)
}

/// Returns the number of flows that `decisions` send through port P1.
fn on_p1(decisions: &[DecisionReport]) -> usize {
    let ports = decisions.iter().map(|decision| decision.port);
    ports.filter(|&port| port == P1).count()
}

#[test]
fn flows_leave_a_dead_port_while_the_agent_is_stopped_or_gone() -> Result {
    Lab::test(|lab| {
        let bpf = lab.bpf_directory();
        let config = config(&lab, &bpf, AttachMode::Auto);
        let link = |state| {
            lab.testbed
                .ip(Side::Target, &format!("link set r1 {state}"))
        };
        let (mut controller, mut agent) = start(&lab, &config)?;
        if !controller.ready()?.has_carriers {
            skipped("this kernel does not mark dead ports by itself");
            kill(&mut agent);
            return Ok(());
        }
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        let before = controller.decisions(FLOWS.len())?;
        assert!(on_p1(&before) > 5);

        // The stopped agent cannot run when the link goes down, so only the kernel can move packets to the other port.
        let signal = |signal| nix::sys::signal::kill(pid(&agent), signal).expect("it is ours");
        signal(Signal::SIGSTOP);
        link("down")?;
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        // The link comes back before the agent runs again, so the agent sees no change.
        link("up")?;
        signal(Signal::SIGCONT);
        let moved = controller.decisions(on_p1(&before))?;
        assert!(moved.iter().all(|decision| decision.port == P2));
        let mut flows = 51_000..51_020;
        loop {
            assert_eq!(lab.send(flows.clone(), 1)?, flows.len());
            if on_p1(&controller.decisions(flows.len())?) > 0 {
                break;
            }
            flows = flows.end..flows.end + 20;
            assert!(flows.end < 60_000, "the port stays dead");
        }

        // Without an agent, the kernel marks ports dead in the same way.
        kill(&mut agent);
        link("down")?;
        assert_eq!(lab.send(flows.clone(), 1)?, flows.len());
        let (mut controller, mut agent) = start(&lab, &config)?;
        controller.ready()?;
        assert_eq!(lab.send(flows.clone(), 1)?, flows.len());
        let last = controller.stop()?;
        let mut on_last = last.flows.iter().filter(|flow| flows.contains(&flow.sport));
        assert!(on_last.all(|flow| flow.port == P2));
        assert!(agent.wait().expect("it ended").success());
        assert!(!bpf.path().join("s").exists());
        Ok(())
    })
}

#[test]
fn a_flow_table_of_another_size_is_not_taken_over() -> Result {
    Lab::test(|lab| {
        let bpf = lab.bpf_directory();
        let large = config(&lab, &bpf, AttachMode::Auto);
        let small = AgentConfig {
            flow_table_entries: 1_000,
            ..large.clone()
        };
        let (mut controller, mut agent) = start(&lab, &large)?;
        controller.ready()?;
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        kill(&mut agent);
        let (mut controller, mut agent) = start(&lab, &small)?;
        assert_eq!(controller.ready()?.adopted, None);
        assert_eq!(lab.send(FLOWS, 1)?, FLOWS.len());
        let last = controller.stop()?;
        assert!(last.flows.iter().all(|flow| flow.packets == 1));
        assert!(agent.wait().expect("it ended").success());
        Ok(())
    })
}
