//! Whose stories are told.

use std::{collections::BTreeSet, str::FromStr};

use lab_plan::Plan;
use lab_sim::Told;
use lab_units::FlowId;

use crate::failure::Failure;

/// A word of `--story`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StoryArg {
    /// Every flow's.
    All,
    /// One flow's.
    Flow(FlowId),
}

impl FromStr for StoryArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let id = text.parse().map(FlowId).map(Self::Flow);
        id.map_err(|_| "neither `all` nor the number of a flow".to_owned())
    }
}

/// The flows that `asked` names.
///
/// # Errors
/// A flow that the plan does not have.
pub fn told(asked: &[StoryArg], plan: &Plan) -> Result<Told, Failure> {
    let mut flows = BTreeSet::new();
    for word in asked {
        match *word {
            StoryArg::All => return Ok(Told::All),
            StoryArg::Flow(id) if id.index() < plan.flows.len() => {
                flows.insert(id);
            }
            StoryArg::Flow(id) => {
                return Err(Failure::usage(format_args!(
                    "`--story {id}`: the plan has {} flows, numbered from 0",
                    plan.flows.len()
                )));
            }
        }
    }
    Ok(match flows.is_empty() {
        true => Told::None,
        false => Told::Flows(flows),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_everybodys_or_a_flows() {
        assert_eq!("all".parse(), Ok(StoryArg::All));
        assert_eq!("17".parse(), Ok(StoryArg::Flow(FlowId(17))));
        assert!("dc1".parse::<StoryArg>().is_err());
    }
}
