//! Whether a configuration fits a switch's tables.

use alloc::string::String;
use core::net::Ipv4Addr;

use lab_units::{Bytes, PortId};

use super::config::{
    AgeConfig, AgentConfig, CandidateConfig, DestinationConfig, MAX_INTERFACE_NAME, PortConfig,
};
use crate::{
    ParameterError,
    lcmp::MAX_FLOW_TABLE_ENTRIES,
    rows::{MAX_AGES, MAX_CANDIDATES, MAX_DESTINATIONS, MAX_PORTS},
};

/// Why an agent cannot work with a configuration.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AgentConfigError {
    /// More rows than a table has.
    #[error("{count} {what}, a switch has at most {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// Two ports of one id or interface.
    #[error("port {id} (`{interface}`) is there twice")]
    DuplicatePort {
        /// The second one's id.
        id: PortId,
        /// The second one's interface.
        interface: String,
    },
    /// A name no interface can have.
    #[error(
        "port {id}: `{interface}` is no interface name, it must be 1 to {MAX_INTERFACE_NAME} bytes"
    )]
    InterfaceName {
        /// The port.
        id: PortId,
        /// Its interface.
        interface: String,
    },
    /// A prefix longer than an address, or with bits set past its length.
    #[error("`{addr}/{prefix_len}` is no prefix (hint: no bits past the length, at most 32)")]
    Prefix {
        /// The address.
        addr: Ipv4Addr,
        /// The length.
        prefix_len: u8,
    },
    /// Two destinations of one prefix.
    #[error("destination `{addr}/{prefix_len}` is there twice")]
    DuplicateDestination {
        /// The address.
        addr: Ipv4Addr,
        /// The length.
        prefix_len: u8,
    },
    /// A destination nothing leads to.
    #[error("destination `{addr}/{prefix_len}` has no candidate")]
    NoCandidate {
        /// The address.
        addr: Ipv4Addr,
        /// The length.
        prefix_len: u8,
    },
    /// Buckets for a destination that is not there, or not one number for each of its candidates.
    #[error("destination `{addr}/{prefix_len}`: buckets for {found} candidates, it has {expected}")]
    Buckets {
        /// The destination's address.
        addr: Ipv4Addr,
        /// The destination's length.
        prefix_len: u8,
        /// For how many candidates there are some.
        found: usize,
        /// How many candidates it has.
        expected: usize,
    },
    /// A candidate through a port the switch does not have, or through the same port twice.
    #[error("destination `{addr}/{prefix_len}`: candidate port {port} is {problem}")]
    CandidatePort {
        /// The destination's address.
        addr: Ipv4Addr,
        /// The destination's length.
        prefix_len: u8,
        /// The candidate's port.
        port: PortId,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Ages that do not begin with a flow, are not in order, or have none of the candidates.
    #[error(
        "destination `{addr}/{prefix_len}`: ages must begin at 0 bytes, come in order, and each say of every candidate whether it is one of the cheapest, of which there is one"
    )]
    Ages {
        /// The destination's address.
        addr: Ipv4Addr,
        /// The destination's length.
        prefix_len: u8,
    },
    /// A command about a port the switch does not have.
    #[error("port {port} is no port of the switch")]
    UnknownPort {
        /// The port.
        port: PortId,
    },
    /// Weights for a policy that has none.
    #[error("the policy has no weights or thresholds")]
    NoParameters,
    /// A number outside its range.
    #[error("`{field}` is {value}, it must be {least} to {most}")]
    OutOfRange {
        /// The field's name.
        field: &'static str,
        /// What it holds.
        value: u64,
        /// The smallest value allowed.
        least: u64,
        /// The largest value allowed.
        most: u64,
    },
    /// A scale of zero.
    #[error("`{field}` is 0, it must be above 0")]
    ZeroScale {
        /// The field's name.
        field: &'static str,
    },
    /// Parameters LCMP cannot compute with.
    #[error("policy: {0}")]
    Lcmp(#[from] ParameterError),
}

