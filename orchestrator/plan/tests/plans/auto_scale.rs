//! Tests of automatic scales, which depend on a place's capacity.

use lab_plan::{Capacity, Engine, Plan, PlanOptions, estimate_at};
use lab_units::{Clock, Nanos, Place, Ratio};
use proptest::prelude::*;

use crate::common;

/// Plans `text` with an automatic scale for `capacity`.
fn plan(text: &str, capacity: Capacity) -> Plan {
    let options = PlanOptions {
        capacity,
        ..PlanOptions::default()
    };
    common::try_plan(&automatic(text), &options).unwrap()
}

/// Replaces the scale of `text` by an automatic one.
fn automatic(text: &str) -> String {
    let lines = text.lines().map(|line| {
        if line.starts_with("scale:") {
            "scale: auto"
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn factors(plan: &Plan) -> [String; 3] {
    [plan.scale.rate, plan.scale.time, plan.scale.size].map(|factor| factor.to_string())
}

fn costs(plan: &Plan) -> &[String] {
    &plan.auto_scale.as_ref().unwrap().costs
}

/// The largest WebSearch flow has 30 MB. At a size scale of 1/60, this flow has 123 packets of 4,096 B, within
/// SoftRoCE's window of 128; at 1/50, it exceeds the window.
#[test]
fn the_testbed_at_load_fits_every_place_by_default() {
    let text = common::scenario_text("8dc.yaml");
    for (place, expected) in [
        (Place::GuestVirtual, ["1/6000", "60", "1/100"]),
        (Place::GuestKvm, ["1/1800", "30", "1/60"]),
        (Place::Here, ["1/1200", "20", "1/60"]),
    ] {
        let plan = plan(&text, Capacity::default_of(place));
        assert_eq!(factors(&plan), expected, "{place}");
        assert_eq!(costs(&plan), [""; 0], "{place}");
        let codes: Vec<&str> = plan.warnings.iter().map(|w| w.code.as_str()).collect();
        for of_scale in ["rxe-window", "coarse-packets", "forwarding", "auto-scale"] {
            assert!(!codes.contains(&of_scale), "{place}: {codes:?}");
        }
    }
}

#[test]
fn a_bare_machine_runs_the_testbed_in_ten_minutes() {
    let text = common::scenario_text("8dc.yaml");
    for hops_per_second in [100_000, 200_000, 400_000] {
        let hop_ns = Nanos::new(1_000_000_000 / hops_per_second);
        let capacity = Capacity {
            is_measured: true,
            hop_ns,
            hop_wall_ns: hop_ns,
            ..Capacity::default_of(Place::Here)
        };
        let plan = plan(&text, capacity);
        let estimate = estimate_at(&plan, &capacity);
        assert!(
            estimate.wall_ns <= Nanos::from_millis(300_000),
            "{estimate:?}"
        );
        assert_eq!(costs(&plan), [""; 0]);
    }
}

/// A guest shapes up to 200 Mbit/s. At 155 Mbit/s the link between the datacenters would do at any scale, but the hosts'
/// links have 100 Gbit/s, so rates are divided by 500 at least.
#[test]
fn a_link_inside_a_datacenter_is_no_faster_than_the_place_can_shape() {
    let text = "name: slow
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links: [{ between: [dc1, dc2], rate: 155 Mbit, delay: 5 ms }]
  defaults: { host_link: { rate: 100 Gbit } }
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 100 kB }]
policies: [ecmp]
scale: auto
";
    let plan = plan(text, Capacity::default_of(Place::GuestVirtual));
    let rates = plan.links.iter().map(|link| link.emu.rate_bps.get());
    let fastest = rates.max().unwrap();
    assert!(fastest <= 200_000_000, "{fastest} bit/s");
}

/// Half a millisecond, by which one start in a thousand is late in a guest with a virtual clock, is 1 % of 50 ms. Round
/// trips of 240 µs and 24 µs need times × 209 and × 2,084. The next factor of the series is 300; there is none above 1,000.
#[test]
fn round_trips_are_long_beside_the_lateness_of_starts() {
    let text = |delay: &str, rate: &str| {
        format!(
            "name: near
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]
  links: [{{ between: [dc1, dc2], rate: {rate}, delay: {delay} }}]
  defaults: {{ host_link: {{ rate: {rate}, delay: {delay} }} }}
traffic:
  - flows: [{{ from: dc1/h1, to: dc2/h1, size: 100 kB }}]
policies: [ecmp]
scale: auto
"
        )
    };
    let virtual_guest = Capacity::default_of(Place::GuestVirtual);
    let near = plan(&text("40 us", "1 Gbit"), virtual_guest);
    assert_eq!(near.scale.time, Ratio::new(300, 1).unwrap());
    let said = |plan: &Plan| costs(plan).iter().any(|cost| cost.contains("start late"));
    assert!(!said(&near));
    // The bound that no factor meets waives no other. At 200 Gbit/s, a packet takes 0.7 % of the round trip.
    let too_near = plan(&text("4 us", "200 Gbit"), virtual_guest);
    assert!(
        said(&too_near) && costs(&too_near).len() == 1,
        "{:?}",
        costs(&too_near)
    );
    // The longer the round trips, the fewer flows start late. A virtual clock skips idle time; on a real clock, a flow that
    // starts at 0.5 s leaves room for times × 500 in five minutes, but not for the next factor, 600.
    assert_eq!(too_near.scale.time, Ratio::new(1_000, 1).unwrap());
    let later = text("4 us", "200 Gbit").replace("size: 100 kB", "size: 100 kB, start: 500 ms");
    let real = plan(&later, Capacity::default_of(Place::Here));
    assert_eq!(real.scale.time, Ratio::new(500, 1).unwrap());
    assert!(said(&real) && costs(&real).len() == 1, "{:?}", costs(&real));
    // A link of 4 Mbit/s has 10 kbit/s at times × 400, where its delay can still be measured, and 8 kbit/s at the next factor.
    let slow = text("4 us", "200 Gbit")
        .replace("hosts: 1 }]", "hosts: 1 }, { name: dc3, hosts: 1 }]")
        .replace(
            "4 us }]",
            "4 us }, { between: [dc2, dc3], rate: 4 Mbit, delay: 4 us }]",
        );
    let beside_slow = plan(&slow, Capacity::default_of(Place::Here));
    assert_eq!(beside_slow.scale.time, Ratio::new(400, 1).unwrap());
}

#[test]
fn a_place_that_is_too_slow_says_what_the_scale_costs() {
    let text = common::scenario_text("8dc.yaml");
    let slow = Capacity {
        flow_ns: Nanos::new(3_500_000),
        hop_ns: Nanos::new(200_000),
        ..Capacity::default_of(Place::GuestTcg)
    };
    let plan = plan(&text, slow);
    insta::assert_snapshot!(costs(&plan).join("\n"), @"the run takes about 77 min 21 s, and longer under a policy that overloads a path");
    let warned: Vec<&str> = plan
        .warnings
        .iter()
        .filter(|warning| warning.code == "auto-scale")
        .map(|warning| warning.text.as_str())
        .collect();
    assert_eq!(warned, costs(&plan));
}

#[test]
fn the_table_names_the_place_and_the_capacity() {
    let text = common::testbed_text();
    let plan = plan(&text, Capacity::default());
    let table = lab_plan::render_table(&plan);
    let line = table.lines().find(|line| line.starts_with("scale: auto:"));
    assert_eq!(
        line,
        Some(
            "scale: auto: the finest for guest-virtual, 33,333 packets on a link and 2,000 flows a \
             second, a"
        )
    );
}

#[test]
fn the_simulator_ignores_an_automatic_scale_unless_it_is_to_play_the_lab() {
    let text = automatic(&common::scenario_text("smoke.yaml"));
    let options = |engine, is_scaled| PlanOptions {
        engine,
        is_scaled,
        capacity: Capacity::default_of(Place::Here),
        ..PlanOptions::default()
    };
    let plan = |engine, is_scaled| common::try_plan(&text, &options(engine, is_scaled)).unwrap();
    let unscaled = plan(Engine::Sim, false);
    assert_eq!(
        (unscaled.scale.size, unscaled.auto_scale),
        (Ratio::ONE, None)
    );
    let lab = plan(Engine::Kernel, true);
    assert_eq!(plan(Engine::Sim, true).scale, lab.scale);
}

#[test]
fn factors_of_the_command_line_replace_the_scenarios() {
    let factor = |text: &str| text.parse::<Ratio>().unwrap();
    let options = PlanOptions {
        scale: Some((factor("1/500"), factor("20"))),
        ..PlanOptions::default()
    };
    for text in [common::testbed_text(), automatic(&common::testbed_text())] {
        let plan = common::try_plan(&text, &options).unwrap();
        assert_eq!(factors(&plan), ["1/500", "20", "1/25"]);
        assert_eq!(plan.auto_scale, None);
    }
}

fn capacities() -> impl Strategy<Value = Capacity> {
    let places = prop::sample::select(Place::WORDS);
    (places, 1_000..5_000_000u64, 500..400_000u64, 1..20u64).prop_map(
        |((_, place), flow, hop, slowdown)| {
            let slowdown = match place.clock() {
                Clock::Virtual => slowdown,
                Clock::Real => 1,
            };
            Capacity {
                place,
                is_measured: true,
                flow_ns: Nanos::new(flow),
                hop_ns: Nanos::new(hop),
                flow_wall_ns: Nanos::new(flow * slowdown),
                hop_wall_ns: Nanos::new(hop * slowdown),
            }
        },
    )
}

/// Returns a scenario with the testbed's topology and 45 flows, from the verbs generator or from perftest.
fn small(verbs: bool) -> String {
    let text = common::testbed_text();
    if verbs {
        text + "\ngenerator: verbs\n"
    } else {
        text
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_scale_never_asks_for_more_than_half_of_the_place(
        capacity in capacities(),
        verbs in any::<bool>(),
    ) {
        let plan = plan(&small(verbs), capacity);
        let estimate = estimate_at(&plan, &capacity);
        prop_assert!(estimate.peak_percent <= 50, "{estimate:?}");
    }

    #[test]
    fn a_scale_without_costs_keeps_every_bound(capacity in capacities(), verbs in any::<bool>()) {
        let plan = plan(&small(verbs), capacity);
        let rates = plan.links.iter().map(|link| link.emu.rate_bps.get());
        let fastest = match capacity.place {
            Place::GuestVirtual | Place::GuestTcg => 200_000_000,
            Place::GuestKvm | Place::Here => 1_000_000_000,
        };
        prop_assert!(rates.max() <= Some(fastest), "faster than {fastest} bit/s");
        if costs(&plan).is_empty() {
            let packets = plan.flows.iter().map(|flow| flow.packets(plan.rdma.path_mtu)).max();
            prop_assert!(packets <= Some(128), "{packets:?}");
            let packet = Nanos::new(8 * 4_154 * 1_000_000_000 / slowest(&plan));
            let shortest = plan.flows.iter().map(|flow| flow.ideal_fct_ns).min().unwrap();
            prop_assert!(packet.get() * 100 <= shortest.get(), "{packet} {shortest}");
            let wall = estimate_at(&plan, &capacity).wall_ns;
            // The estimate includes wake-ups of agents, which the search for a scale ignores.
            prop_assert!(wall <= Nanos::from_millis(660_000), "{wall}");
            let shortest = match capacity.place {
                Place::GuestVirtual => 50,
                Place::GuestTcg => 1_000,
                Place::GuestKvm | Place::Here => 100,
            };
            let round_trip = plan.flows.iter().map(|flow| flow.base_rtt_ns).min().unwrap();
            prop_assert!(round_trip >= Nanos::from_millis(shortest), "{round_trip}");
        }
    }

    #[test]
    fn a_faster_place_has_no_smaller_sizes(capacity in capacities(), verbs in any::<bool>()) {
        let faster = Capacity {
            flow_ns: Nanos::new(capacity.flow_ns.get() / 2),
            hop_ns: Nanos::new(capacity.hop_ns.get() / 2),
            flow_wall_ns: Nanos::new(capacity.flow_wall_ns.get() / 2),
            hop_wall_ns: Nanos::new(capacity.hop_wall_ns.get() / 2),
            ..capacity
        };
        let slow = plan(&small(verbs), capacity);
        let fast = plan(&small(verbs), faster);
        if costs(&slow).is_empty() {
            prop_assert!(fast.scale.size >= slow.scale.size, "{:?} {:?}", fast.scale, slow.scale);
            prop_assert!(costs(&fast).is_empty());
        }
    }

    #[test]
    fn the_same_capacity_gives_the_same_plan(capacity in capacities()) {
        let text = small(true);
        prop_assert_eq!(plan(&text, capacity), plan(&text, capacity));
    }
}

/// Returns the rate of the slowest inter-DC link on a least-delay path, in bits per second.
fn slowest(plan: &Plan) -> u64 {
    let link = plan
        .links
        .iter()
        .find(|link| link.name == "dc1-dc6")
        .unwrap();
    link.emu.rate_bps.get()
}
