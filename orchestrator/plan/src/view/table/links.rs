//! Table of a plan's links, in paper units and in emulated units.

use lab_units::DcId;
use lab_units::show::{about_bytes, commas, sides, table};

use super::name::dc_name;
use crate::model::{Link, LinkKind, Plan, Role};

/// Renders a table with each inter-DC link, and with the links inside datacenters grouped by kind.
pub(super) fn section(plan: &Plan) -> String {
    let heads = [
        ["", "paper", "", "", "emulated", "", "", ""],
        [
            "name",
            "rate",
            "delay",
            "buffer",
            "rate",
            "delay",
            "buffer",
            "line packets",
        ],
    ];
    let mut rows: Vec<_> = heads.map(|row| row.map(str::to_owned)).into();
    let inter_dc = plan
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::InterDc);
    rows.extend(inter_dc.map(|link| wire_row(link.name.clone(), link)));
    for group in groups(plan) {
        rows.push(wire_row(group.name(plan), group.links[0]));
    }
    format!("Links\n{}", table(2, sides(1), &rows))
}

fn wire_row(name: String, link: &Link) -> [String; 8] {
    let paper = &link.paper;
    let emu = &link.emu;
    [
        name,
        paper.rate_bps.to_string(),
        paper.delay_ns.to_string(),
        paper.buffer_bytes.to_string(),
        emu.rate_bps.to_string(),
        emu.delay_ns.to_string(),
        about_bytes(emu.buffer_bytes),
        commas(u64::from(emu.delay_line_packets)),
    ]
}

/// Links inside datacenters that have the same parameters and connect nodes of the same roles.
struct Group<'a> {
    tiers: (Role, Role),
    dcs: Vec<DcId>,
    links: Vec<&'a Link>,
}

impl Group<'_> {
    /// Returns the name of the group, such as `16 leaf-host in dc1`.
    fn name(&self, plan: &Plan) -> String {
        let place = match &self.dcs[..] {
            [dc] => dc_name(plan, *dc).to_owned(),
            several => format!("{} dcs", several.len()),
        };
        let upper = tier(self.tiers.0);
        let lower = tier(self.tiers.1);
        format!("{} {upper}-{lower} in {place}", self.links.len())
    }
}

fn groups(plan: &Plan) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for link in plan
        .links
        .iter()
        .filter(|link| link.kind != LinkKind::InterDc)
    {
        let upper = &plan.nodes[link.a.index()];
        let lower = &plan.nodes[link.b.index()];
        let tiers = (upper.role, lower.role);
        let alike =
            |group: &&mut Group<'_>| group.tiers == tiers && group.links[0].paper == link.paper;
        match groups.iter_mut().find(alike) {
            Some(group) => {
                if group.dcs.last() != Some(&upper.dc) {
                    group.dcs.push(upper.dc);
                }
                group.links.push(link);
            }
            None => groups.push(Group {
                tiers,
                dcs: vec![upper.dc],
                links: vec![link],
            }),
        }
    }
    groups
}

const fn tier(role: Role) -> &'static str {
    match role {
        Role::DciSwitch => "dci",
        Role::Spine => "spine",
        Role::Leaf => "leaf",
        Role::Host => "host",
    }
}