impl AgentConfig {
    /// Refuses what does not fit the switch's tables.
    ///
    /// # Errors
    ///
    /// The first thing found.
    pub fn validate(&self) -> Result<(), AgentConfigError> {
        self.validate_numbers()?;
        self.validate_ports()?;
        validate_prefix(self.local.addr, self.local.prefix_len)?;
        self.validate_destinations()?;
        match self.policy.congestion() {
            None => Ok(()),
            Some(parameters) => Ok(parameters.validate()?),
        }
    }

    fn validate_numbers(&self) -> Result<(), AgentConfigError> {
        let intervals = [
            ("sample_interval_ns", self.sample_interval_ns),
            ("record_interval_ns", self.record_interval_ns),
            ("link_interval_ns", self.link_interval_ns),
            ("stats_interval_ns", self.stats_interval_ns),
            ("gc_interval_ns", self.gc_interval_ns),
            ("idle_timeout_ns", self.idle_timeout_ns),
        ];
        let demand = self
            .demand_interval_ns
            .map(|time| ("demand_interval_ns", time));
        // A wake-up every 10 µs would leave one CPU no time for the packets.
        let in_range = intervals
            .into_iter()
            .chain(demand)
            .map(|(field, time)| (field, time.get(), MIN_INTERVAL_NS, u64::MAX));
        let entries = u64::from(self.flow_table_entries);
        let entries = (
            "flow_table_entries",
            entries,
            1,
            u64::from(MAX_FLOW_TABLE_ENTRIES),
        );
        for (field, value, least, most) in in_range.chain([entries]) {
            if !(least..=most).contains(&value) {
                return Err(AgentConfigError::OutOfRange {
                    field,
                    value,
                    least,
                    most,
                });
            }
        }
        for (field, scale) in [
            ("time_scale", self.time_scale),
            ("size_scale", self.size_scale),
        ] {
            if scale.numerator() == 0 {
                return Err(AgentConfigError::ZeroScale { field });
            }
        }
        Ok(())
    }

    fn validate_ports(&self) -> Result<(), AgentConfigError> {
        at_most("ports", self.ports.len(), MAX_PORTS)?;
        for (index, port) in self.ports.iter().enumerate() {
            let PortConfig { id, interface, .. } = port;
            if interface.is_empty() || interface.len() > MAX_INTERFACE_NAME {
                return Err(AgentConfigError::InterfaceName {
                    id: *id,
                    interface: interface.clone(),
                });
            }
            let before = &self.ports[..index];
            if before
                .iter()
                .any(|other| other.id == *id || other.interface == *interface)
            {
                return Err(AgentConfigError::DuplicatePort {
                    id: *id,
                    interface: interface.clone(),
                });
            }
        }
        Ok(())
    }

    fn validate_destinations(&self) -> Result<(), AgentConfigError> {
        destinations_fit(self.destinations.len())?;
        for (index, destination) in self.destinations.iter().enumerate() {
            let &DestinationConfig {
                addr, prefix_len, ..
            } = destination;
            let before = &self.destinations[..index];
            if before
                .iter()
                .any(|other| (other.addr, other.prefix_len) == (addr, prefix_len))
            {
                return Err(AgentConfigError::DuplicateDestination { addr, prefix_len });
            }
            self.validate_destination(destination)?;
        }
        Ok(())
    }

    /// Refuses a destination that does not fit this switch.
    ///
    /// # Errors
    ///
    /// The first thing found.
    pub fn validate_destination(
        &self,
        destination: &DestinationConfig,
    ) -> Result<(), AgentConfigError> {
        let DestinationConfig {
            addr,
            prefix_len,
            ref candidates,
            ref ages,
        } = *destination;
        validate_prefix(addr, prefix_len)?;
        at_most(
            "candidates of one destination",
            candidates.len(),
            MAX_CANDIDATES,
        )?;
        if candidates.is_empty() {
            return Err(AgentConfigError::NoCandidate { addr, prefix_len });
        }
        for (index, &CandidateConfig { port, .. }) in candidates.iter().enumerate() {
            let problem = if !self.ports.iter().any(|known| known.id == port) {
                "no port of the switch"
            } else if candidates[..index].iter().any(|other| other.port == port) {
                "there twice"
            } else {
                continue;
            };
            return Err(AgentConfigError::CandidatePort {
                addr,
                prefix_len,
                port,
                problem,
            });
        }
        at_most("ages of one destination", ages.len(), MAX_AGES)?;
        let is_first_late = ages.first().is_some_and(|age| age.from_bytes > Bytes::ZERO);
        let is_in_order = ages.is_sorted_by_key(|age| age.from_bytes);
        let fits = |age: &AgeConfig| {
            age.cheapest.len() == candidates.len() && age.cheapest.contains(&true)
        };
        if is_first_late || !is_in_order || !ages.iter().all(fits) {
            return Err(AgentConfigError::Ages { addr, prefix_len });
        }
        Ok(())
    }
}

