//! Tests of a plan's warnings.

use lab_plan::PlanOptions;
use lab_units::Engine;

use crate::common;

/// Returns a scenario in which two paths of different delay lead from one datacenter to another.
fn diamond(rates: [&str; 2], more: &str) -> String {
    let [near, far] = rates;
    format!(
        "name: diamond
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2 }}, {{ name: dc3 }}, {{ name: dc4, hosts: 1 }}]
  links:
    - {{ between: [dc1, dc2], rate: {near}, delay: 5 ms }}
    - {{ between: [dc2, dc4], rate: {near}, delay: 5 ms }}
    - {{ between: [dc1, dc3], rate: {far}, delay: 6 ms }}
    - {{ between: [dc3, dc4], rate: {far}, delay: 6 ms }}
policies: [ecmp, lcmp]
scale: {{ rate: 1/1000, time: 10 }}
{more}
"
    )
}

const ONE_FLOW: &str = "traffic: [{ flows: [{ from: dc1/h1, to: dc4/h1, size: 20 MB }] }]";

fn warnings(text: &str) -> Vec<(String, String)> {
    let plan = common::plan(text);
    plan.warnings
        .into_iter()
        .map(|warning| (warning.code, warning.text))
        .collect()
}

fn codes(text: &str) -> Vec<String> {
    warnings(text).into_iter().map(|(code, _)| code).collect()
}

/// A simulation is planned without scaling.
fn codes_in_sim(text: &str) -> Vec<String> {
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    let plan = common::try_plan(text, &options).unwrap();
    plan.warnings.into_iter().map(|it| it.code).collect()
}

#[test]
fn repetitions_of_listed_flows_are_the_same() {
    let text = diamond(
        ["100 Gbit", "100 Gbit"],
        &format!("{ONE_FLOW}\nrepetitions: 3"),
    );
    assert_eq!(codes(&text), ["same-repetitions"]);
    assert_eq!(codes_in_sim(&text), ["same-repetitions"]);
}

#[test]
fn a_lab_is_warned_of_a_link_without_delay_which_the_simulator_refuses() {
    let is_said = |text: &str| codes(text).contains(&"simulator-no-delay".to_owned());
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW);
    assert!(is_said(&text.replace("delay: 6 ms", "delay: 0 ms")));
    let fault = format!("{text}faults: [{{ at: 1 ms, link: [dc1, dc2], delay: 0 ms }}]\n");
    assert!(is_said(&fault) && !is_said(&text));
}

/// The round trip between dc1 and dc4 takes 20 ms or more.
#[test]
fn a_simulated_qp_may_time_out_early_too() {
    let early = |timeout: &str| {
        let more = format!("{ONE_FLOW}\ntransport: {{ retransmit_timeout: {timeout} }}");
        let text = diamond(["100 Gbit", "100 Gbit"], &more);
        codes_in_sim(&text).contains(&"early-timeout".to_owned())
    };
    assert!(early("4 ms") && early("17 ms") && !early("100 ms"));
}

#[test]
fn a_sound_plan_has_no_warnings() {
    assert_eq!(codes(&diamond(["100 Gbit", "100 Gbit"], ONE_FLOW)), [""; 0]);
}

#[test]
fn a_path_of_more_links_with_less_delay() {
    let link = "    - { between: [dc1, dc4], rate: 10 Gbit, delay: 50 ms }\n";
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW);
    let found = warnings(&text.replace("policies:", &format!("{link}policies:")))
        .into_iter()
        .find(|(code, _)| code == "delay-off-the-tables");
    insta::assert_snapshot!(found.unwrap().1);
}

/// Two paths lead from dc1 to dc4. A direct link would be a third path, with fewer links, and therefore the only
/// candidate. From dc4, a single link leads to dc5, but traffic from dc1 still has a choice on its way to dc4.
#[test]
fn flows_without_a_choice() {
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW);
    let direct = "    - { between: [dc1, dc4], rate: 100 Gbit, delay: 1 ms }\n";
    let direct = text.replace("policies:", &format!("{direct}policies:"));
    let one_path = |text: &str| of_code("one-path", warnings(text));
    assert_eq!(one_path(&text), [""; 0]);
    // If no flow has a choice, the run's evidence reports it instead.
    assert_eq!(one_path(&direct), [""; 0]);
    let beyond = "    - { between: [dc4, dc5], rate: 100 Gbit, delay: 1 ms }\n";
    let beyond = text
        .replace("hosts: 1 }]", "hosts: 1 }, { name: dc5, hosts: 1 }]")
        .replace("policies:", &format!("{beyond}policies:"));
    let to_dc5 = beyond.replace("to: dc4/h1", "to: dc5/h1");
    assert_eq!(one_path(&to_dc5), [""; 0]);
    // Half of the flows have no choice, which is not a majority.
    let also = |count: usize| {
        let more = ", { from: dc4/h1, to: dc5/h1, size: 20 MB }".repeat(count);
        beyond.replace("size: 20 MB }", &format!("size: 20 MB }}{more}"))
    };
    assert_eq!(one_path(&also(1)), [""; 0]);
    insta::assert_snapshot!(one_path(&also(2))[0], @"2 of 3 flows have only one candidate at every switch, so all policies send them along the same path (hint: candidates are next hops on paths of the fewest links, and `lcmp-lab plan` lists them; if a link makes one path shorter than the others, no other path is a candidate)");
}

