//! A plan as the network to train for, and a scenario's workloads and demand matrices as its traffic.

use std::collections::BTreeMap;

use lab_parameters::TeConfig;
use lab_plan::{MeanDemand, Plan, mean_demands};
use lab_policy::wcmp;
use lab_redte_train::{Problem, Sizes, Source, Traffic};
use lab_scenario::{Scenario, SizeCdf};
use lab_units::{BitsPerSec, Bytes, DcId, Nanos};

use crate::{failure::Failure, load::Loaded};

/// Returns the network of a plan in paper units.
pub fn problem(plan: &Plan) -> Problem {
    let provisioned = plan.switches.iter().map(|switch| {
        let rows = switch.destinations.iter().map(|row| {
            let paths: Vec<_> = row
                .candidates
                .iter()
                .map(|candidate| candidate.path(row.hops))
                .collect();
            wcmp::buckets(&paths)[..paths.len()].to_vec()
        });
        rows.collect()
    });
    Problem {
        topology: plan.te_topology(),
        capacities: plan.paper_te_capacities(),
        interval: TeConfig::DEFAULT.interval_ns,
        provisioned: provisioned.collect(),
        buckets: TeConfig::DEFAULT.buckets,
    }
}

/// Returns the traffic of the scenario's workloads and demand matrices at each of `scenarios`' loads.
/// Fails on a scenario without workloads and demand matrices, with exit code 2.
pub fn traffic(loaded: &Loaded, scenarios: &[Scenario], plan: &Plan) -> Result<Traffic, Failure> {
    let interval = TeConfig::DEFAULT.interval_ns;
    let mut sizes = Vec::new();
    let mut positions = BTreeMap::new();
    for (traffic, entry) in loaded.scenario.traffic.iter().enumerate() {
        if let Some((name, process)) = entry.sampled() {
            let text = loaded.files.get(name).map_or("", String::as_str);
            let cdf = SizeCdf::parse(name, text).map_err(|errors| Failure::scenario(&errors))?;
            let burst = process.bursts.map(|length| intervals(length, interval));
            positions.insert(traffic, (sizes.len(), burst.transpose()?));
            sizes.push(Sizes::of(|u| cdf.quantile(u)));
        }
    }
    if sizes.is_empty() {
        return Err(Failure::usage(
            "the scenario has no workload or demand matrix to take demands from (hint: give `lcmp-lab train` a file of demands by `--demands`)",
        ));
    }
    let loads = scenarios.iter().map(|scenario| {
        let means = mean_demands(scenario).map_err(Failure::usage)?;
        let sources = means.iter().filter_map(|mean| {
            let (sizes, burst) = positions.get(&mean.traffic)?;
            source(plan, mean, interval, (*sizes, *burst))
        });
        Ok(sources.collect())
    });
    Ok(Traffic {
        loads: loads.collect::<Result<_, Failure>>()?,
        sizes,
    })
}

/// Returns the position of a datacenter in the rows of a switch.
pub fn row_of(plan: &Plan, from: DcId, to: DcId) -> Option<usize> {
    plan.switches.get(from.index())?.row_index(to)
}

fn source(
    plan: &Plan,
    mean: &MeanDemand,
    interval: Nanos,
    (sizes, burst): (usize, Option<u32>),
) -> Option<Source> {
    let bytes = BitsPerSec::new(mean.bps).map_or(Bytes::ZERO, |rate| rate.bytes_in(interval));
    Some(Source {
        switch: mean.from.index(),
        row: row_of(plan, mean.from, mean.to)?,
        mean_bytes: bytes.get() as f64,
        sizes,
        burst,
    })
}

/// Returns the number of intervals in a burst.
fn intervals(length: Nanos, interval: Nanos) -> Result<u32, Failure> {
    let count = length.get() / interval.get();
    u32::try_from(count)
        .ok()
        .filter(|count| *count > 0 && length.get().is_multiple_of(interval.get()))
        .ok_or_else(|| {
            Failure::usage(format_args!(
                "`bursts: {length}`: to train, it must be a multiple of the interval between two decisions, {interval}"
            ))
        })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lab_redte_train::fluid::Fluid;
    use lab_scenario::Files;
    use lab_sim::{
        EndReason, Job, Observer, Progress, RunOptions, network::Network, simulate,
        trace::TraceEvent,
    };

    use super::*;

    /// Choices with unequal capacities from `dc1` to `dc4` and from `dc2` to `dc3`, and back. 36 % of 100 Gbit/s are 12
    /// Gbit/s for each of three destinations.
    const STEADY: &str = "
name: steady
topology:
  dcs:
    - { name: dc1, hosts: 1 }
    - { name: dc2, hosts: 1 }
    - { name: dc3, hosts: 1 }
    - { name: dc4, hosts: 1 }
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms }
    - { between: [dc2, dc4], rate: 100 Gbit, delay: 1 ms }
    - { between: [dc1, dc3], rate: 40 Gbit, delay: 1 ms }
    - { between: [dc3, dc4], rate: 40 Gbit, delay: 1 ms }
traffic:
  - workload: { sizes: packets.csv, pairs: all-to-all, load: 0.36, arrivals: even, duration: 15 ms }
