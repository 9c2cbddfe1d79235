//! Agents that are killed, and those that come after them.

use std::{
    io::Write,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use lab_abi::wire::{
    AgentCommand, AgentConfig, AgentMessage, AttachMode, Attachment, PolicyConfig,
};

use crate::{
    FLOWS, chosen,
    controller::Controller,
    lab::{BpfMount, Lab},
};

/// Set in a process of this test's own that is to be an agent.
const IS_AGENT: &str = "LAB_SWITCHD_TEST_AGENT";

/// Not a test: what an agent's process runs.
#[test]
fn agent_process() {
    if std::env::var_os(IS_AGENT).is_some() {
        let config = serde_json::from_reader(std::io::stdin()).expect("a configuration");
        lab_switchd::run(&config).expect("a clean end");
    }
}

/// The switch's agent in a process of its own.
fn start(lab: &Lab, bpf: &BpfMount, attach: AttachMode) -> (Controller, Child) {
    let mut config = lab.config(PolicyConfig::Buckets, attach);
    config.pin_dir = Some(format!("{}/s", bpf.path().display()));
    Controller::listen(lab, |enter| spawn(&config, enter))
}

fn spawn(config: &AgentConfig, enter: impl FnOnce() + Send) -> Child {
    let test = std::env::current_exe().expect("this test");
    let start = || {
        enter();
        Command::new(test)
            .args(["--exact", "killed::agent_process", "--nocapture"])
            .env(IS_AGENT, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts")
    };
    // A child is where the thread was that made it.
    let child = thread::scope(|scope| scope.spawn(start).join());
    let mut child = child.expect("no panic");
    let text = serde_json::to_vec(config).expect("plain data");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(&text).expect("it reads");
    child
}

fn a_switch_outlives_its_agent(name: &str, attach: AttachMode) {
    let Some(lab) = Lab::new(name) else { return };
    let bpf = lab.bpf_directory();
    let (mut controller, mut agent) = start(&lab, &bpf, attach);
    let ready = controller.ready();
    assert_eq!(ready.adopted, None);
    if attach == AttachMode::Netlink {
        assert_eq!(ready.attachment, Attachment::Netlink);
    }
    assert_eq!(lab.send(FLOWS, 2), FLOWS.len() * 2);
    let pinned = chosen(&controller.decisions(FLOWS.len()));

    // Killed while packets flow: none is lost, then or afterwards, and new flows are decided too.
    let later = 51_000..51_010;
    thread::scope(|scope| {
        let sending = scope.spawn(|| (0..20).map(|_| lab.send(FLOWS, 1)).sum::<usize>());
        thread::sleep(Duration::from_millis(5));
        agent.kill().expect("it is ours");
        agent.wait().expect("it is dead");
        assert_eq!(sending.join().expect("no panic"), 20 * FLOWS.len());
    });
    assert_eq!(controller.end(), None, "it had no time for a last word");
    assert_eq!(lab.send(later.clone(), 1), later.len());

    // The next one finds all of it as it was.
    let (mut controller, mut agent) = start(&lab, &bpf, attach);
    let flows = FLOWS.len() + later.len();
    let adopted = controller.ready().adopted;
    assert_eq!(adopted, u64::try_from(flows).ok());
    let meanwhile = controller.decisions(later.len());
    assert!(meanwhile.iter().all(|made| later.contains(&made.sport)));
    assert_eq!(lab.send(FLOWS, 1), FLOWS.len());
    controller.command(&AgentCommand::Stop);
    let last = controller.rest();
    assert_eq!(last.end, AgentMessage::Bye);
    assert_eq!(last.flows.len(), flows);
    for flow in last.flows.iter().filter(|flow| FLOWS.contains(&flow.sport)) {
        let expected = (pinned[&flow.sport], 23, 1);
        assert_eq!((flow.port, flow.packets, flow.decisions), expected);
    }
    let stats = last.stats;
    assert_eq!(stats.new_flows, u64::try_from(flows).expect("few"));
    assert_eq!((stats.failovers, stats.evicted, stats.expired), (0, 0, 0));
    assert!(agent.wait().expect("it ended").success());

    // That one ended well: nothing stays.
    assert!(!bpf.path().join("s").exists());
    assert!(!lab.qdiscs().contains("clsact"), "{}", lab.qdiscs());
    assert_eq!(lab.send(FLOWS, 1), 0, "nobody forwards any more");
}

#[test]
fn a_switch_outlives_its_agent_and_the_next_one_takes_it_over() {
    a_switch_outlives_its_agent("kill", AttachMode::Auto);
}

#[test]
fn a_switch_outlives_its_agent_by_netlink_as_well() {
    a_switch_outlives_its_agent("killn", AttachMode::Netlink);
}

#[test]
fn a_flow_table_of_another_size_is_not_taken_over() {
    let Some(lab) = Lab::new("resize") else {
        return;
    };
    let bpf = lab.bpf_directory();
    let (mut controller, mut agent) = start(&lab, &bpf, AttachMode::Auto);
    controller.ready();
    assert_eq!(lab.send(FLOWS, 1), FLOWS.len());
    agent.kill().expect("it is ours");
    agent.wait().expect("it is dead");
    let mut config = lab.config(PolicyConfig::Buckets, AttachMode::Auto);
    config.pin_dir = Some(format!("{}/s", bpf.path().display()));
    config.flow_table_entries = 1_000;
    let (mut controller, mut agent) = Controller::listen(&lab, |enter| spawn(&config, enter));
    assert_eq!(controller.ready().adopted, None);
    assert_eq!(lab.send(FLOWS, 1), FLOWS.len());
    controller.command(&AgentCommand::Stop);
    let last = controller.rest();
    assert!(last.flows.iter().all(|flow| flow.packets == 1));
    assert!(agent.wait().expect("it ended").success());
}