/// Refuses more destinations than a switch has rows for.
pub(super) fn destinations_fit(count: usize) -> Result<(), AgentConfigError> {
    let most = usize::try_from(MAX_DESTINATIONS).unwrap_or(usize::MAX);
    at_most("destinations", count, most)
}

fn validate_prefix(addr: Ipv4Addr, prefix_len: u8) -> Result<(), AgentConfigError> {
    let host_bits = u32::MAX.checked_shr(u32::from(prefix_len)).unwrap_or(0);
    if prefix_len > 32 || addr.to_bits() & host_bits != 0 {
        return Err(AgentConfigError::Prefix { addr, prefix_len });
    }
    Ok(())
}

fn at_most(what: &'static str, count: usize, most: usize) -> Result<(), AgentConfigError> {
    if count > most {
        return Err(AgentConfigError::TooMany { what, count, most });
    }
    Ok(())
}

/// 10 µs.
const MIN_INTERVAL_NS: u64 = 10_000;

#[cfg(test)]
pub(super) mod tests {
    use alloc::{string::ToString, vec};

    use lab_units::{BitsPerSec, Bytes, Mac, Nanos, Ratio};

    use super::*;
    use crate::wire::{AttachMode, LocalPrefix, PolicyConfig};

    fn port(id: u32, interface: &str) -> PortConfig {
        PortConfig {
            id: PortId(id),
            interface: interface.to_string(),
            src_mac: Mac([2, 0, 0, 0, 0, 1]),
            dst_mac: Mac([2, 0, 0, 0, 0, 2]),
            is_queue_sampled: true,
            is_enabled: true,
            rate_bps: BitsPerSec::new(200_000_000).expect("not zero"),
            buffer_bytes: Bytes::new(6_000_000),
        }
    }

    pub(in crate::wire) fn config() -> AgentConfig {
        AgentConfig {
            lab: "lab".to_string(),
            dc: "dc1".to_string(),
            switch_id: 176,
            policy: PolicyConfig::Buckets,
            time_scale: Ratio::ONE,
            size_scale: Ratio::ONE,
            ports: vec![port(0, "p0"), port(2, "p1")],
            destinations: vec![DestinationConfig {
                addr: Ipv4Addr::new(10, 8, 0, 0),
                prefix_len: 16,
                candidates: vec![CandidateConfig {
                    port: PortId(2),
                    c_path: 18,
                    buckets: 1,
                }],
                ages: vec![],
            }],
            local: LocalPrefix {
                addr: Ipv4Addr::new(10, 1, 0, 0),
                prefix_len: 16,
            },
            sample_interval_ns: Nanos::from_millis(1),
            record_interval_ns: Nanos::from_millis(10),
            link_interval_ns: Nanos::from_millis(100),
            stats_interval_ns: Nanos::from_millis(100),
            demand_interval_ns: None,
            gc_interval_ns: Nanos::from_millis(1000),
            idle_timeout_ns: Nanos::from_millis(5000),
            stale_after_ns: None,
            max_table_age_ns: None,
            flow_table_entries: 50_000,
            controller_socket: "/run/lab/controller".to_string(),
            pin_dir: None,
            attach: AttachMode::Auto,
        }
    }

    fn error(change: impl FnOnce(&mut AgentConfig)) -> String {
        let mut config = config();
        change(&mut config);
        config
            .validate()
            .expect_err("it must be refused")
            .to_string()
    }

