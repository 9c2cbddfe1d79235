//! Tests of the facts that limit what a run can show, on networks that are small enough to count by hand.

use lab_plan::{
    AlikeReason, CrashEffect, CutTraffic, HarmfulCut, LoadedLink, Outage, OutageEnd, PlanOptions,
    Scope, Utilisation, resolve, scope,
};
use lab_units::{Engine, Nanos};

use crate::common;

/// Returns the scope of `text`, whose plan is for the simulator, unscaled.
fn scope_of(text: &str) -> Scope {
    let (scenario, files) = common::read(text);
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    let plan = resolve(&scenario, text, &files, &options).unwrap();
    scope(&plan, &scenario, text).unwrap()
}

/// Returns the texts of the warnings with code `code`, of the plan for the simulator.
fn warnings(code: &str, text: &str) -> Vec<String> {
    let found = common::simulated(text).warnings.into_iter();
    found
        .filter(|warning| warning.code == code)
        .map(|warning| warning.text)
        .collect()
}

/// Returns a scenario in which two paths lead from a to d, over b and over c, and one link from d to e. The links are on
/// lines 10 to 14, the policies begin on line 15.
fn diamond([over_b, over_c]: [&str; 2], rest: &str) -> String {
    format!(
        "name: diamond
topology:
  dcs:
    - {{ name: a, hosts: 1 }}
    - {{ name: b }}
    - {{ name: c }}
    - {{ name: d, hosts: 1 }}
    - {{ name: e, hosts: 1 }}
  links:
    - {{ between: [a, b], {over_b} }}
    - {{ between: [b, d], {over_b} }}
    - {{ between: [a, c], {over_c} }}
    - {{ between: [c, d], {over_c} }}
    - {{ between: [d, e], rate: 100 Gbit, delay: 5 ms }}
{rest}
"
    )
}

const ALIKE: [&str; 2] = ["rate: 100 Gbit, delay: 5 ms"; 2];

const FLOW: &str = "traffic: [{ flows: [{ from: a/h1, to: d/h1, size: 20 MB }] }]";

/// Of three pairs, a to d and a to e have a choice at a, and d to e has none: 3 of 5 flows have one. If a has no agent,
/// its kernel splits flows under every policy, so no policy chooses; d has a choice only towards a.
#[test]
fn pairs_and_flows_with_a_choice_are_counted() {
    let flow = |from: &str, to: &str| format!("{{ from: {from}/h1, to: {to}/h1, size: 20 MB }}");
    let flows = [
        flow("a", "d"),
        flow("a", "d"),
        flow("a", "e"),
        flow("d", "e"),
        flow("d", "e"),
    ];
    let traffic = format!(
        "policies: [ecmp]\ntraffic: [{{ flows: [{}] }}]",
        flows.join(", ")
    );
    let text = diamond(ALIKE, &traffic);
    let choice = scope_of(&text).choice;
    assert_eq!((choice.pairs, choice.pairs_with_choice), (3, 2));
    assert_eq!((choice.flows, choice.flows_with_choice), (5, 3));
    let legacy = text.replace("name: a, hosts: 1", "name: a, hosts: 1, agent: legacy");
    let choice = scope_of(&legacy).choice;
    assert_eq!((choice.pairs_with_choice, choice.flows_with_choice), (0, 0));
}

fn alike(text: &str) -> Vec<(Vec<String>, AlikeReason)> {
    let groups = scope_of(text).alike.into_iter();
    groups.map(|group| (group.policies, group.reason)).collect()
}

const POLICIES: &str = "policies:\n  - ecmp\n  - wcmp\n  - min-delay\n  - ucmp\n  - lcmp\n";

