//! Choice of a free slot: a set of addresses, tables, rules and names that nothing else on the machine uses.

use lab_plan::{
    address::{self, HostRule, SLOTS},
    model::Prefix,
};

use crate::netlink::{NetlinkError, Socket, dump};

/// Objects in the root namespace with which a lab slot (addresses, tables, rules, names) could conflict.
#[derive(Debug, Default)]
pub(crate) struct InUse {
    pub slots: Vec<u8>,
    pub interfaces: Vec<String>,
    pub addresses: Vec<Prefix>,
    pub routes: Vec<(u32, Prefix)>,
    pub rules: Vec<u32>,
}

impl InUse {
    /// Reads the objects that exist in the root namespace.
    pub fn read(socket: &mut Socket) -> Result<Self, NetlinkError> {
        let links = dump::links(socket)?.into_iter();
        let addresses = dump::addresses(socket)?.into_iter();
        let routes = dump::routes(socket)?.into_iter();
        let rules = dump::rules(socket)?.into_iter();
        Ok(Self {
            slots: Vec::new(),
            interfaces: links.map(|link| link.name).collect(),
            addresses: addresses.map(prefix_of).collect(),
            routes: routes.map(|route| (route.table, route.to)).collect(),
            rules: rules.map(|rule| rule.priority).collect(),
        })
    }

    /// Returns the lowest free slot, if possible one outside the machine's own networks; `None` if no slot is free. If
    /// a network covers all slots, as 10.0.0.0/8 does, the slot still contains none of the machine's addresses, and the
    /// traffic of the lab and of the machine stays separate.
    pub fn free_slot(&self) -> Option<u8> {
        let apart = |slot: &u8| !self.overlaps(address::slot_prefix(*slot));
        let free = || (0..SLOTS).filter(|slot| self.is_free(*slot));
        free().find(apart).or_else(|| free().next())
    }

    /// Returns the number of slots that have no conflict.
    pub fn free_slots(&self) -> usize {
        (0..SLOTS).filter(|slot| self.is_free(*slot)).count()
    }

    fn is_free(&self, slot: u8) -> bool {
        let block = address::slot_prefix(slot);
        let inside = |prefix: &Prefix| prefix.len >= block.len && block.contains(prefix.addr);
        let kinds = [HostRule::In, HostRule::Out, HostRule::From];
        let priorities = kinds.map(|kind| address::rule_priority(slot, kind));
        let start = address::interface_start(slot);
        let ours = |name: &String| {
            let rest = name.strip_prefix(&start);
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let first_table = address::routing_table(slot, lab_units::NodeId(0));
        let tables = first_table..first_table + TABLES;
        !self.slots.contains(&slot)
            && !self.interfaces.iter().any(ours)
            && !self.addresses.iter().any(|own| block.contains(own.addr))
            && !self
                .routes
                .iter()
                .any(|(table, to)| inside(to) || tables.contains(table))
            && !self.rules.iter().any(|rule| priorities.contains(rule))
    }

    fn overlaps(&self, block: Prefix) -> bool {
        let routes = self.routes.iter().map(|(_, to)| to).filter(|to| to.len > 0);
        let mut prefixes = self.addresses.iter().chain(routes);
        prefixes.any(|prefix| prefix.contains(block.addr) || block.contains(prefix.addr))
    }
}

fn prefix_of(dump::Address { addr, len, .. }: dump::Address) -> Prefix {
    Prefix { addr, len }
}

/// Number of routing tables that are reserved for a slot, one per possible node id.
pub(super) const TABLES: u32 = 1 << 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        let (addr, len) = text.split_once('/').unwrap();
        Prefix {
            addr: addr.parse().unwrap(),
            len: len.parse().unwrap(),
        }
    }

    #[test]
    fn the_lowest_slot_without_a_conflict_is_free() {
        let mut in_use = InUse::default();
        assert_eq!(in_use.free_slot(), Some(0));
        in_use.slots.push(0);
        in_use.addresses.push(prefix("10.16.3.4/24"));
        in_use.routes.push((254, prefix("10.32.0.0/12")));
        in_use.rules.push(address::rule_priority(3, HostRule::Out));
        in_use.interfaces.push("l4d1-d2".into());
        let table = address::routing_table(5, lab_units::NodeId(9));
        in_use.routes.push((table, prefix("0.0.0.0/0")));
        assert_eq!(in_use.free_slot(), Some(6));
    }

    #[test]
    fn a_machine_in_ten_slash_eight_still_has_slots() {
        let mut in_use = InUse::default();
        in_use.addresses.push(prefix("10.1.2.3/8"));
        in_use.routes.push((254, prefix("10.0.0.0/8")));
        in_use.routes.push((255, prefix("10.1.2.3/32")));
        assert_eq!(in_use.free_slot(), Some(1));
    }

    #[test]
    fn a_default_route_is_no_conflict() {
        let mut in_use = InUse::default();
        in_use.routes.push((254, prefix("0.0.0.0/0")));
        in_use.interfaces.push("lo".into());
        assert_eq!(in_use.free_slot(), Some(0));
    }

    #[test]
    fn sixteen_labs_are_all_there_can_be() {
        let in_use = InUse {
            slots: (0..16).collect(),
            ..InUse::default()
        };
        assert_eq!((in_use.free_slot(), in_use.free_slots()), (None, 0));
    }
}