    #[test]
    fn a_whole_configuration_is_accepted() {
        assert_eq!(config().validate(), Ok(()));
    }

    #[test]
    fn what_does_not_fit_the_tables_is_named() {
        assert_eq!(
            error(|c| c.ports[1].id = PortId(0)),
            "port 0 (`p1`) is there twice"
        );
        assert_eq!(
            error(|c| c.ports[0].interface = "sixteen-bytes-ab".to_string()),
            "port 0: `sixteen-bytes-ab` is no interface name, it must be 1 to 15 bytes"
        );
        assert_eq!(
            error(|c| c.destinations[0].prefix_len = 8),
            "`10.8.0.0/8` is no prefix (hint: no bits past the length, at most 32)"
        );
        assert_eq!(
            error(|c| c.destinations[0].prefix_len = 33),
            "`10.8.0.0/33` is no prefix (hint: no bits past the length, at most 32)"
        );
        assert_eq!(
            error(|c| c.destinations[0].candidates[0].port = PortId(4)),
            "destination `10.8.0.0/16`: candidate port 4 is no port of the switch"
        );
        assert_eq!(
            error(|c| c.destinations[0].candidates.clear()),
            "destination `10.8.0.0/16` has no candidate"
        );
        let age = |from, cheapest| AgeConfig {
            from_bytes: Bytes::new(from),
            cheapest: vec![cheapest],
        };
        for ages in [
            vec![age(1, true)],
            vec![age(0, true), age(9, true), age(8, true)],
            vec![age(0, false)],
        ] {
            let found = error(|c| c.destinations[0].ages.clone_from(&ages));
            let begins = "destination `10.8.0.0/16`: ages must begin at 0 bytes, come in order";
            assert!(found.starts_with(begins), "{found}");
        }
        assert_eq!(
            error(|c| c.destinations.push(c.destinations[0].clone())),
            "destination `10.8.0.0/16` is there twice"
        );
        assert_eq!(
            error(|c| c.destinations[0].candidates = vec![c.destinations[0].candidates[0]; 9]),
            "9 candidates of one destination, a switch has at most 8"
        );
        assert_eq!(
            error(|c| c.ports = (0..65).map(|id| port(id, &id.to_string())).collect()),
            "65 ports, a switch has at most 64"
        );
        assert_eq!(
            error(|c| c.record_interval_ns = Nanos::ZERO),
            "`record_interval_ns` is 0, it must be 10000 to 18446744073709551615"
        );
        assert_eq!(
            error(|c| c.link_interval_ns = Nanos::ZERO),
            "`link_interval_ns` is 0, it must be 10000 to 18446744073709551615"
        );
        assert_eq!(
            error(|c| c.demand_interval_ns = Some(Nanos::ZERO)),
            "`demand_interval_ns` is 0, it must be 10000 to 18446744073709551615"
        );
        assert_eq!(
            error(|c| c.local.prefix_len = 8),
            "`10.1.0.0/8` is no prefix (hint: no bits past the length, at most 32)"
        );
        assert_eq!(
            error(|c| c.flow_table_entries = 50_001),
            "`flow_table_entries` is 50001, it must be 1 to 50000"
        );
    }

    #[test]
    fn the_json_form_is_the_contract() {
        let json = serde_json::to_value(config()).expect("it has a JSON form");
        assert_eq!(json["policy"], "buckets");
        assert_eq!(json["time_scale"], "1");
        assert_eq!(json["ports"][1]["src_mac"], "02:00:00:00:00:01");
        assert_eq!(json["ports"][1]["rate_bps"], 200_000_000);
        assert_eq!(json["destinations"][0]["addr"], "10.8.0.0");
        assert_eq!(
            serde_json::from_value::<AgentConfig>(json).ok(),
            Some(config())
        );
    }

    #[test]
    fn a_field_nobody_knows_is_refused() {
        let mut json = serde_json::to_value(config()).expect("it has a JSON form");
        json["dealy"] = 5.into();
        let error = serde_json::from_value::<AgentConfig>(json).expect_err("unknown field");
        assert!(
            error.to_string().starts_with("unknown field `dealy`"),
            "{error}"
        );
    }
}