/// Data has a choice at a, and its ACKs have one at d. Paths of equal capacity and delay get equal buckets from every
/// policy that only assigns buckets, and UCMP finds both equally cheap for a flow of any size.
#[test]
fn on_equal_paths_all_policies_of_buckets_are_one() {
    let text = diamond(ALIKE, &format!("{POLICIES}{FLOW}"));
    let policies = ["ecmp", "wcmp", "min-delay", "ucmp"].map(str::to_owned);
    let reason = AlikeReason::SameBuckets {
        choices: 2,
        equal_capacities: true,
        equal_delays: true,
    };
    assert_eq!(alike(&text), [(policies.to_vec(), reason)]);
    assert_eq!(
        warnings("same-policies", &text),
        [
            "policies `ecmp`, `wcmp`, `min-delay`, `ucmp` (lines 16, 17, 18, 19) cannot differ: at all 2 choices of the \
             flows they hash over the same buckets of next hops, whose paths have equal capacities and equal delays \
             (hint: leave out all but one with `--policies`, or change rates or delays of links)"
        ]
    );
}

/// With equal rates, ECMP and WCMP have one bucket for each path, and min-delay has buckets for the path over b alone.
/// The cost of UCMP grows equally with the size on both paths, so it never leaves b either.
#[test]
fn paths_of_different_delay_part_policies_by_what_they_read() {
    let [near, far] = ["rate: 100 Gbit, delay: 5 ms", "rate: 100 Gbit, delay: 9 ms"];
    let reason = AlikeReason::SameBuckets {
        choices: 2,
        equal_capacities: true,
        equal_delays: false,
    };
    let pairs = [["ecmp", "wcmp"], ["min-delay", "ucmp"]];
    let groups = pairs.map(|pair| (pair.map(str::to_owned).to_vec(), reason));
    let text = diamond([near, far], &format!("{POLICIES}{FLOW}"));
    assert_eq!(alike(&text), groups);
    // The far path has more capacity: WCMP gives it more buckets, and UCMP moves large flows to it.
    let [near, far] = ["rate: 40 Gbit, delay: 5 ms", "rate: 100 Gbit, delay: 9 ms"];
    let text = diamond([near, far], &format!("{POLICIES}{FLOW}"));
    assert_eq!(alike(&text), []);
    assert_eq!(warnings("same-policies", &text), [""; 0]);
}

/// After the fault, WCMP has 2 buckets for the path over b and 1 for the other.
#[test]
fn a_fault_that_changes_buckets_parts_policies() {
    let fault = "faults: [{ at: 1 ms, link: [c, d], rate: 50 Gbit }]";
    let policies = "policies: [ecmp, wcmp]";
    let text = |faults: &str| diamond(ALIKE, &format!("{policies}\n{FLOW}\n{faults}"));
    assert_eq!(alike(&text("")).len(), 1);
    assert_eq!(alike(&text(fault)), []);
    // A cut changes no buckets: both policies hash over those of the live path.
    let cut = "faults: [{ at: 1 ms, link: [a, c], down: true }]";
    assert_eq!(alike(&text(cut)).len(), 1);
}

/// Only the link from d to e lies between d and e.
#[test]
fn without_a_choice_all_policies_are_one() {
    let flow = FLOW.replace("from: a/h1, to: d/h1", "from: d/h1, to: e/h1");
    let text = diamond(ALIKE, &format!("policies: [ecmp, lcmp]\n{flow}"));
    let both = ["ecmp", "lcmp"].map(str::to_owned).to_vec();
    assert_eq!(alike(&text), [(both, AlikeReason::NoChoice)]);
    // The run's evidence reports that no policy decided anything.
    assert_eq!(warnings("same-policies", &text), [""; 0]);
    let alone = diamond(ALIKE, &format!("policies: [ecmp]\n{flow}"));
    assert_eq!(alike(&alone), []);
}

#[test]
fn policies_with_equal_parameters_are_one_under_two_labels() {
    let policies =
        "policies: [lcmp, { lcmp: { label: again } }, { lcmp: { label: other, beta: 0 } }]";
    let text = diamond(ALIKE, &format!("{policies}\n{FLOW}"));
    let both = ["lcmp", "again"].map(str::to_owned).to_vec();
    assert_eq!(alike(&text), [(both, AlikeReason::SameParameters)]);
}

