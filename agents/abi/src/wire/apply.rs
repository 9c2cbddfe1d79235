//! Effect of a command on a configuration.
//!
//! The agent applies each command to its own configuration. The controller applies the same command to the
//! configuration of a future agent, so that a restarted agent starts from the result of all commands sent to its
//! predecessor.

use alloc::collections::BTreeSet;

use super::{
    AgentCommand, AgentConfig, AgentConfigError, BucketRow, DestinationConfig, PolicyConfig,
    TransitConfig, ValidAgentConfig,
};

impl ValidAgentConfig {
    /// Applies a command; a rejected command changes nothing. The error names the part of the command that does not
    /// fit the switch.
    pub fn apply(&mut self, command: &AgentCommand) -> Result<(), AgentConfigError> {
        let Self(config) = self;
        match command {
            AgentCommand::SetPort { port, is_enabled } => {
                let port = config.port(*port)?;
                config.ports[port].is_enabled = *is_enabled;
            }
            AgentCommand::SetLink {
                port,
                rate_bps,
                buffer_bytes,
                ecn,
            } => {
                let port = config.port(*port)?;
                let port = &mut config.ports[port];
                (port.rate_bps, port.buffer_bytes) = (*rate_bps, *buffer_bytes);
                port.ecn = *ecn;
            }
            AgentCommand::SetDestination(row) => {
                config.validate_destination(row)?;
                match config.destination_index(row.addr, row.prefix_len) {
                    Some(index) => config.destinations[index] = row.clone(),
                    None => {
                        super::validate::check_destination_count(config.destinations.len() + 1)?;
                        config.destinations.push(row.clone());
                    }
                }
            }
            AgentCommand::AddTransits(rows) => {
                config.validate_transits(rows)?;
                let added: BTreeSet<_> = rows.iter().map(TransitConfig::key).collect();
                let is_kept = |row: &TransitConfig| !added.contains(&row.key());
                let old = config.transits.get_or_insert_default();
                let kept = old.iter().filter(|row| is_kept(row)).count();
                super::validate::check_transit_count(kept + rows.len())?;
                old.retain(is_kept);
                old.extend(rows);
            }
            AgentCommand::SetBuckets(rows) => {
                rows.iter().try_for_each(|row| config.check_buckets(row))?;
                rows.iter().for_each(|row| config.set_buckets(row));
            }
            AgentCommand::SetLcmp(parameters) => {
                parameters.validate()?;
                match &mut config.policy {
                    PolicyConfig::Buckets => return Err(AgentConfigError::NoParameters),
                    PolicyConfig::Lcmp(own) => own.clone_from(parameters),
                    PolicyConfig::Own(own) => own.parameters.clone_from(parameters),
                }
            }
            AgentCommand::Start { at_ns, .. } => config.start_ns = *at_ns,
            AgentCommand::Begin(next) => *self = Self::try_from((**next).clone())?,
            AgentCommand::ConfirmTables | AgentCommand::Stop => {}
        }
        Ok(())
    }
}

impl AgentConfig {
    pub(super) fn port(&self, id: lab_units::PortId) -> Result<usize, AgentConfigError> {
        self.ports
            .iter()
            .position(|port| port.id == id)
            .ok_or(AgentConfigError::UnknownPort { port: id })
    }

    /// Returns the index of the row of destination `addr/prefix_len`.
    #[must_use]
    pub fn destination_index(&self, addr: core::net::Ipv4Addr, prefix_len: u8) -> Option<usize> {
        let is_it = |row: &DestinationConfig| (row.addr, row.prefix_len) == (addr, prefix_len);
        self.destinations.iter().position(is_it)
    }

    fn check_buckets(&self, row: &BucketRow) -> Result<(), AgentConfigError> {
        let index = self.destination_index(row.addr, row.prefix_len);
        let expected = index.map_or(0, |index| self.destinations[index].candidates.len());
        let found = row.buckets.len();
        if index.is_some() && found == expected {
            return Ok(());
        }
        Err(AgentConfigError::Buckets {
            addr: row.addr,
            prefix_len: row.prefix_len,
            found,
            expected,
        })
    }