/// Returns the warnings of the diamond scenario with `faults` and two flows from dc1 to dc4, the second of which starts
/// at 100 ms.
fn of_faults(faults: &str) -> Vec<(String, String)> {
    let second = "size: 20 MB }, { from: dc1/h1, to: dc4/h1, size: 20 MB, start: 100 ms }";
    let flows = ONE_FLOW.replace("size: 20 MB }", second);
    let more = format!("{flows}\nfaults: [{faults}]");
    warnings(&diamond(["100 Gbit", "100 Gbit"], &more))
}

/// Returns the texts of the warnings with code `code`.
fn of_code(code: &str, warnings: Vec<(String, String)>) -> Vec<String> {
    let found = warnings.into_iter().filter(|(found, _)| found == code);
    found.map(|(_, text)| text).collect()
}

/// The second flow starts at 100 ms. Propagation takes 20 ms per round trip and 20 MB at 100 Gbit/s take 1.6 ms; with
/// headers and host links, its last ACK arrives at about 121.7 ms.
#[test]
fn faults_after_the_last_flow_change_nothing() {
    let late = |faults: &str| of_code("late-fault", of_faults(faults));
    assert_eq!(
        late("{ at: 121 ms, link: [dc1, dc2], rate: 10 Gbit }"),
        [""; 0]
    );
    insta::assert_snapshot!(late("{ at: 123 ms, link: [dc1, dc2], rate: 10 Gbit }")[0]);
    let several = "{ at: 1 ms, link: [dc1, dc2], delay: 6 ms }, { at: 2 s, link: [dc1, dc2], delay: 5 ms }, { at: 1 \
    s, \
                   link: [dc3, dc4], down: true }";
    insta::assert_snapshot!(late(several)[0]);
    // The flow that the cut delays needs the repair to finish.
    let repair =
        "{ at: 101 ms, link: [dc1, dc2], down: true }, { at: 2 s, link: [dc1, dc2], up: true }";
    assert_eq!(late(repair), [""; 0]);
}

/// A new delay changes no candidates.
#[test]
fn without_a_cut_nothing_reconverges() {
    let found = |faults: &str| {
        let more = format!("routing: {{ reconverge: {{ after: 10 ms }} }}\n{ONE_FLOW}\n{faults}");
        let text = diamond(["100 Gbit", "100 Gbit"], &more);
        of_code("no-reconvergence", warnings(&text))
    };
    let wanted = "`routing.reconverge` (line 11) has no effect: no fault cuts or repairs a link (hint: add one to \
                  `faults`; random ones are drawn up to the last start of a flow)";
    assert_eq!(found(""), [wanted]);
    let delay = "faults: [{ at: 1 ms, link: [dc1, dc2], delay: 6 ms }]";
    assert_eq!(found(delay), [wanted]);
    let cut = "faults: [{ at: 1 ms, link: [dc1, dc2], down: true }]";
    assert_eq!(found(cut), [""; 0]);
}

/// The flows are under way from 0 to about 21.7 ms and from 100 ms to about 121.7 ms.
#[test]
fn crashes_of_agents_beside_the_traffic_change_nothing() {
    let late = |faults: &str| of_code("late-fault", of_faults(faults));
    assert_eq!(late("{ at: 121 ms, agent: dc1, down: true }"), [""; 0]);
    insta::assert_snapshot!(late("{ at: 123 ms, agent: dc1, down: true }")[0], @"the crash of an agent in `faults[0]` (line 12) affects only flows that queues or earlier faults delay: if each flow ran alone, all would have ended by 121.7 ms (hint: set `at` earlier, or lengthen the traffic)");
    let flows = ONE_FLOW.replace("size: 20 MB }", "size: 20 MB, start: 40 ms }");
    let early = |up: &str| {
        let faults = format!(
            "faults: [{{ at: 1 ms, agent: dc1, down: true }}, {{ at: {up}, agent: dc1, up: true }}]"
        );
        let text = diamond(["100 Gbit", "100 Gbit"], &format!("{flows}\n{faults}"));
        of_code("early-fault", warnings(&text))
    };
    assert_eq!(early("41 ms"), [""; 0]);
    insta::assert_snapshot!(early("39 ms")[0], @"the crash of an agent in `faults[0]` (line 12) affects no flow: the agent is back before the first flow starts at 40 ms (hint: set `at` later)");
}