/// A network of five layers: dc1, then dc2 and dc3, then dc5 and dc6, then dc4. The links are on lines 11 to 17.
fn ladder(middle: &str, last: &str) -> String {
    format!(
        "name: ladder
topology:
  dcs:
    - {{ name: dc1, hosts: 1 }}
    - {{ name: dc2 }}
    - {{ name: dc3 }}
    - {{ name: dc5 }}
    - {{ name: dc6 }}
    - {{ name: dc4, hosts: 1 }}
  links:
    - {{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }}
    - {{ between: [dc1, dc3], rate: 100 Gbit, delay: 5 ms }}
    - {{ between: [dc2, dc5], rate: {middle}, delay: 5 ms }}
    - {{ between: [dc2, dc6], rate: {middle}, delay: 5 ms }}
    - {{ between: [dc3, dc6], rate: {middle}, delay: 5 ms }}
    - {{ between: [dc5, dc4], rate: 100 Gbit, delay: 5 ms }}
    - {{ between: [dc6, dc4], rate: {last}, delay: 5 ms }}
policies: [lcmp]
traffic:
  - workload:
      sizes: workloads/large.csv
      pairs: [{{ from: dc1, to: dc4 }}]
      load: 0.8
      duration: 100 ms
"
    )
}

fn gbit(offered: u64, capacity: u64) -> Utilisation {
    Utilisation {
        offered_bps: offered * 1_000_000_000,
        capacity_bps: capacity * 1_000_000_000,
    }
}

/// dc1 offers 80 % of 100 Gbit/s. dc2 and dc3 get 40 Gbit/s each; dc5 gets half of dc2's, dc6 the rest, 60 Gbit/s. The
/// link from dc6 to dc4 is full at 60 Gbit/s, while both links into dc4 together can carry 160 Gbit/s: 50 %.
#[test]
fn an_even_split_fills_a_link_that_a_better_split_need_not_fill() {
    let scope = scope_of(&ladder("100 Gbit", "60 Gbit"));
    let busiest = LoadedLink {
        link: "dc6-dc4".to_owned(),
        from: "dc6".to_owned(),
        load: gbit(60, 60),
        line: Some(17),
    };
    assert_eq!(busiest.load.percent(), 100);
    assert_eq!(scope.busiest, Some(busiest));
    let tightest = scope.tightest.unwrap();
    assert_eq!(tightest.load, gbit(80, 160));
    assert_eq!(tightest.links, ["dc5-dc4", "dc6-dc4"]);
    assert_eq!(tightest.lines, [16, 17]);
}

/// The three links in the middle carry 20 Gbit/s each; 80 Gbit/s are 4/3 of the 60 that they carry together. Neither the
/// links out of dc1 (200 Gbit/s) nor those into dc4 (200 Gbit/s) show it.
#[test]
fn a_cut_in_the_middle_limits_every_policy() {
    let text = ladder("20 Gbit", "100 Gbit");
    let tightest = scope_of(&text).tightest.unwrap();
    assert_eq!(tightest.load, gbit(80, 60));
    assert_eq!(tightest.links, ["dc2-dc5", "dc2-dc6", "dc3-dc6"]);
    assert_eq!(
        tightest.traffic,
        CutTraffic::Towards {
            to: "dc4".to_owned(),
            from: vec!["dc1".to_owned()],
        }
    );
    assert_eq!(
        warnings("cut-overload", &text),
        [
            "demands exceed a cut of the network under every policy: from `dc1` to `dc4`, over `dc2-dc5`, `dc2-dc6`, \
             `dc3-dc6`: 80 Gbit/s of 60 Gbit/s, 134 % (lines 13, 14, 15); flows pile up there for as long as they \
             arrive, and FCTs depend on the overload more than on the policy (hint: divide `load` by 1.34, which is a \
             share of the senders' capacity, not of the network's)"
        ]
    );
    // 80 Gbit/s of three times 27.
    assert_eq!(
        warnings("cut-overload", &ladder("27 Gbit", "100 Gbit")),
        [""; 0]
    );
}