    fn set_buckets(&mut self, row: &BucketRow) {
        let Some(index) = self.destination_index(row.addr, row.prefix_len) else {
            return;
        };
        let candidates = self.destinations[index].candidates.iter_mut();
        for (candidate, &buckets) in candidates.zip(&row.buckets) {
            candidate.buckets = buckets;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{string::ToString, vec, vec::Vec};
    use core::net::Ipv4Addr;

    use lab_units::{BitsPerSec, Bytes, PortId, Ratio};

    use super::*;
    use crate::{
        LcmpConfig,
        rows::MAX_TRANSITS,
        wire::{EcnConfig, validate::tests::config},
    };

    const ECN: EcnConfig = EcnConfig {
        k_min: Bytes::new(7),
        k_max: Bytes::new(70),
        p_max: Ratio::ONE,
    };

    fn valid(config: AgentConfig) -> ValidAgentConfig {
        config.try_into().expect("a valid configuration")
    }

    fn rate(bits: u64) -> BitsPerSec {
        BitsPerSec::new(bits).expect("a rate above zero")
    }

    #[test]
    fn a_command_changes_its_own_fields_and_nothing_else() {
        let mut changed = valid(config());
        let commands = [
            AgentCommand::SetPort {
                port: PortId(2),
                is_enabled: false,
            },
            AgentCommand::SetLink {
                port: PortId(0),
                rate_bps: rate(9_000_000),
                buffer_bytes: Bytes::new(77),
                ecn: Some(ECN),
            },
            AgentCommand::SetBuckets(vec![BucketRow {
                addr: Ipv4Addr::new(10, 8, 0, 0),
                prefix_len: 16,
                buckets: vec![61],
            }]),
            AgentCommand::ConfirmTables,
        ];
        for command in &commands {
            changed.apply(command).expect("a valid configuration");
        }
        let mut expected = config();
        expected.ports[1].is_enabled = false;
        expected.ports[0].rate_bps = rate(9_000_000);
        expected.ports[0].buffer_bytes = Bytes::new(77);
        expected.ports[0].ecn = Some(ECN);
        expected.destinations[0].candidates[0].buckets = 61;
        assert_eq!(*changed, expected);
    }

    /// The switch has the ports 0 and 2.
    #[test]
    fn added_transit_rows_replace_those_of_their_pair_and_ingress_port() {
        let row = |net, ingress, egress| TransitConfig {
            from: Ipv4Addr::new(10, net, 0, 0),
            to: Ipv4Addr::new(10, 8, 0, 0),
            ingress: PortId(ingress),
            egress: PortId(egress),
        };
        let mut changed = valid(config());
        let mut add = |rows: &[TransitConfig]| {
            let added = changed.apply(&AgentCommand::AddTransits(rows.to_vec()));
            added.map(|()| changed.transits.clone().unwrap_or_default())
        };
        let [second, third] = [row(2, 0, 2), row(3, 0, 2)];
        assert_eq!(add(&[second, third]), Ok(vec![second, third]));
        let [other, back] = [row(2, 2, 0), row(2, 0, 0)];
        assert_eq!(add(&[other, back]), Ok(vec![third, other, back]));
        let no_port = row(4, 7, 0);
        add(&[row(3, 0, 0), no_port]).expect_err("port 7 is not a port of the switch");
        assert_eq!(add(&[]), Ok(vec![third, other, back]));
        // With the three rows that stay, there is no room for one row less than the bound.
        let many = MAX_TRANSITS - 1;
        let more: Vec<_> = (0..many).map(|_| row(5, 0, 2)).collect();
        let found = add(&more);
        assert!(
            matches!(found, Err(AgentConfigError::TooMany { .. })),
            "{found:?}"
        );
    }

    #[test]
    fn a_destination_is_replaced_or_added() {
        let mut changed = valid(config());
        let mut row = changed.destinations[0].clone();
        row.candidates[0].c_path = 99;
        for net in [8, 9] {
            row.addr = Ipv4Addr::new(10, net, 0, 0);
            let command = AgentCommand::SetDestination(row.clone());
            changed.apply(&command).expect("a valid configuration");
        }
        let paths: Vec<_> = changed
            .destinations
            .iter()
            .map(|row| row.candidates[0].c_path)
            .collect();
        assert_eq!(paths, [99, 99]);
    }

    #[test]
    fn weights_are_refused_by_a_policy_without_weights() {
        let parameters = LcmpConfig {
            alpha: 1,
            ..LcmpConfig::artifact()
        };
        let command = AgentCommand::SetLcmp(parameters.clone());
        let mut changed = valid(config());
        let error = changed
            .apply(&command)
            .expect_err("bucket policies have no parameters");
        assert_eq!(
            error.to_string(),
            "the switch's policy has no weights or thresholds to change"
        );
        let mut changed = valid(AgentConfig {
            policy: PolicyConfig::Lcmp(LcmpConfig::artifact()),
            ..config()
        });
        changed.apply(&command).expect("a valid configuration");
        assert_eq!(changed.policy, PolicyConfig::Lcmp(parameters));
    }

    #[test]
    fn a_refused_command_changes_nothing() {
        let mut changed = valid(config());
        let row = |net, count| BucketRow {
            addr: Ipv4Addr::new(10, net, 0, 0),
            prefix_len: 16,
            buckets: vec![5; count],
        };
        let no_port = AgentCommand::SetPort {
            port: PortId(7),
            is_enabled: false,
        };
        for (command, expected) in [
            (
                AgentCommand::SetBuckets(vec![row(8, 1), row(8, 2)]),
                "destination `10.8.0.0/16`: the command has buckets for 2 candidates instead of 1",
            ),
            (
                AgentCommand::SetBuckets(vec![row(7, 1)]),
                "destination `10.7.0.0/16`: the command has buckets for 1 candidates instead of 0",
            ),
            (no_port, "port 7 is not a port of the switch"),
        ] {
            let error = changed.apply(&command).expect_err(expected);
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!(*changed, config());
    }
}