/// ECMP decides by tables that never change. LCMP samples queues, a repair needs the agent under every policy, and a
/// reconvergence changes the tables; both are those of dc1's switch only if they happen while its agent is down.
#[test]
fn a_crash_matters_only_if_the_agent_has_something_to_do() {
    let crash = "{ at: 20 ms, agent: dc1, down: true }, { at: 60 ms, agent: dc1, up: true }";
    let idle = |policies: &str, routing: &str, more: &str| {
        let more = format!("{ONE_FLOW}\n{routing}\nfaults: [{crash}{more}]");
        let both = diamond(["100 Gbit", "100 Gbit"], &more);
        let text = both.replace("policies: [ecmp, lcmp]", &format!("policies: [{policies}]"));
        of_code("idle-agent-crash", warnings(&text))
    };
    insta::assert_snapshot!(idle("ecmp, wcmp", "", "")[0], @"the crash of an agent in `faults[0]` (line 13) affects no decision: under `ecmp`, `wcmp` the switch has one candidate for each destination, or decides by tables that do not change meanwhile (hint: crash the agent of a switch with a choice under a policy whose agent samples queues or changes splits, such as `lcmp` or `te-100ms`, or let a repair of one of the switch's links or a reconvergence happen before the restart)");
    assert_eq!(idle("ecmp, lcmp", "", ""), [""; 0]);
    assert_eq!(idle("te-100ms", "", ""), [""; 0]);
    // The preset samples at decisions, for which it needs the agent.
    assert_eq!(idle("{ lcmp: { preset: artifact } }", "", ""), [""; 0]);
    let cut = |link: &str, down: &str, up: &str| {
        format!(
            ", {{ at: {down}, link: {link}, down: true }}, {{ at: {up}, link: {link}, up: true }}"
        )
    };
    assert_eq!(
        idle("ecmp", "", &cut("[dc1, dc2]", "10 ms", "50 ms")),
        [""; 0]
    );
    assert_eq!(
        idle("ecmp", "", &cut("[dc1, dc2]", "10 ms", "70 ms")).len(),
        1
    );
    assert_eq!(
        idle("ecmp", "", &cut("[dc2, dc4]", "10 ms", "50 ms")).len(),
        1
    );
    let routing = "routing: { reconverge: { after: 1 ms } }";
    assert_eq!(
        idle("ecmp", routing, &cut("[dc2, dc4]", "30 ms", "90 ms")),
        [""; 0]
    );
    assert_eq!(
        idle("ecmp", routing, &cut("[dc2, dc4]", "70 ms", "90 ms")).len(),
        1
    );
    // After 10 ms without confirmation, the switch hashes over all candidates alike, which ECMP does anyway.
    let short = "max_table_age: 10 ms";
    assert_eq!(idle("ecmp", short, "").len(), 1);
    assert_eq!(idle("ecmp, wcmp", short, ""), [""; 0]);
}

#[test]
fn faults_that_leave_no_path() {
    let cut_off = |faults: &str| of_code("cut-off", of_faults(faults));
    let cuts = "{ at: 20 ms, link: [dc1, dc2], down: true },\n  { at: 30 ms, link: [dc3, dc4], down: true }";
    insta::assert_snapshot!(cut_off(cuts).join("\n"));
    let repaired = format!("{cuts}, {{ at: 40 ms, link: [dc4, dc3], up: true }}");
    insta::assert_snapshot!(cut_off(&repaired).join("\n"));
    // At the same time, the repair precedes the cut, so flows can use the repaired path before the other one is cut.
    let moved = "{ at: 20 ms, link: [dc1, dc2], down: true }, { at: 30 ms, link: [dc1, dc2], up: true }, { at: 30 \
                 ms, link: [dc3, dc4], down: true }";
    assert_eq!(cut_off(moved), [""; 0]);
}

