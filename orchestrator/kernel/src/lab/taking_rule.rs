//! Rule of the machine that diverts packets of a lab.

use std::fmt;

use lab_plan::address::{self, HostRule, SLOTS};

/// Routing rule of the machine that diverts packets of a lab's hosts. It is displayed in the format of `ip rule`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TakingRule {
    pub(crate) priority: u32,
    pub(crate) shown: String,
}

impl TakingRule {
    /// Returns the command with which the rule's owner can resolve the conflict.
    pub(crate) fn remedy(&self) -> String {
        let priority = self.priority;
        let last = address::rule_priority(SLOTS - 1, HostRule::From);
        format!(
            "`ip rule del pref {priority}`, and add the rule again with a priority above {last}"
        )
    }
}

impl fmt::Display for TakingRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}
