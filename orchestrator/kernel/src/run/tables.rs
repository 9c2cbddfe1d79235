//! Comparison of a switch's tables, as an agent read them back from the kernel, with the tables of the plan.

use lab_abi::wire::{AgentConfig, CandidateConfig, DestinationConfig, Ready};

use super::AgentError;

/// Checks that the tables that an agent read back are those of its configuration.
///
/// # Errors
/// If a destination's candidates, or their order, path costs or buckets, differ, or if the switch program is not
/// attached to a port.
pub(super) fn check(config: &AgentConfig, ready: &Ready) -> Result<(), AgentError> {
    let differences = differences(config, ready);
    if differences.is_empty() {
        Ok(())
    } else {
        Err(AgentError::Tables {
            dc: config.dc.clone(),
            differences,
        })
    }
}

fn differences(config: &AgentConfig, ready: &Ready) -> Vec<String> {
    let mut differences = Vec::new();
    let ports = u32::try_from(config.ports.len()).unwrap_or(u32::MAX);
    if ready.ports != ports {
        differences.push(format!(
            "the switch program is attached at {} of {ports} ports",
            ready.ports
        ));
    }
    for wanted in &config.destinations {
        let same = |row: &&DestinationConfig| {
            (row.addr, row.prefix_len) == (wanted.addr, wanted.prefix_len)
        };
        let found = ready
            .tables
            .iter()
            .find(same)
            .map_or(&[][..], |row| &row.candidates);
        if found != wanted.candidates {
            differences.push(format!(
                "destination {}/{}: wanted candidates {}, found {}",
                wanted.addr,
                wanted.prefix_len,
                show(&wanted.candidates),
                show(found)
            ));
        }
    }
    differences
}

/// Formats candidates as text, each with its port, C_path and number of buckets.
fn show(candidates: &[CandidateConfig]) -> String {
    let show = |it: &CandidateConfig| {
        format!(
            "port {} (C_path {}, buckets {})",
            it.port, it.c_path, it.buckets
        )
    };
    let shown: Vec<String> = candidates.iter().map(show).collect();
    if shown.is_empty() {
        "no candidate".to_owned()
    } else {
        shown.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use lab_abi::wire::Attachment;

    use super::*;
    use crate::run::{agent_config::agent_config, testing};

    #[test]
    fn tables_that_differ_from_the_plan_are_named() {
        let plan = testing::plan();
        let config = agent_config(&plan, &plan.policies[1], 0);
        let ready = Ready {
            time_ns: 0,
            dc: config.dc.clone(),
            pid: 1,
            attachment: Attachment::Tcx,
            has_carriers: true,
            ports: u32::try_from(config.ports.len()).unwrap(),
            load_ns: 0,
            adopted: None,
            tables: config.destinations.clone(),
        };
        assert!(check(&config, &ready).is_ok());
        type Break = fn(&mut Ready);
        let breaks: [(Break, &str); 5] = [
            (
                |ready| ready.tables[0].candidates.reverse(),
                "wanted candidates port 0 (C_path 10, buckets 1), port 2 (C_path 30, buckets 1), found port 2",
            ),
            (
                |ready| ready.tables[0].candidates[0].c_path = 77,
                "found port 0 (C_path 77, buckets 1)",
            ),
            (
                |ready| ready.tables[0].candidates[0].port = lab_units::PortId(4),
                "found port 4 (C_path 10, buckets 1)",
            ),
            (|ready| drop(ready.tables.remove(0)), "found no candidate"),
            (|ready| ready.ports -= 1, "program is attached at"),
        ];
        for (break_it, words) in breaks {
            let mut broken = ready.clone();
            break_it(&mut broken);
            let error = check(&config, &broken).unwrap_err().to_string();
            assert!(error.contains(words), "{words}: {error}");
        }
    }
}