#[test]
fn a_cut_beyond_the_first_switch() {
    let far =
        "{ at: 20 ms, link: [dc2, dc4], down: true }, { at: 40 ms, link: [dc4, dc2], up: true }";
    let found = of_faults(far);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "unseen-cut");
    insta::assert_snapshot!(found[0].1, @"from 20 ms to 40 ms no source datacenter's switch detects the cut of `dc2-dc4`: under every policy, flows (also new ones) are still sent from `dc1` to `dc4` via `dc2`, and packets are lost at the cut until then (hint: a switch detects only cuts of its own links; cut the first link, too, to make flows fail over)");
}

#[test]
fn many_time_spans_have_three_warnings_and_a_count() {
    let flaps = |count: u32| {
        let flap = |number: u32| {
            let [down, up] = [20 * number, 20 * number + 10];
            format!(
                "{{ at: {down} ms, link: [dc2, dc4], down: true }}, {{ at: {up} ms, link: [dc2, dc4], up: true }}"
            )
        };
        let faults: Vec<String> = (1..=count).map(flap).collect();
        of_code("unseen-cut", of_faults(&faults.join(", ")))
    };
    assert_eq!(flaps(4).len(), 4);
    let five = flaps(5);
    assert_eq!(five.len(), 4);
    assert!(five[2].starts_with("from 60 ms to 70 ms"), "{five:?}");
    assert_eq!(
        five[3],
        "no source datacenter's switch detects a cut in 2 later time spans, too"
    );
}

/// While both links of a path are cut, each end detects its own cut. dc1's link is repaired 10 ms before dc4's, or is
/// never cut.
#[test]
fn cuts_that_the_ends_see_and_repairs_that_they_do_not() {
    let both =
        "{ at: 20 ms, link: [dc1, dc2], down: true }, { at: 20 ms, link: [dc2, dc4], down: true }";
    let together =
        "{ at: 40 ms, link: [dc1, dc2], up: true }, { at: 40 ms, link: [dc2, dc4], up: true }";
    assert_eq!(of_faults(both), []);
    assert_eq!(of_faults(&format!("{both}, {together}")), []);
    let apart = together.replace("40 ms, link: [dc2", "50 ms, link: [dc2");
    let found = of_faults(&format!("{both}, {apart}"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.starts_with(
        "from 40 ms to 50 ms no source datacenter's switch detects the cut of `dc2-dc4`"
    ));
    // ACKs go from dc4 to dc1.
    let near = of_faults("{ at: 20 ms, link: [dc1, dc2], down: true }");
    let said = "from 20 ms on no source datacenter's switch detects the cut of `dc1-dc2`: under every policy, flows \
                (also new ones) are still sent from `dc4` to `dc1` via `dc2`, and packets are lost at the cut for good";
    assert!(near[0].1.starts_with(said), "{near:?}");
}

#[test]
fn delays_that_no_limit_separates() {
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW).replace("delay: 6 ms", "delay: 5001 us");
    let found = warnings(&text);
    assert_eq!(found[0].0, "delay-score-ties");
    assert!(
        found[0].1.ends_with(
            "(hint: no `max_delay` separates all delays: a step is 1/255 of `max_delay`)"
        ),
        "{found:?}"
    );
}

#[test]
fn a_queue_shorter_than_its_link() {
    let more = format!("{ONE_FLOW}\n").replace("20 MB", "60 MB");
    let text = diamond(["100 Gbit", "100 Gbit"], &more).replace(
        "rate: 100 Gbit, delay: 6 ms",
        "rate: 100 Gbit, delay: 6 ms, buffer: 10 MB",
    );
    let found = warnings(&text);
    assert_eq!(found[0].0, "rxe-window");
    assert_eq!(found[1].0, "short-queues");
    insta::assert_snapshot!(found[1].1);
}

#[test]
fn a_queue_of_a_few_packets() {
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW)
        .replace("delay: 6 ms", "delay: 6 ms, buffer: 1 MB");
    assert!(codes(&text).contains(&"tiny-queues".to_owned()));
}

#[test]
fn marks_on_flows_that_are_not_capable() {
    let ecn = "ecn: { k_min: 400 kB, k_max: 1600 kB, p_max: 0.2 }";
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW)
        .replace("delay: 6 ms", &format!("delay: 6 ms, {ecn}"));
    assert_eq!(codes(&text), [""; 0]);
    let incapable = format!("{text}generator: {{ traffic_class: 104 }}\n");
    assert_eq!(codes(&incapable), ["ecn-not-capable"]);
}

