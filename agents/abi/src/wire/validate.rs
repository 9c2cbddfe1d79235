//! Checks that a configuration fits a switch's tables.

use alloc::string::String;
use core::{net::Ipv4Addr, ops::Deref};

use lab_units::{Bytes, PortId};

use super::config::{
    AgentConfig, CandidateConfig, DestinationConfig, HeadConfig, MAX_INTERFACE_NAME, PortConfig,
    SizeThresholdConfig, TransitConfig,
};
use crate::{
    ParameterError,
    lcmp::MAX_FLOW_TABLE_ENTRIES,
    rows::{MAX_CANDIDATES, MAX_DESTINATIONS, MAX_PORTS, MAX_SIZE_THRESHOLDS, MAX_TRANSITS},
};

/// Reason why an agent rejects a configuration.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AgentConfigError {
    #[error("{count} {what}; a switch supports at most {max}")]
    TooMany {
        what: &'static str,
        count: usize,
        max: usize,
    },
    #[error("port {id} (`{interface}`) is listed twice")]
    DuplicatePort { id: PortId, interface: String },
    #[error(
        "port {id}: `{interface}` is not an interface name; it must be 1 to {MAX_INTERFACE_NAME} bytes"
    )]
    InterfaceName { id: PortId, interface: String },
    #[error(
        "`{addr}/{prefix_len}` is not a prefix (hint: the length is at most 32, and all bits after the prefix are 0)"
    )]
    Prefix { addr: Ipv4Addr, prefix_len: u8 },
    #[error("destination `{addr}/{prefix_len}` is listed twice")]
    DuplicateDestination { addr: Ipv4Addr, prefix_len: u8 },
    #[error("destination `{addr}/{prefix_len}` has no candidate")]
    NoCandidate { addr: Ipv4Addr, prefix_len: u8 },
    #[error(
        "destination `{addr}/{prefix_len}`: the command has buckets for {found} candidates instead of {expected}"
    )]
    Buckets {
        addr: Ipv4Addr,
        prefix_len: u8,
        found: usize,
        expected: usize,
    },
    #[error("destination `{addr}/{prefix_len}`: candidate port {port} is {problem}")]
    CandidatePort {
        addr: Ipv4Addr,
        prefix_len: u8,
        port: PortId,
        problem: &'static str,
    },
    #[error(
        "destination `{addr}/{prefix_len}`: size thresholds must begin at 0 bytes, be in order, and have at least one cheapest candidate each"
    )]
    SizeThresholds { addr: Ipv4Addr, prefix_len: u8 },
    #[error("port {port} is not a port of the switch")]
    UnknownPort { port: PortId },
    #[error("the actor has {problem}")]
    Actor { problem: &'static str },
    #[error("the switch's policy has no weights or thresholds to change")]
    NoParameters,
    #[error("`{field}` is {value}; it must be {min} to {max}")]
    OutOfRange {
        field: &'static str,
        value: u64,
        min: u64,
        max: u64,
    },
    #[error("`{field}` is 0; it must be above 0")]
    ZeroScale { field: &'static str },
    #[error("policy: {0}")]
    Lcmp(#[from] ParameterError),
}

/// [`AgentConfig`] that fits a switch's tables: it is checked as a whole when it is created, and a command that would
/// make it invalid is rejected.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ValidAgentConfig(pub(super) AgentConfig);

impl TryFrom<AgentConfig> for ValidAgentConfig {
    type Error = AgentConfigError;

    /// Validates `config`; fails with the first problem found.
    fn try_from(config: AgentConfig) -> Result<Self, AgentConfigError> {
        config.validate()?;
        Ok(Self(config))
    }
}

impl Deref for ValidAgentConfig {
    type Target = AgentConfig;

    fn deref(&self) -> &AgentConfig {
        &self.0
    }
}

impl AgentConfig {
    fn validate(&self) -> Result<(), AgentConfigError> {
        self.validate_numbers()?;
        self.validate_ports()?;
        validate_prefix(self.local.addr, self.local.prefix_len)?;
        self.validate_destinations()?;
        self.validate_transits(self.transits.as_deref().unwrap_or_default())?;
        self.validate_actor()?;
        match self.policy.congestion() {
            None => Ok(()),
            Some(parameters) => Ok(parameters.validate()?),
        }
    }

    fn validate_actor(&self) -> Result<(), AgentConfigError> {
        let Some(actor) = &self.actor else {
            return Ok(());
        };
        let failed = |problem| Err(AgentConfigError::Actor { problem });
        let is_port = |id: &PortId| self.ports.iter().any(|port| port.id == *id);
        let fits = |head: &HeadConfig| {
            let destination = self.destinations.get(head.destination);
            destination.is_some_and(|it| it.candidates.len() == head.provisioned.len())
        };
        if self.demand_interval_ns.is_none() {
            return failed("no demand interval");
        }
        if !actor.links.iter().all(is_port) {
            return failed("an input from a port that the switch lacks");
        }
        if !actor.heads.iter().all(fits) {
            return failed("buckets for other candidates than those of the destinations");
        }
        Ok(())
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
        // Wake-ups more often than every 10 µs would leave one CPU no time to forward packets.
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
        for (field, value, min, max) in in_range.chain([entries]) {
            if !(min..=max).contains(&value) {
                return Err(AgentConfigError::OutOfRange {
                    field,
                    value,
                    min,
                    max,
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
        check_count("ports", self.ports.len(), MAX_PORTS)?;
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
        check_destination_count(self.destinations.len())?;
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

    /// Checks that transit rows fit this switch, and returns the first problem as an error.
    pub(super) fn validate_transits(&self, rows: &[TransitConfig]) -> Result<(), AgentConfigError> {
        check_transit_count(rows.len())?;
        for row in rows {
            for addr in [row.from, row.to] {
                validate_prefix(addr, self.local.prefix_len)?;
            }
            for port in [row.ingress, row.egress] {
                self.port(port)?;
            }
        }
        Ok(())
    }

    /// Checks that a destination fits this switch, and returns the first problem as an error.
    pub(super) fn validate_destination(
        &self,
        destination: &DestinationConfig,
    ) -> Result<(), AgentConfigError> {
        let DestinationConfig {
            addr,
            prefix_len,
            ref candidates,
            ref size_thresholds,
        } = *destination;
        validate_prefix(addr, prefix_len)?;
        check_count(
            "candidates of one destination",
            candidates.len(),
            MAX_CANDIDATES,
        )?;
        if candidates.is_empty() {
            return Err(AgentConfigError::NoCandidate { addr, prefix_len });
        }
        for (index, &CandidateConfig { port, .. }) in candidates.iter().enumerate() {
            let problem = if !self.ports.iter().any(|known| known.id == port) {
                "not a port of the switch"
            } else if candidates[..index].iter().any(|other| other.port == port) {
                "listed twice"
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
        let thresholds = size_thresholds;
        check_count(
            "size thresholds of one destination",
            thresholds.len(),
            MAX_SIZE_THRESHOLDS,
        )?;
        let starts_at_0 = thresholds
            .first()
            .is_none_or(|first| first.from_bytes == Bytes::ZERO);
        let is_in_order = thresholds.is_sorted_by_key(|threshold| threshold.from_bytes);
        let fits = |SizeThresholdConfig { cheapest, .. }: &SizeThresholdConfig| {
            cheapest.len() == candidates.len() && cheapest.contains(&true)
        };
        if !starts_at_0 || !is_in_order || !thresholds.iter().all(fits) {
            return Err(AgentConfigError::SizeThresholds { addr, prefix_len });
        }
        Ok(())
    }
}

/// Rejects more destinations than a switch has rows for.
pub(super) fn check_transit_count(count: usize) -> Result<(), AgentConfigError> {
    let max = usize::try_from(MAX_TRANSITS).unwrap_or(usize::MAX);
    check_count("transit rows", count, max)
}

pub(super) fn check_destination_count(count: usize) -> Result<(), AgentConfigError> {
    let max = usize::try_from(MAX_DESTINATIONS).unwrap_or(usize::MAX);
    check_count("destinations", count, max)
}

fn validate_prefix(addr: Ipv4Addr, prefix_len: u8) -> Result<(), AgentConfigError> {
    let host_bits = u32::MAX.checked_shr(u32::from(prefix_len)).unwrap_or(0);
    if prefix_len > 32 || addr.to_bits() & host_bits != 0 {
        return Err(AgentConfigError::Prefix { addr, prefix_len });
    }
    Ok(())
}

fn check_count(what: &'static str, count: usize, max: usize) -> Result<(), AgentConfigError> {
    if count > max {
        return Err(AgentConfigError::TooMany { what, count, max });
    }
    Ok(())
}

/// Shortest interval that the agent's timers accept, ns.
const MIN_INTERVAL_NS: u64 = 10_000;

#[cfg(test)]
pub(super) mod tests {
    use alloc::{string::ToString, vec, vec::Vec};

    use lab_units::{BitsPerSec, Bytes, Mac, Nanos, Ratio};

    use super::*;
    use crate::wire::{ActorConfig, AttachMode, LocalPrefix, PolicyConfig};

    fn port(id: u32, interface: &str) -> PortConfig {
        PortConfig {
            id: PortId(id),
            interface: interface.to_string(),
            src_mac: Mac([2, 0, 0, 0, 0, 1]),
            dst_mac: Mac([2, 0, 0, 0, 0, 2]),
            is_queue_sampled: true,
            is_enabled: true,
            rate_bps: BitsPerSec::new(200_000_000).expect("a rate above zero"),
            buffer_bytes: Bytes::new(6_000_000),
            ecn: None,
            ingress: None,
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
                size_thresholds: vec![],
            }],
            transits: None,
            local: LocalPrefix {
                addr: Ipv4Addr::new(10, 1, 0, 0),
                prefix_len: 16,
            },
            shared_buffer: None,
            start_ns: Nanos::ZERO,
            sample_interval_ns: Nanos::from_millis(1),
            record_interval_ns: Nanos::from_millis(10),
            link_interval_ns: Nanos::from_millis(100),
            stats_interval_ns: Nanos::from_millis(100),
            demand_interval_ns: None,
            actor: None,
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

    /// Prefixes have 16 bits, and the switch has the ports 0 and 2.
    #[test]
    fn rows_for_packets_on_tunnels_have_prefixes_and_ports_of_the_lab() {
        let row = TransitConfig {
            from: Ipv4Addr::new(10, 2, 0, 0),
            to: Ipv4Addr::new(10, 8, 0, 0),
            ingress: PortId(0),
            egress: PortId(2),
        };
        let validate = |rows: Vec<TransitConfig>| {
            let transits = Some(rows);
            AgentConfig {
                transits,
                ..config()
            }
            .validate()
        };
        assert_eq!(validate(vec![row]), Ok(()));
        let unknown = |port| Err(AgentConfigError::UnknownPort { port });
        let [third, fourth] = [PortId(3), PortId(4)];
        assert_eq!(
            validate(vec![
                row,
                TransitConfig {
                    ingress: third,
                    ..row
                }
            ]),
            unknown(third)
        );
        assert_eq!(
            validate(vec![TransitConfig {
                egress: fourth,
                ..row
            }]),
            unknown(fourth)
        );
        for wrong in [
            TransitConfig {
                from: Ipv4Addr::new(10, 2, 0, 1),
                ..row
            },
            TransitConfig {
                to: Ipv4Addr::new(10, 8, 1, 0),
                ..row
            },
        ] {
            let found = validate(vec![wrong]);
            assert!(
                matches!(found, Err(AgentConfigError::Prefix { .. })),
                "{found:?}"
            );
        }
        let many = usize::try_from(MAX_TRANSITS).unwrap() + 1;
        let found = validate(vec![row; many]);
        assert!(
            matches!(found, Err(AgentConfigError::TooMany { .. })),
            "{found:?}"
        );
    }

    #[test]
    fn a_whole_configuration_is_accepted() {
        let valid = ValidAgentConfig::try_from(config()).expect("a valid configuration");
        assert_eq!(*valid, config());
    }

    #[test]
    fn what_does_not_fit_the_tables_is_named() {
        type Change = fn(&mut AgentConfig);
        const THRESHOLDS: &str = "destination `10.8.0.0/16`: size thresholds must begin at 0 bytes, \
                                  be in order, and have at least one cheapest candidate each";
        fn thresholds(rows: &[(u64, bool)]) -> Vec<SizeThresholdConfig> {
            let row = |&(from, is_cheapest): &(u64, bool)| SizeThresholdConfig {
                from_bytes: Bytes::new(from),
                cheapest: vec![is_cheapest],
            };
            rows.iter().map(row).collect()
        }
        let cases: [(Change, &str); 18] = [
            (
                |c| c.ports[1].id = PortId(0),
                "port 0 (`p1`) is listed twice",
            ),
            (
                |c| c.ports[0].interface = "sixteen-bytes-ab".to_string(),
                "port 0: `sixteen-bytes-ab` is not an interface name; it must be 1 to 15 bytes",
            ),
            (
                |c| c.destinations[0].prefix_len = 8,
                "`10.8.0.0/8` is not a prefix (hint: the length is at most 32, and all bits after the prefix are 0)",
            ),
            (
                |c| c.destinations[0].prefix_len = 33,
                "`10.8.0.0/33` is not a prefix (hint: the length is at most 32, and all bits after the prefix are 0)",
            ),
            (
                |c| c.destinations[0].candidates[0].port = PortId(4),
                "destination `10.8.0.0/16`: candidate port 4 is not a port of the switch",
            ),
            (
                |c| c.destinations[0].candidates.clear(),
                "destination `10.8.0.0/16` has no candidate",
            ),
            (
                |c| c.destinations[0].size_thresholds = thresholds(&[(1, true)]),
                THRESHOLDS,
            ),
            (
                |c| {
                    c.destinations[0].size_thresholds =
                        thresholds(&[(0, true), (9, true), (8, true)]);
                },
                THRESHOLDS,
            ),
            (
                |c| c.destinations[0].size_thresholds = thresholds(&[(0, false)]),
                THRESHOLDS,
            ),
            (
                |c| c.destinations.push(c.destinations[0].clone()),
                "destination `10.8.0.0/16` is listed twice",
            ),
            (
                |c| c.destinations[0].candidates = vec![c.destinations[0].candidates[0]; 17],
                "17 candidates of one destination; a switch supports at most 16",
            ),
            (
                |c| c.ports = (0..65).map(|id| port(id, &id.to_string())).collect(),
                "65 ports; a switch supports at most 64",
            ),
            (
                |c| c.record_interval_ns = Nanos::ZERO,
                "`record_interval_ns` is 0; it must be 10000 to 18446744073709551615",
            ),
            (
                |c| c.link_interval_ns = Nanos::ZERO,
                "`link_interval_ns` is 0; it must be 10000 to 18446744073709551615",
            ),
            (
                |c| c.demand_interval_ns = Some(Nanos::ZERO),
                "`demand_interval_ns` is 0; it must be 10000 to 18446744073709551615",
            ),
            (
                |c| c.local.prefix_len = 8,
                "`10.1.0.0/8` is not a prefix (hint: the length is at most 32, and all bits after the prefix are 0)",
            ),
            (
                |c| c.flow_table_entries = 50_001,
                "`flow_table_entries` is 50001; it must be 1 to 50000",
            ),
            (
                |c| c.time_scale = Ratio::ZERO,
                "`time_scale` is 0; it must be above 0",
            ),
        ];
        for (change, expected) in cases {
            let mut config = config();
            change(&mut config);
            let error = ValidAgentConfig::try_from(config).expect_err(expected);
            assert_eq!(error.to_string(), expected);
        }
    }

    /// Returns a configuration whose agent divides 100 buckets every 100 ms.
    fn config_with_actor() -> AgentConfig {
        AgentConfig {
            demand_interval_ns: Some(Nanos::from_millis(100)),
            actor: Some(ActorConfig {
                weights: "weights".to_string(),
                links: vec![PortId(2), PortId(0)],
                heads: vec![HeadConfig {
                    destination: 0,
                    provisioned: vec![4],
                }],
                largest_rate_bps: BitsPerSec::new(200_000_000).expect("a rate above zero"),
                buckets: 100,
            }),
            ..config()
        }
    }

    #[test]
    fn an_actor_that_does_not_fit_the_switch_is_refused() {
        const PORT: &str = "the actor has an input from a port that the switch lacks";
        const CANDIDATES: &str =
            "the actor has buckets for other candidates than those of the destinations";
        type Change = fn(&mut AgentConfig, &mut ActorConfig);
        let cases: [(Change, Option<&str>); 11] = [
            (|_, _| {}, None),
            (|_, actor| actor.links.clear(), None),
            (|_, actor| actor.heads.clear(), None),
            (
                |c, _| c.demand_interval_ns = None,
                Some("the actor has no demand interval"),
            ),
            (
                |c, _| c.demand_interval_ns = Some(Nanos::new(9_999)),
                Some("`demand_interval_ns` is 9999; it must be 10000 to 18446744073709551615"),
            ),
            (|_, actor| actor.links.push(PortId(1)), Some(PORT)),
            (|c, _| drop(c.ports.remove(0)), Some(PORT)),
            (|_, actor| actor.heads[0].destination = 1, Some(CANDIDATES)),
            (
                |_, actor| actor.heads[0].provisioned.clear(),
                Some(CANDIDATES),
            ),
            (
                |_, actor| actor.heads[0].provisioned.push(1),
                Some(CANDIDATES),
            ),
            (|c, _| c.destinations.clear(), Some(CANDIDATES)),
        ];
        for (at, (change, expected)) in cases.into_iter().enumerate() {
            let mut config = config_with_actor();
            let mut actor = config.actor.take().expect("an actor");
            change(&mut config, &mut actor);
            config.actor = Some(actor);
            let refused = ValidAgentConfig::try_from(config).err();
            let found = refused.map(|error| error.to_string());
            assert_eq!(found.as_deref(), expected, "case {at}");
        }
    }

    #[test]
    fn an_actors_json_form_has_no_other_fields() {
        assert!(
            serde_json::to_value(config()).expect("a JSON form")["actor"].is_null(),
            "an absent actor is left out"
        );
        let json = serde_json::to_value(config_with_actor()).expect("a JSON form");
        let expected = serde_json::json!({
            "weights": "weights",
            "links": [2, 0],
            "heads": [{ "destination": 0, "provisioned": [4] }],
            "largest_rate_bps": 200_000_000,
            "buckets": 100,
        });
        assert_eq!(json["actor"], expected);
        let read = serde_json::from_value::<AgentConfig>(json.clone());
        assert_eq!(read.ok(), Some(config_with_actor()));
        for (path, field) in [("/actor", "lag"), ("/actor/heads/0", "ports")] {
            let mut json = json.clone();
            json.pointer_mut(path).expect("an object")[field] = 1.into();
            let error = serde_json::from_value::<AgentConfig>(json).expect_err(field);
            let expected = alloc::format!("unknown field `{field}`");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn the_json_form_is_the_contract() {
        let json = serde_json::to_value(config()).expect("a JSON form");
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
        let mut json = serde_json::to_value(config()).expect("a JSON form");
        json["dealy"] = 5.into();
        let error = serde_json::from_value::<AgentConfig>(json).expect_err("unknown field");
        assert!(
            error.to_string().starts_with("unknown field `dealy`"),
            "{error}"
        );
    }

    #[test]
    fn a_damaged_configuration_is_read_or_refused() {
        let seeds = [config(), config_with_actor()]
            .map(|config| serde_json::to_vec(&config).expect("a JSON form"));
        lab_fuzz::fuzz("agent's configuration", &seeds, |bytes| {
            let config = serde_json::from_slice::<AgentConfig>(bytes);
            config.is_ok_and(|config| ValidAgentConfig::try_from(config).is_ok())
        });
    }
}