/// Two pairs share the link from x to y: 2 · 50 Gbit/s on 80 Gbit/s. Each pair alone would fit, and so do the links of
/// every datacenter with hosts. The links are on lines 10 to 14.
#[test]
fn a_link_that_several_pairs_cannot_avoid_limits_every_policy() {
    let text = "name: dumbbell
topology:
  dcs:
    - { name: a, hosts: 1 }
    - { name: b, hosts: 1 }
    - { name: x }
    - { name: y }
    - { name: c, hosts: 1 }
    - { name: d, hosts: 1 }
  links:
    - { between: [a, x], rate: 100 Gbit, delay: 5 ms }
    - { between: [b, x], rate: 100 Gbit, delay: 5 ms }
    - { between: [x, y], rate: 80 Gbit, delay: 5 ms }
    - { between: [y, c], rate: 100 Gbit, delay: 5 ms }
    - { between: [y, d], rate: 100 Gbit, delay: 5 ms }
policies: [lcmp]
traffic:
  - workload:
      sizes: workloads/large.csv
      pairs: [{ from: a, to: c }, { from: b, to: d }]
      load: 0.5
      duration: 100 ms
";
    let tightest = scope_of(text).tightest.unwrap();
    assert_eq!(tightest.load, gbit(100, 80));
    assert_eq!(tightest.lines, [13]);
    let [from, to] = ["x", "y"].map(str::to_owned);
    assert_eq!(tightest.traffic, CutTraffic::OneLink { from, to });
}

/// Between a and d, the far end of a cut link has no other next hop: after the cut of a-b, b cannot send ACKs to a, and
/// d does not know. So each of the four links strands one direction of a-d, and one of a-e over the same links. After
/// the cut of d-e, no link connects e: both directions of a-e are separated.
#[test]
fn single_cuts_strand_and_separate_pairs() {
    let flows = "traffic: [{ flows: [{ from: a/h1, to: d/h1, size: 20 MB }, { from: a/h1, to: e/h1, size: 20 MB }] }]";
    let cuts = scope_of(&diamond(ALIKE, &format!("policies: [ecmp]\n{flows}"))).single_cuts;
    assert_eq!((cuts.pairs, cuts.links), (4, 5));
    let cut = |link: &str, line, stranded, separated| HarmfulCut {
        link: link.to_owned(),
        line: Some(line),
        stranded,
        separated,
    };
    assert_eq!(
        cuts.harmful,
        [
            cut("a-b", 10, 2, 0),
            cut("b-d", 11, 2, 0),
            cut("a-c", 12, 2, 0),
            cut("c-d", 13, 2, 0),
            cut("d-e", 14, 0, 2),
        ]
    );
}

/// From 5 ms, b has no next hop to d, and a does not know. From 8 ms, a's own link is cut, so a sends nothing to b; d has
/// no reason to send to b either, whose next hop to a is cut, because d's own link to b is cut, too. From 20 ms on, a
/// sends to b again, until the repair at 30 ms.
#[test]
fn faults_leave_pairs_without_a_next_hop_for_a_time() {
    let faults = "faults:
  - { at: 5 ms, link: [b, d], down: true }
  - { at: 8 ms, link: [a, b], down: true }
  - { at: 20 ms, link: [b, a], up: true }
  - { at: 30 ms, link: [b, d], up: true }";
    let text = diamond(ALIKE, &format!("policies: [ecmp]\n{FLOW}\n{faults}"));
    let scope = scope_of(&text);
    let outage = |from, to, line, end| Outage {
        from_ns: Nanos::from_millis(from),
        to_ns: Some(Nanos::from_millis(to)),
        pairs: vec![["a", "d"].map(str::to_owned)],
        lines: vec![line],
        end,
    };
    assert_eq!(
        scope.outages,
        [
            outage(5, 8, 18, OutageEnd::FailOver),
            outage(20, 30, 20, OutageEnd::Repair)
        ]
    );
    assert_eq!(scope.fault_times_ns.len(), 4);
}