#[test]
fn marks_that_only_the_simulator_makes() {
    let ecn = "ecn: { k_min: 400 kB, k_max: 1600 kB, p_max: 0.2 }";
    let defaults = format!("topology:\n  defaults: {{ host_link: {{ {ecn} }} }}\n");
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW).replace("topology:\n", &defaults);
    let found = warnings(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "ecn-inside-dc");
    insta::assert_snapshot!(found[0].1, @"`dc1-dc1/h1`, `dc4-dc4/h1` have `ecn` but are inside datacenters, where only the simulator marks packets, not the kernel engine (hint: leave it out for `up`, or compare with `sim`)");
    // No queue marks packets, so no packet is dropped for lack of ECN capability either.
    let incapable = format!("{text}generator: {{ traffic_class: 104 }}\n");
    assert_eq!(codes(&incapable), ["ecn-inside-dc"]);
}

/// A switch program measures waiting times of up to 2^31 units of 64 ns, 137.4 s. At 100 Mbit/s emulated, that is 1.718
/// GB, and at a size scale of 1/100 a threshold of 171.8 GB.
#[test]
fn thresholds_longer_than_a_switch_program_counts() {
    let marking = |k_max: &str| {
        let flow = format!("{ONE_FLOW}\ntransport: {{ cc: dcqcn }}");
        let ecn = format!(
            "delay: 5 ms, buffer: 400 GB, ecn: {{ k_min: 40 GB, k_max: {k_max}, p_max: 1 }}"
        );
        let text = diamond(["100 Gbit", "100 Gbit"], &flow).replace("delay: 5 ms", &ecn);
        let found = warnings(&text);
        found.into_iter().find(|(code, _)| code == "ecn-capped")
    };
    assert_eq!(marking("171 GB"), None);
    let (_, text) = marking("172 GB").expect("a warning");
    assert!(text.contains("more than 2 min 17 s"), "{text}");
}

/// DCQCN's implementation supports rates up to 2^42 bit/s, 4.398 Tbit/s.
#[test]
fn nics_faster_than_dcqcn_counts() {
    let capped = |rate: &str, cc: &str| {
        let flow = format!("{ONE_FLOW}\ntransport: {{ cc: {cc} }}");
        let text = diamond(["100 Gbit", "100 Gbit"], &flow).replace(
            "topology:\n",
            &format!("topology:\n  defaults: {{ host_link: {{ rate: {rate} }} }}\n"),
        );
        let plan = common::simulated(&text);
        plan.warnings
            .into_iter()
            .find(|warning| warning.code == "dcqcn-capped")
    };
    assert_eq!(capped("4398 Gbit", "dcqcn"), None);
    assert_eq!(capped("5 Tbit", "hpcc"), None);
    let text = capped("5 Tbit", "dcqcn").expect("a warning").text;
    assert!(text.contains("rates up to 4.4 Tbit/s"), "{text}");
}

#[test]
fn a_tool_that_polls() {
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW);
    let text = format!("{text}generator: {{ tool: ib_write_bw }}\n");
    assert_eq!(codes(&text), ["busy-polling"]);
}

#[test]
fn flows_smaller_than_a_packet_and_packets_longer_than_a_link() {
    let text = diamond(["10 Gbit", "10 Gbit"], ONE_FLOW).replace("time: 10", "time: 1/10");
    let found = warnings(&text);
    assert_eq!(found[0].0, "sub-packet-flows");
    assert!(
        found[0]
            .1
            .starts_with("100 % of flows are under one packet of 4096 B")
    );
    let hint = "(hint: a larger product of `scale.rate` and `scale.time` scales sizes less; `lcmp-lab sim` without \
                `--scaled` takes sizes as written)";
    assert!(found[0].1.ends_with(hint), "{found:?}");
    assert_eq!(found[1].0, "coarse-packets");
}

#[test]
fn more_flows_than_perftest_processes_can_make_and_the_guest_forward() {
    let flows = "traffic: [{ workload: { sizes: workloads/large.csv, pairs: all-to-all, load: 0.8, \
                 duration: 200 ms } }]\n";
    let text = diamond(["200 Gbit", "200 Gbit"], flows).replace("rate: 1/1000", "rate: 1/200");
    assert_eq!(codes(&text), ["rxe-window", "forwarding", "perftest-load"]);
}

