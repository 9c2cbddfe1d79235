//! Policies that an engine cannot run.

use super::{Inspection, warning};
use crate::model::Warning;

/// One warning for each policy that only the simulator runs.
pub(super) fn not_in_kernel(inspection: &Inspection<'_>) -> Vec<Warning> {
    let policies = inspection
        .policies
        .iter()
        .filter_map(|run| Some((&run.label, run.policy.not_in_kernel()?)));
    policies
        .map(|(label, why)| {
            let text = format!(
                "policy `{label}`: the kernel engine does not run it: {why} (hint: the simulator \
                 does, `lcmp-lab sim`; `--policies` chooses among the others)"
            );
            warning("policy-not-in-kernel", text)
        })
        .collect()
}