/// Five datacenters: a path of two links from a to z over b, and one of three over c and d.
fn with_detour(rest: &str) -> String {
    format!(
        "name: detour
topology:
  dcs: [{{ name: a, hosts: 1 }}, {{ name: b }}, {{ name: c }}, {{ name: d }}, {{ name: z, hosts: 1 }}]
  links:
    - {{ between: [a, b], rate: 10 Gbit, delay: 1 ms }}
    - {{ between: [b, z], rate: 10 Gbit, delay: 1 ms }}
    - {{ between: [a, c], rate: 10 Gbit, delay: 2 ms }}
    - {{ between: [c, d], rate: 10 Gbit, delay: 2 ms }}
    - {{ between: [d, z], rate: 10 Gbit, delay: 2 ms }}
traffic: [{{ flows: [{{ from: a/h1, to: z/h1, size: 1 MB }}] }}]
policies: [ecmp]
{rest}
"
    )
}

/// Returns the outages of each direction between a and z: start, end and what ends it, in milliseconds.
fn outages_of(text: &str) -> Vec<(String, u64, Option<u64>, OutageEnd)> {
    let millis = |time: Nanos| time.get() / 1_000_000;
    let outages = scope_of(text).outages.into_iter();
    let rows = outages.flat_map(|outage| {
        let from = millis(outage.from_ns);
        let to = outage.to_ns.map(millis);
        let pairs = outage.pairs.into_iter();
        pairs.map(move |pair| (pair.concat(), from, to, outage.end))
    });
    let mut sorted: Vec<_> = rows.collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    sorted
}

/// A port whose link is up again is used by the next agent. At z, which sends the ACKs, and at b nothing has crashed.
#[test]
fn a_repair_waits_for_the_next_agent_of_a_switch() {
    let faults = |restart: &str| {
        with_detour(&format!(
            "faults: [{{ at: 5 ms, agent: a, down: true }}, {{ at: 10 ms, link: [a, b], down: true }}, {{ at: 20 ms, \
             link: [a, b], up: true }}{restart}]"
        ))
    };
    let [to, back] = ["az", "za"].map(str::to_owned);
    let of_acks = (back, 10, Some(20), OutageEnd::Repair);
    let lasting = (to.clone(), 10, None, OutageEnd::NoAgent);
    assert_eq!(outages_of(&faults("")), [lasting, of_acks.clone()]);
    let waits = (to, 10, Some(50), OutageEnd::AgentStart);
    let restarted = faults(", { at: 50 ms, agent: a, up: true }");
    assert_eq!(outages_of(&restarted), [waits, of_acks]);
}

/// After the cut of b-z, b and z get new next hops at 20 ms, and b's is a, which still sends to b until its agent starts.
#[test]
fn new_next_hops_wait_for_the_next_agent_and_old_ones_may_loop() {
    let text = with_detour(
        "routing: { reconverge: { after: 10 ms } }
faults: [{ at: 5 ms, agent: a, down: true }, { at: 10 ms, link: [b, z], down: true }, { at: 50 ms, agent: a, up: true }]",
    );
    let [to, back] = ["az", "za"].map(str::to_owned);
    assert_eq!(
        outages_of(&text),
        [
            (to, 10, Some(50), OutageEnd::AgentStart),
            (back, 10, Some(20), OutageEnd::Reconvergence)
        ]
    );
}

/// Where b can only send to one neighbour, samples change nothing. TE's agents report the traffic of their hosts.
#[test]
fn an_agent_without_a_choice_samples_for_nothing() {
    let text = with_detour("faults: [{ at: 0 ms, agent: b, down: true }]");
    let idle = |policies: &str| {
        let text = text.replace("policies: [ecmp]", &format!("policies: [{policies}]"));
        warnings("idle-agent-crash", &text).len()
    };
    assert_eq!([idle("lcmp, ucmp"), idle("te-100ms")], [1, 0]);
}