policies: [ecmp, wcmp]
";

    /// Flows of one full packet: 4,096 B, which are 4,154 B on the wire, and an acknowledgement of 62 B.
    const PACKETS: &str = "bytes,percent\n4095,0\n4096,100\n";
    const DATA: u64 = 4_154;
    const ACK: u64 = 62;

    fn steady() -> Loaded {
        Loaded {
            scenario: lab_scenario::parse("steady.yaml", STEADY.as_bytes()).unwrap(),
            text: STEADY.to_owned(),
            files: Files::from([("packets.csv".to_owned(), PACKETS.to_owned())]),
        }
    }

    /// Returns the demands in wire bytes by row number, from the flows of the plan.
    fn demands(plan: &Plan) -> Vec<f64> {
        let switches = plan.switches.iter();
        let mut bytes: Vec<Vec<u64>> = switches
            .map(|switch| vec![0; switch.destinations.len()])
            .collect();
        for flow in &plan.flows {
            let [from, to] = [flow.src, flow.dst].map(|host| plan.nodes[host.index()].dc);
            bytes[from.index()][row_of(plan, from, to).unwrap()] += DATA;
            bytes[to.index()][row_of(plan, to, from).unwrap()] += ACK;
        }
        let rows = bytes.into_iter().flatten();
        rows.map(|bytes| bytes as f64).collect()
    }

    /// Bytes sent in a run, by port of the plan.
    struct Totals<'n> {
        network: &'n Network,
        sent: BTreeMap<usize, u64>,
    }

    impl Observer for Totals<'_> {
        fn on_event(&mut self, event: TraceEvent) {
            if let TraceEvent::PortTotals(sample) = event {
                let port = self.network.ports[sample.port as usize].plan;
                self.sent.insert(port.index(), sample.counts.tx_bytes);
            }
        }

        fn on_progress(&mut self, _: Progress) -> bool {
            true
        }
    }

    /// The fluid model, on which actors are trained, and the packet simulator have the same utilisations. Over 5,000
    /// flows of a pair, an even split by a hash has a standard deviation of 0.7 %.
    #[test]
    fn the_fluid_model_agrees_with_the_simulator_on_steady_demands() {
        let plan = super::super::training::plan(&steady(), Path::new("steady.yaml")).unwrap();
        let problem = Problem {
            interval: Nanos::from_millis(15),
            ..problem(&plan)
        };
        let fluid = Fluid::new(&problem);
        let demands = demands(&plan);
        let provisioned = problem.provisioned.iter().flatten().map(Some);
        let wcmp = fluid.of_buckets(&fluid.even(), provisioned);
        let network = Network::new(&plan).unwrap();
        for (policy, shares) in [fluid.even(), wcmp].iter().enumerate() {
            let loads = fluid.loads(&demands, shares);
            let mut totals = Totals {
                network: &network,
                sent: BTreeMap::new(),
            };
            let options = RunOptions::default();
            let outcome = simulate(Job::new(&plan, policy, 0), &options, &mut totals).unwrap();
            assert_eq!(outcome.reason, EndReason::Finished);
            let utilisation = |(port, rate): (usize, &Option<BitsPerSec>)| {
                let capacity = rate.map_or(f64::INFINITY, |rate| {
                    rate.bytes_in(problem.interval).get() as f64
                });
                totals.sent.get(&port).map_or(0.0, |sent| *sent as f64) / capacity
            };
            let links = problem.capacities.iter().enumerate();
            let measured: Vec<f64> = links.map(utilisation).collect();
            let near = |fluid: f64, measured: f64| (fluid - measured).abs() <= 0.03 * measured;
            for (port, (fluid, measured)) in loads.utilisations.iter().zip(&measured).enumerate() {
                assert!(near(*fluid, *measured), "port {port}: {fluid} {measured}");
            }
            let largest = measured.iter().copied().fold(0.0, f64::max);
            assert!(near(loads.largest().1, largest), "{loads:?} {measured:?}");
            // Each pair sends 12 Gbit/s, with headers and acknowledgements 12.35. Under ECMP, `dc1` sends all of its
            // traffic to `dc3` over 40 Gbit/s, half of that to `dc4`, and half of that from `dc2` to `dc3`.
            if policy == 0 {
                assert!((largest - 2.0 * 12.35 / 40.0).abs() <= 0.02, "{largest}");
            }
        }
    }

    /// The demands that are trained on are those of the plan's flows, also if a load is that of the network. With every
    /// NIC full, the link of 40 Gbit/s from `dc1` to `dc3` would get 2 · 100 ÷ 3 Gbit/s: 60 % of the link are 36 % of the
    /// NICs.
    #[test]
    fn mean_demands_are_those_of_the_flows() {
        let of_link = STEADY.replace("load: 0.36", "load: 0.6, load_base: busiest-link");
        for text in [STEADY, &of_link] {
            let loaded = Loaded {
                scenario: lab_scenario::parse("steady.yaml", text.as_bytes()).unwrap(),
                text: text.to_owned(),
                files: steady().files,
            };
            let plan = super::super::training::plan(&loaded, Path::new("steady.yaml")).unwrap();
            let traffic = traffic(&loaded, std::slice::from_ref(&loaded.scenario), &plan).unwrap();
            let [sources] = traffic.loads.try_into().unwrap();
            assert_eq!(sources.len(), 12);
            for source in &sources {
                // 12 Gbit/s for 100 ms.
                assert_eq!(source.mean_bytes, 150e6);
                assert_eq!((source.sizes, source.burst), (0, None));
            }
            let paid: u64 = plan.flows.iter().map(|flow| flow.size_bytes.get()).sum();
            // Twelve pairs for 15 ms.
            assert!((paid as f64 / (12.0 * 22.5e6) - 1.0).abs() < 0.01, "{paid}");
        }
    }
}