/// A perftest flow takes 2 · 250 ms of CPU time: seven policies with about 6,635 flows take 6.5 h, and six repetitions
/// 39 h.
#[test]
fn a_run_of_more_than_a_day() {
    let verbs = common::scenario_text("8dc.yaml");
    assert_eq!(of_code("long-run", warnings(&verbs)), [""; 0]);
    let perftest = verbs.replace("generator: verbs", "generator: perftest");
    assert_eq!(of_code("long-run", warnings(&perftest)), [""; 0]);
    let repeated = perftest.replace("{ lab: 1, sim: 8 }", "6");
    let found = of_code("long-run", warnings(&repeated));
    let expected = "the flows of all policies take about 38 h ";
    assert!(found[0].starts_with(expected), "{found:?}");
    assert!(
        found[0].contains("(hint: set `generator: verbs`, or have fewer flows"),
        "{found:?}"
    );
    // A packet takes 120 µs per link, so 2.2 · 10^9 packets take 73 h.
    let long = verbs.replace("rate: 1/6000", "rate: 1/3");
    assert!(of_code("long-run", warnings(&long))[0].contains("smaller rate factor"));
}

/// Only a lab's switches use the traffic class, and only its agents' samples expire.
#[test]
fn settings_that_the_simulator_has_no_rule_for() {
    let text = diamond(["100 Gbit", "100 Gbit"], ONE_FLOW);
    let ignored = |more: &str| {
        let text = format!("{text}{more}");
        let plan = common::simulated(&text);
        let pairs = plan.warnings.into_iter().map(|it| (it.code, it.text));
        of_code("simulator-ignored", pairs.collect())
    };
    assert_eq!(ignored(""), [""; 0]);
    let lines = text.lines().count();
    let [first, second] = [lines + 1, lines + 2];
    let more = "generator: { traffic_class: 0 }\nmax_table_age: 2 s\n";
    assert_eq!(
        ignored(more),
        [format!(
            "the simulator ignores `generator.traffic_class` (line {first}), as simulated switches mark \
             packets of every class, and `max_table_age` (line {second}), as simulated tables and samples do not \
             expire unless an agent crashes (hint: the lab, `lcmp-lab up`, supports them)"
        )]
    );
    let of_the_lab = of_code("simulator-ignored", warnings(&format!("{text}{more}")));
    assert_eq!(of_the_lab, [""; 0]);
}

#[test]
fn no_flow_at_all() {
    let flows = "traffic: [{ workload: { sizes: workloads/large.csv, pairs: all-to-all, load: 0.001, \
                 duration: 1 us } }]\n";
    assert_eq!(
        codes(&diamond(["200 Gbit", "200 Gbit"], flows)),
        ["no-flows"]
    );
}

/// Returns a workload from `dc1` to `dc4` with few flows.
fn one_way(load: &str) -> String {
    format!(
        "traffic: [{{ workload: {{ sizes: workloads/large.csv, pairs: [{{ from: dc1, to: dc4 }}], \
         {load}, duration: 100 ms }} }}]\n"
    )
}

fn overloads(text: &str) -> Vec<String> {
    warnings(text)
        .into_iter()
        .filter(|(code, _)| code == "overload")
        .map(|(_, text)| text)
        .collect()
}

#[test]
fn a_load_above_what_the_links_of_a_datacenter_carry() {
    let found = overloads(&diamond(["20 Gbit", "20 Gbit"], &one_way("load: 0.5")));
    assert_eq!(found.len(), 1, "{found:?}");
    insta::assert_snapshot!(found[0]);
}

/// dc1's NIC (100 Gbit/s) offers 90 Gbit/s, and its paths can carry 140 Gbit/s in total. An equal split puts 45 Gbit/s
/// on a link of 40 Gbit/s, 1.125 times its capacity; at a load of 80 %, it puts exactly 40 Gbit/s there.
#[test]
fn a_link_that_an_equal_split_overloads() {
    let of = |text: &str| of_code("link-overload", warnings(text));
    let text = |load| diamond(["100 Gbit", "40 Gbit"], &one_way(load));
    assert_eq!(
        of(&text("load: 0.9")),
        [
            "ECMP splits demands equally over candidates, so that link `dc1-dc3` gets 45 Gbit/s on average but can \
             carry 40 Gbit/s, and one more link is overloaded: under `ecmp`, flows pile up there for as long as they \
             arrive (hint: divide `load` by 1.13, or use `wcmp`, which splits by capacity)"
        ]
    );
    assert_eq!(of(&text("load: 0.8")), [""; 0]);
    let without = text("load: 0.9").replace("policies: [ecmp, lcmp]", "policies: [wcmp, lcmp]");
    assert_eq!(of(&without), [""; 0]);
    // Here the datacenter's links cannot carry the demand in total.
    let narrow = diamond(["20 Gbit", "20 Gbit"], &one_way("load: 0.9"));
    assert_eq!((of(&narrow), overloads(&narrow).len()), (vec![], 1));
}