/// Only LCMP's agent has something to do.
#[test]
fn crashes_of_agents_name_the_policies_that_they_do_not_concern() {
    let faults = "faults:
  - { at: 5 ms, agent: a, down: true }
  - { at: 8 ms, agent: a, up: true }";
    let text = diamond(ALIKE, &format!("policies: [ecmp, lcmp]\n{FLOW}\n{faults}"));
    let effect = CrashEffect {
        dc: "a".to_owned(),
        from_ns: Nanos::from_millis(5),
        to_ns: Some(Nanos::from_millis(8)),
        idle_under: vec!["ecmp".to_owned()],
    };
    assert_eq!(scope_of(&text).crashes, [effect]);
}

/// The first flow starts at 40 ms, the second repair is after that.
#[test]
fn cuts_before_the_first_flow_change_nothing() {
    let late = FLOW.replace("size: 20 MB", "size: 20 MB, start: 40 ms");
    let early = |up: &str| {
        let faults = format!(
            "faults: [{{ at: 5 ms, link: [a, b], down: true }}, {{ at: {up}, link: [b, a], up: true }}]"
        );
        warnings(
            "early-fault",
            &diamond(ALIKE, &format!("policies: [ecmp]\n{late}\n{faults}")),
        )
    };
    assert_eq!(
        early("40 ms"),
        [
            "the cut `faults[0]` (line 17) affects no flow: the link is repaired before the first flow starts at 40 ms \
             (hint: set `at` later)"
        ]
    );
    assert_eq!(early("41 ms"), [""; 0]);
}

/// A flow of 20 MB alone ends within 20 ms. A cut before its start, or after its end, affects nothing.
#[test]
fn a_cut_outside_the_time_of_the_traffic_cuts_nobody_off() {
    let said = |start: u64, [down, up]: [u64; 2]| {
        let flow = FLOW.replace("size: 20 MB", &format!("size: 20 MB, start: {start} ms"));
        let text = format!(
            "policies: [ecmp]
{flow}
faults:
  - {{ at: {down} ms, link: [d, e], down: true }}
  - {{ at: {down} ms, link: [b, d], down: true }}
  - {{ at: {down} ms, link: [c, d], down: true }}
  - {{ at: {up} ms, link: [b, d], up: true }}
  - {{ at: {up} ms, link: [c, d], up: true }}"
        );
        warnings("cut-off", &diamond(ALIKE, &text)).len()
    };
    assert_eq!([said(40, [5, 30]), said(40, [5, 41])], [0, 1]);
    assert_eq!([said(0, [100, 200]), said(0, [5, 200])], [0, 1]);
}

/// Two tunnels lead from a to d, and only a has a choice between them. A host of 100 Gbit/s offers half of that, and
/// half goes over each tunnel, so that the links of 40 Gbit/s over c are the busiest, at 25. A cut of a link strands a
/// pair in one direction: data if it is behind a, which knows only its own links, and otherwise ACKs, whose first
/// switch is d.
#[test]
fn a_cut_behind_the_first_switch_strands_a_pair_with_tunnels() {
    let rest = "traffic:
  - workload: { sizes: workloads/large.csv, pairs: [{ from: a, to: d }], load: 50%, duration: 1 s }
policies: [ecmp, lcmp]
routing: { candidates: tunnels }";
    let found = scope_of(&diamond([ALIKE[0], "rate: 40 Gbit, delay: 6 ms"], rest));
    assert_eq!((found.choice.pairs, found.choice.pairs_with_choice), (1, 1));
    let busiest = found.busiest.unwrap();
    assert_eq!(busiest.link, "a-c");
    let gbit = 1_000_000_000;
    assert_eq!(
        (busiest.load.offered_bps, busiest.load.capacity_bps),
        (25 * gbit, 40 * gbit)
    );
    let cut = found.tightest.unwrap().load;
    assert_eq!((cut.offered_bps, cut.capacity_bps), (50 * gbit, 140 * gbit));
    let harmful = found.single_cuts.harmful.iter();
    let names: Vec<_> = harmful
        .map(|cut| (cut.link.as_str(), cut.stranded))
        .collect();
    assert_eq!(names, [("a-b", 1), ("b-d", 1), ("a-c", 1), ("c-d", 1)]);
}

