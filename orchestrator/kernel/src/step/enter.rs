//! Text that makes a printed command run in a namespace.

use std::fmt;

use crate::name::Namespace;

/// Option of `ip` and `tc` that selects a namespace; empty for the root namespace.
pub(super) struct Flag<'a>(pub &'a Namespace);

impl fmt::Display for Flag<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Namespace::Root => Ok(()),
            Namespace::Named(name) => write!(f, " -n {name}"),
        }
    }
}

/// Command prefix that runs a program other than `ip` and `tc` in a namespace; empty for the root namespace.
pub(super) struct Enter<'a>(pub &'a Namespace);

impl fmt::Display for Enter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Namespace::Root => Ok(()),
            Namespace::Named(name) => write!(f, "ip netns exec {name} "),
        }
    }
}