/// Of 80 Gbit/s, dc2 and dc3 get 40 Gbit/s each. dc5 gets half of dc2's traffic, 20 Gbit/s; dc6 gets the other half and
/// all of dc3's, 60 Gbit/s.
#[test]
fn an_equal_split_is_followed_to_the_destination() {
    let text = "
name: ladder
topology:
  dcs:
    - { name: dc1, hosts: 1 }
    - { name: dc2 }
    - { name: dc3 }
    - { name: dc5 }
    - { name: dc6 }
    - { name: dc4, hosts: 1 }
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc1, dc3], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc2, dc5], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc2, dc6], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc3, dc6], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc5, dc4], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc6, dc4], rate: 60 Gbit, delay: 5 ms }
policies: [ecmp]
scale: { rate: 1/1000, time: 10 }
"
    .to_owned()
        + &one_way("load: 0.8");
    let of = |text: &str| of_code("link-overload", warnings(text));
    assert_eq!(of(&text), [""; 0]);
    let narrower = text.replace("rate: 60 Gbit", "rate: 50 Gbit");
    let found = of(&narrower);
    let expected = "link `dc6-dc4` gets 60 Gbit/s on average but can carry 50 Gbit/s: ";
    assert!(found[0].contains(expected), "{found:?}");
    assert!(found[0].contains("divide `load` by 1.20"), "{found:?}");
}

#[test]
fn a_load_above_what_the_senders_nic_carries() {
    let load = one_way("load: 0.9, load_base: dci-egress");
    let found = overloads(&diamond(["85 Gbit", "85 Gbit"], &load));
    assert_eq!(found.len(), 1, "{found:?}");
    insta::assert_snapshot!(found[0]);
}

#[test]
fn a_full_link_and_a_full_nic_are_not_too_much() {
    let load = one_way("load: 1, load_base: dci-egress");
    assert_eq!(
        overloads(&diamond(["50 Gbit", "50 Gbit"], &load)),
        [""; 0],
        "{load}"
    );
}

#[test]
fn loads_of_several_workloads_add_up() {
    let both_ways = "pairs: [{ from: dc1, to: dc4, both_ways: true }]";
    let load = one_way("load: 0.3").replace("pairs: [{ from: dc1, to: dc4 }]", both_ways);
    let text = diamond(["20 Gbit", "20 Gbit"], &load);
    assert_eq!(overloads(&text), [""; 0]);
    let workload = load
        .trim()
        .strip_prefix("traffic: [")
        .unwrap()
        .strip_suffix(']')
        .unwrap();
    let twice = text.replace(workload, &format!("{workload}, {workload}"));
    let found = overloads(&twice);
    assert_eq!(found.len(), 1, "{found:?}");
    insta::assert_snapshot!(found[0]);
}

/// Only next hops on shortest paths are candidates, so the datacenter's other links carry nothing.
#[test]
fn links_that_do_not_lead_there_carry_nothing_there() {
    let text = common::scenario_text("smoke.yaml");
    assert_eq!(overloads(&text), [""; 0]);
    let found = overloads(&text.replace("load: 0.06", "load: 0.3"));
    assert_eq!(found.len(), 1, "{found:?}");
    insta::assert_snapshot!(found[0]);
}

/// Towards each of two other datacenters, 50 Gbit/s are offered, over the same links of 80 Gbit/s.
#[test]
fn a_link_that_leads_to_several_datacenters_is_shared() {
    let text = "\
name: fork
topology:
  dcs:
    - { name: dc1, hosts: 1 }
    - { name: dc2 }
    - { name: dc3, hosts: 1 }
    - { name: dc4, hosts: 1 }
  links:
    - { between: [dc1, dc2], rate: 80 Gbit, delay: 5 ms }
    - { between: [dc2, dc3], rate: 200 Gbit, delay: 5 ms }
    - { between: [dc2, dc4], rate: 200 Gbit, delay: 5 ms }
policies: [ecmp]
scale: { rate: 1/1000, time: 10 }
traffic:
  - workload:
      sizes: workloads/large.csv
      pairs: [{ from: dc1, to: dc3 }, { from: dc1, to: dc4 }]
      load: 1
      duration: 100 ms
";
    let found = overloads(text);
    assert_eq!(found.len(), 1, "{found:?}");
    insta::assert_snapshot!(found[0]);
}

