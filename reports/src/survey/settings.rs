//! Points of a sweep as networks under settings.

use crate::{
    stats::median,
    sweep::{CellNetwork, CellNumbers, PointCells, SweepTitle},
    text::to_float,
};

/// Points of a sweep that differ in the network alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting<'a> {
    /// Values of the axes, such as `downhill-delay, load 30 %`; empty if the network is the only axis.
    pub name: String,
    /// Points, one for each network.
    pub points: Vec<&'a PointCells>,
}

/// What tells the networks of a sweep apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NetworkAxis {
    /// The axis with this index.
    Axis(usize),
    /// The scenario.
    Scenario,
}

impl NetworkAxis {
    /// Returns what tells the networks of a sweep apart; `None` if it has one network.
    pub fn of(title: &SweepTitle) -> Option<Self> {
        let axis = |is_it: fn(&str) -> bool| {
            let found = title.axes.iter().position(|axis| is_it(axis));
            found.map(Self::Axis)
        };
        let scenario = (title.scenarios > 1).then_some(Self::Scenario);
        axis(|axis| axis == "topology")
            .or(scenario)
            .or_else(|| axis(|axis| axis.starts_with("topology.")))
    }
}

/// Groups the points by setting, in the order of their first points.
pub(super) fn settings<'a>(
    title: &SweepTitle,
    axis: NetworkAxis,
    points: &'a [PointCells],
) -> Vec<Setting<'a>> {
    let mut settings: Vec<Setting<'a>> = Vec::new();
    for point in points {
        let named = title.axes.iter().zip(&point.values).enumerate();
        let others = named.filter(|(at, _)| axis != NetworkAxis::Axis(*at));
        let scenario =
            (axis != NetworkAxis::Scenario && title.scenarios > 1).then(|| point.scenario.clone());
        let values = others.map(|(_, (name, value))| match name.rsplit('.').next() {
            // Names of candidate sets speak for themselves.
            Some("candidates") => value.clone(),
            _ => format!("{name} {value}"),
        });
        let parts: Vec<String> = scenario.into_iter().chain(values).collect();
        let name = parts.join(", ");
        match settings.iter_mut().find(|it| it.name == name) {
            Some(setting) => setting.points.push(point),
            None => settings.push(Setting {
                name,
                points: vec![point],
            }),
        }
    }
    settings
}

/// Properties of a network under one setting, medians over its cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Properties {
    /// Share of the pairs of datacenters with flows between which a policy chooses.
    pub choice: f64,
    /// As [`CellNetwork::delay_spread`].
    pub delay_spread: f64,
    /// As [`CellNetwork::capacity_spread`].
    pub capacity_spread: f64,
    /// Number of datacenters.
    pub dcs: f64,
    /// Utilisation of the busiest link under the baseline; `None` if no cell has it.
    pub busiest: Option<f64>,
}

impl Properties {
    /// Returns the properties at a point; `None` without results.
    pub fn of(point: &PointCells, baseline: &str) -> Option<Self> {
        let cells = || point.numbers.iter();
        let of_network = |of: fn(&CellNetwork) -> f64| {
            let values = cells().map(|cell| of(&cell.network));
            median(values.collect())
        };
        let busiest = |cell: &CellNumbers| cell.policy(baseline)?.busiest;
        Some(Self {
            choice: of_network(|it| to_float(it.pairs_with_choice) / to_float(it.pairs.max(1)))?,
            delay_spread: of_network(|it| it.delay_spread)?,
            capacity_spread: of_network(|it| it.capacity_spread)?,
            dcs: of_network(|it| to_float(it.dcs))?,
            busiest: median(cells().filter_map(busiest).collect()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(axes: &[&str], scenarios: usize) -> Option<NetworkAxis> {
        NetworkAxis::of(&SweepTitle {
            name: "zoo".to_owned(),
            version: "1".to_owned(),
            method: "packet by packet".to_owned(),
            axes: axes.iter().map(|&it| it.to_owned()).collect(),
            scenarios,
        })
    }

    #[test]
    fn networks_are_the_topologies_or_the_scenarios_or_variants_of_one_topology() {
        let delay = "topology.links[0].delay";
        assert_eq!(axis(&["load", "topology"], 2), Some(NetworkAxis::Axis(1)));
        assert_eq!(axis(&["load", delay], 2), Some(NetworkAxis::Scenario));
        assert_eq!(axis(&["load", delay], 1), Some(NetworkAxis::Axis(1)));
        assert_eq!(axis(&["load", "topologies"], 1), None);
    }
}
