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
        let is_network = |axis: &String| axis == TOPOLOGY || axis.starts_with("topology.");
        let axis = title.axes.iter().position(is_network).map(Self::Axis);
        axis.or((title.scenarios > 1).then_some(Self::Scenario))
    }
}

/// Axis of a sweep over networks.
const TOPOLOGY: &str = "topology";

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

/// Properties of a network under one setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Properties {
    pub network: CellNetwork,
    /// Utilisation of the busiest link under the baseline, the median over the cells; `None` if no cell has it.
    pub busiest: Option<f64>,
}

impl Properties {
    /// Returns the properties at a point; `None` without results.
    pub fn of(point: &PointCells, baseline: &str) -> Option<Self> {
        let first = point.numbers.first()?;
        let busiest = |cell: &CellNumbers| cell.policy(baseline)?.busiest;
        Some(Self {
            network: first.network,
            busiest: median(point.numbers.iter().filter_map(busiest).collect()),
        })
    }

    /// Returns the share of pairs of datacenters between which a policy chooses.
    pub fn choice(&self) -> f64 {
        let network = &self.network;
        to_float(network.pairs_with_choice) / to_float(network.pairs.max(1))
    }
}