#[test]
fn a_threshold_that_the_preset_has_no_rule_for() {
    let policies = "policies: [{ lcmp: { drop_threshold: 100 } }, { lcmp: { preset: artifact, \
                    label: theirs, max_delay: 16 ms, congested_threshold: 100 } }]";
    let text =
        diamond(["100 Gbit", "100 Gbit"], ONE_FLOW).replace("policies: [ecmp, lcmp]", policies);
    let found = warnings(&text);
    let (codes, texts): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    assert_eq!(
        codes,
        ["unused-parameter", "unused-parameter", "artifact-in-kernel"]
    );
    insta::assert_snapshot!(texts[..2].join("\n"));
    let fitting = text
        .replace("drop_threshold", "congested_threshold: 100, beta")
        .replace("ms, congested_threshold", "ms, drop_threshold");
    assert_eq!(self::codes(&fitting), ["artifact-in-kernel"]);
}

#[test]
fn the_authors_preset_in_a_real_switch() {
    let policies =
        "policies: [{ lcmp: { label: theirs, preset: artifact, max_delay: 16 ms } }, lcmp]";
    let text =
        diamond(["100 Gbit", "100 Gbit"], ONE_FLOW).replace("policies: [ecmp, lcmp]", policies);
    let found = warnings(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "artifact-in-kernel");
    insta::assert_snapshot!(found[0].1);
    let simulated = common::simulated(&text).warnings;
    assert!(
        simulated.iter().all(|warning| warning.code != found[0].0),
        "{simulated:?}"
    );
}

/// Of about 180 arrivals, 40 are kept, spread over the whole duration.
#[test]
fn a_cap_that_leaves_little_of_the_load() {
    let workload = "traffic: [{ workload: { sizes: workloads/large.csv, pairs: [{ from: dc1, to: \
                    dc4 }], load: 0.8, duration: 600 ms, max_flows: 40 } }]\n";
    let text = diamond(["100 Gbit", "100 Gbit"], workload);
    let load = |text: &str| {
        warnings(text)
            .into_iter()
            .filter(|(code, _)| code == "low-load" || code == "early-end")
            .map(|(_, text)| text)
            .collect::<Vec<_>>()
    };
    let found = load(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    insta::assert_snapshot!(found[0]);
    assert_eq!(load(&text.replace(", max_flows: 40", "")), [""; 0]);
}

#[test]
fn starts_that_end_before_the_duration() {
    let workload = "traffic: [{ workload: { sizes: workloads/large.csv, pairs: [{ from: dc1, to: \
                    dc4 }], load: 0.1, duration: 45 ms } }]\n";
    let found = warnings(&diamond(["100 Gbit", "100 Gbit"], workload));
    let early = found.iter().find(|(code, _)| code == "early-end");
    insta::assert_snapshot!(early.expect("a warning").1);
}

/// A switch has a port for each link: 64 ports fit, 65 do not. A legacy switch has no agent, and so no bound.
#[test]
fn a_switch_with_more_ports_than_its_agent_holds_is_named_for_the_lab() {
    let text = |hosts: u32, agent: &str| {
        diamond(["100 Gbit", "100 Gbit"], ONE_FLOW).replace(
            "{ name: dc1, hosts: 1 }",
            &format!("{{ name: dc1, hosts: {hosts}{agent} }}"),
        )
    };
    let named = |text: &str| {
        warnings(text)
            .into_iter()
            .find(|(code, _)| code == "switch-ports")
            .map(|(_, text)| text)
    };
    assert_eq!(named(&text(62, "")), None);
    assert_eq!(named(&text(63, ", agent: legacy")), None);
    let warned = named(&text(63, "")).unwrap();
    assert!(
        warned.starts_with("datacenter `dc1` (line 3) has 65 ports at its switch"),
        "{warned}"
    );
    assert!(
        warned.contains("at most 64 (hint: put its hosts behind `fabric:`"),
        "{warned}"
    );
    let simulated = common::simulated(&text(63, ""));
    assert!(
        simulated
            .warnings
            .iter()
            .all(|it| it.code != "switch-ports")
    );
}

/// The key is in an extended scenario, whose file stands with the line.
#[test]
fn a_line_of_an_extended_scenario_has_its_file() {
    let text = "name: extending
extends: paper/fig5-30.yaml
traffic: [{ flows: [{ from: dc1/h1, to: dc8/h1, size: 1 MB }] }]
policies: [ecmp]
";
    let extended = common::scenario_text("paper/fig5-30.yaml");
    let mut lines = extended.lines().zip(1..);
    let line = lines.find(|(text, _)| text.starts_with("transport: "));
    let place = format!("(`paper/fig5-30.yaml`, line {})", line.unwrap().1);
    let ignored = of_code("transport-ignored", warnings(text));
    assert!(ignored[0].contains(&place), "{ignored:?}");
}
