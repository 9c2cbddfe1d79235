//! What a command makes of a configuration.
//!
//! The agent changes its own by it, and the controller the one it would start the next agent with, so
//! that an agent that takes over from one that was killed knows all that one had been told.

use super::{
    AgentCommand, AgentConfig, AgentConfigError, BucketRow, DestinationConfig, PolicyConfig,
};

impl AgentConfig {
    /// Takes in what a command says; one that does not fit changes nothing.
    ///
    /// # Errors
    ///
    /// What does not fit the switch.
    pub fn apply(&mut self, command: &AgentCommand) -> Result<(), AgentConfigError> {
        match command {
            AgentCommand::SetPort { port, is_enabled } => {
                let port = self.port(*port)?;
                self.ports[port].is_enabled = *is_enabled;
            }
            AgentCommand::SetLink {
                port,
                rate_bps,
                buffer_bytes,
            } => {
                let port = self.port(*port)?;
                let port = &mut self.ports[port];
                (port.rate_bps, port.buffer_bytes) = (*rate_bps, *buffer_bytes);
            }
            AgentCommand::SetDestination(row) => {
                self.validate_destination(row)?;
                match self.place(row.addr, row.prefix_len) {
                    Some(place) => self.destinations[place] = row.clone(),
                    None => {
                        let more = self.destinations.len() + 1;
                        super::validate::destinations_fit(more)?;
                        self.destinations.push(row.clone());
                    }
                }
            }
            AgentCommand::SetBuckets(rows) => {
                for row in rows {
                    self.buckets_fit(row)?;
                }
                rows.iter().for_each(|row| self.set_buckets(row));
            }
            AgentCommand::SetLcmp(parameters) => {
                parameters.validate()?;
                match &mut self.policy {
                    PolicyConfig::Buckets => return Err(AgentConfigError::NoParameters),
                    PolicyConfig::Lcmp(own) => own.clone_from(parameters),
                    PolicyConfig::Own(own) => own.parameters.clone_from(parameters),
                }
            }
            AgentCommand::ConfirmTables | AgentCommand::Stop => {}
        }
        Ok(())
    }

    fn port(&self, id: lab_units::PortId) -> Result<usize, AgentConfigError> {
        let place = self.ports.iter().position(|port| port.id == id);
        place.ok_or(AgentConfigError::UnknownPort { port: id })
    }

    /// The position of a destination's row.
    #[must_use]
    pub fn place(&self, addr: core::net::Ipv4Addr, prefix_len: u8) -> Option<usize> {
        let is_it = |row: &DestinationConfig| (row.addr, row.prefix_len) == (addr, prefix_len);
        self.destinations.iter().position(is_it)
    }

    fn buckets_fit(&self, row: &BucketRow) -> Result<(), AgentConfigError> {
        let place = self.place(row.addr, row.prefix_len);
        let expected = place.map_or(0, |place| self.destinations[place].candidates.len());
        let found = row.buckets.len();
        if place.is_some() && found == expected {
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
        let Some(place) = self.place(row.addr, row.prefix_len) else {
            return;
        };
        let candidates = self.destinations[place].candidates.iter_mut();
        for (candidate, &buckets) in candidates.zip(&row.buckets) {
            candidate.buckets = buckets;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{string::ToString, vec, vec::Vec};
    use core::net::Ipv4Addr;

    use lab_units::{BitsPerSec, Bytes, PortId};

    use super::*;
    use crate::{LcmpConfig, wire::validate::tests::config};

    fn rate(bits: u64) -> BitsPerSec {
        BitsPerSec::new(bits).expect("not zero")
    }

    #[test]
    fn a_command_changes_what_it_is_about_and_nothing_else() {
        let mut told = config();
        let commands = [
            AgentCommand::SetPort {
                port: PortId(2),
                is_enabled: false,
            },
            AgentCommand::SetLink {
                port: PortId(0),
                rate_bps: rate(9_000_000),
                buffer_bytes: Bytes::new(77),
            },
            AgentCommand::SetBuckets(vec![BucketRow {
                addr: Ipv4Addr::new(10, 8, 0, 0),
                prefix_len: 16,
                buckets: vec![61],
            }]),
            AgentCommand::ConfirmTables,
        ];
        for command in &commands {
            told.apply(command).expect("it fits");
        }
        let mut expected = config();
        expected.ports[1].is_enabled = false;
        expected.ports[0].rate_bps = rate(9_000_000);
        expected.ports[0].buffer_bytes = Bytes::new(77);
        expected.destinations[0].candidates[0].buckets = 61;
        assert_eq!(told, expected);
    }

    #[test]
    fn a_destination_is_replaced_or_added() {
        let mut told = config();
        let mut row = told.destinations[0].clone();
        row.candidates[0].c_path = 99;
        told.apply(&AgentCommand::SetDestination(row.clone()))
            .expect("it fits");
        row.addr = Ipv4Addr::new(10, 9, 0, 0);
        told.apply(&AgentCommand::SetDestination(row))
            .expect("it fits");
        let paths: Vec<_> = told
            .destinations
            .iter()
            .map(|row| row.candidates[0].c_path)
            .collect();
        assert_eq!(paths, [99, 99]);
    }

    #[test]
    fn weights_are_for_a_policy_that_has_some() {
        let parameters = LcmpConfig {
            alpha: 1,
            ..LcmpConfig::artifact()
        };
        let command = AgentCommand::SetLcmp(parameters.clone());
        let mut told = config();
        let error = told.apply(&command).expect_err("buckets have none");
        assert_eq!(error.to_string(), "the policy has no weights or thresholds");
        told.policy = PolicyConfig::Lcmp(LcmpConfig::artifact());
        told.apply(&command).expect("it fits");
        assert_eq!(told.policy, PolicyConfig::Lcmp(parameters));
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut told = config();
        let row = |net, count| BucketRow {
            addr: Ipv4Addr::new(10, net, 0, 0),
            prefix_len: 16,
            buckets: vec![5; count],
        };
        let error = |told: &mut AgentConfig, rows: Vec<BucketRow>| {
            let command = AgentCommand::SetBuckets(rows);
            told.apply(&command).expect_err("refused").to_string()
        };
        assert_eq!(
            error(&mut told, vec![row(8, 1), row(8, 2)]),
            "destination `10.8.0.0/16`: buckets for 2 candidates, it has 1"
        );
        assert_eq!(
            error(&mut told, vec![row(7, 1)]),
            "destination `10.7.0.0/16`: buckets for 1 candidates, it has 0"
        );
        let strange = AgentCommand::SetPort {
            port: PortId(7),
            is_enabled: false,
        };
        let error = told.apply(&strange).expect_err("no such port").to_string();
        assert_eq!(error, "port 7 is no port of the switch");
        assert_eq!(told, config());
    }
}