/// From 5 ms on the second link of a tunnel from a is cut, which a cannot see, so that data can be lost. The link is the first
/// of a tunnel from d, which sends ACKs over the other one.
#[test]
fn a_pair_has_no_next_hop_while_its_switch_can_choose_a_tunnel_that_is_cut() {
    let faults = "faults:
  - { at: 5 ms, link: [b, d], down: true }
  - { at: 30 ms, link: [b, d], up: true }";
    let rest = format!("policies: [ecmp]\n{FLOW}\nrouting: {{ candidates: tunnels }}\n{faults}");
    let expected = Outage {
        from_ns: Nanos::from_millis(5),
        to_ns: Some(Nanos::from_millis(30)),
        pairs: vec![["a", "d"].map(str::to_owned)],
        lines: vec![19],
        end: OutageEnd::Repair,
    };
    assert_eq!(scope_of(&diamond(ALIKE, &rest)).outages, [expected]);
}

/// The last links of a's two tunnels to d carry 20 Gbit/s together, and a offers 25. From e, 1 Gbit/s arrives over a link of
/// 100 Gbit/s, so that all last links together are far from full.
#[test]
fn one_sender_of_several_can_overload_the_last_links_of_its_tunnels() {
    let links = diamond(ALIKE, "");
    let narrow = ["b", "c"].iter().fold(links, |text, dc| {
        text.replace(
            &format!("[{dc}, d], rate: 100"),
            &format!("[{dc}, d], rate: 10"),
        )
    });
    let workload = |from: &str, load: &str| {
        format!(
            "  - workload: {{ sizes: workloads/large.csv, pairs: [{{ from: {from}, to: d }}], load: {load}, duration: 1 s \
             }}\n"
        )
    };
    let workloads = workload("a", "25%") + &workload("e", "1%");
    let text = format!(
        "{narrow}traffic:\n{workloads}policies: [ecmp]\nrouting: {{ candidates: tunnels }}\n"
    );
    let cut = scope_of(&text).tightest.unwrap();
    let gbit = 1_000_000_000;
    assert_eq!(cut.links, ["b-d", "c-d"]);
    assert_eq!(
        (cut.load.offered_bps, cut.load.capacity_bps),
        (25 * gbit, 20 * gbit)
    );
    let from_a = CutTraffic::Towards {
        to: "d".to_owned(),
        from: vec!["a".to_owned()],
    };
    assert_eq!(cut.traffic, from_a);
    assert_eq!(warnings("cut-overload", &text).len(), 1);
}

/// A host of 100 Gbit/s is asked for 150, and sends as many of its flows as `max_flows` keeps.
#[test]
fn flows_that_max_flows_leaves_out_load_no_link() {
    let text = |max_flows: &str| {
        let traffic = format!(
            "traffic:
  - workload: {{ sizes: workloads/large.csv, pairs: [{{ from: a, to: d }}], load: 150%, duration: 1 s{max_flows} }}
policies: [ecmp]"
        );
        diamond(ALIKE, &traffic)
    };
    let all = text("");
    assert_eq!(warnings("overload", &all).len(), 1);
    let out_of_a = |text: &str| scope_of(text).tightest.unwrap().load.offered_bps;
    assert_eq!(out_of_a(&all), 150_000_000_000);
    let capped = text(", max_flows: 10");
    let load = common::simulated(&capped).load;
    assert_eq!(load.kept, 10);
    assert!(load.arrivals > 100, "{}", load.arrivals);
    assert_eq!(out_of_a(&capped), 150_000_000_000 * 10 / load.arrivals);
    assert_eq!(warnings("overload", &capped), [""; 0]);
}

/// Two links of 100 Gbit/s carry what a sends: 300 Gbit/s are 1.5 times as much, and nine tenths of them 1.35. A lower load
/// leaves `max_flows` fewer arrivals to leave out, but the same flows.
#[test]
fn an_overload_in_spite_of_max_flows_is_a_matter_of_max_flows() {
    let text = |max_flows: u64| {
        let traffic = format!(
            "traffic:
  - workload: {{ sizes: workloads/large.csv, pairs: [{{ from: a, to: d }}], load: 300%, duration: 1 s, max_flows: {max_flows} }}
policies: [ecmp]"
        );
        diamond(ALIKE, &traffic)
    };
    let arrivals = common::simulated(&text(10)).load.arrivals;
    let hint = |max_flows: u64| warnings("overload", &text(max_flows)).pop().unwrap();
    let thinned = hint(arrivals - arrivals / 10);
    assert!(
        thinned.contains("(hint: divide `max_flows` by 1.3"),
        "{thinned}"
    );
    let whole = hint(arrivals);
    assert!(whole.contains("(hint: divide `load` by 1.50"), "{whole}");
}

/// Half of 50 Gbit/s goes over each tunnel, and the tunnel over b narrows to 20 behind b. Out of a lead 200 Gbit/s, into d
/// 120. With both links into d cut, no tunnel is left.
#[test]
fn a_tunnel_loads_all_its_links_and_is_cut_at_any_of_them() {
    let text = |faults: &str| {
        let links = diamond(
            ["rate: 100 Gbit, delay: 5 ms", "rate: 100 Gbit, delay: 6 ms"],
            "",
        );
        let narrow = links.replace("[b, d], rate: 100 Gbit", "[b, d], rate: 20 Gbit");
        format!(
            "{narrow}traffic:
  - workload: {{ sizes: workloads/large.csv, pairs: [{{ from: a, to: d }}], load: 50%, duration: 1 s }}
policies: [ecmp]
routing: {{ candidates: tunnels }}
faults: [{faults}]
"
        )
    };
    let found = scope_of(&text(""));
    let gbit = 1_000_000_000;
    let busiest = found.busiest.unwrap();
    assert_eq!(busiest.link, "b-d");
    assert_eq!(
        (busiest.load.offered_bps, busiest.load.capacity_bps),
        (25 * gbit, 20 * gbit)
    );
    let cut = found.tightest.unwrap();
    assert_eq!(cut.links, ["b-d", "c-d"]);
    assert_eq!(
        (cut.load.offered_bps, cut.load.capacity_bps),
        (50 * gbit, 120 * gbit)
    );
    let one = "{ at: 5 ms, link: [b, d], down: true }";
    assert_eq!(warnings("cut-off", &text(one)).len(), 0);
    let both = format!("{one}, {{ at: 5 ms, link: [c, d], down: true }}");
    assert_eq!(warnings("cut-off", &text(&both)).len(), 1);
    // To e there is one tunnel, because all paths share the link from d; it leads over b.
    let to_e = |faults| text(faults).replace("to: d }]", "to: e }]");
    assert_eq!(warnings("cut-off", &to_e(one)).len(), 1);
    assert_eq!(
        warnings("cut-off", &to_e(&one.replace("[b, d]", "[c, d]"))).len(),
        0
    );
}

/// The numbers of scenarios/README.md.
#[test]
fn most_pairs_on_abilene_have_a_choice_with_tunnels_only() {
    let guide = std::fs::read_to_string(common::scenarios().join("README.md")).unwrap();
    let with_choice = |set: &str| {
        let text = format!(
            "name: abilene
topology: zoo:Abilene
traffic: [{{ workload: {{ sizes: workloads/large.csv, pairs: all-to-all, load: 50%, duration: 1 s }} }}]
policies: [ecmp]
routing: {{ candidates: {set} }}
"
        );
        let choice = scope_of(&text).choice;
        assert_eq!(choice.pairs, 110, "{set}");
        choice.pairs_with_choice
    };
    let [tunnels, downhill, fewest] = ["tunnels", "downhill-delay", "fewest-hops"].map(with_choice);
    let said = format!(
        "on Abilene {tunnels} of 110, with `downhill-delay` {downhill}, with `fewest-hops` {fewest}"
    );
    assert!(guide.contains(&said), "{said}");
}
