//! Errors of a simulation.

/// Error of a simulation.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SimError {
    /// The plan's routes do not lead everywhere.
    #[error("`{node}` has no route to `{host}`")]
    NoRoute {
        /// Where the packet is.
        node: String,
        /// Where it is to go.
        host: String,
    },
    /// No policy of that place.
    #[error("the plan has {count} policies, there is none at {index}")]
    NoPolicy {
        /// What was asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A policy of the user's own that this program does not have.
    #[error("no policy `{name}` is compiled in")]
    NoOwnPolicy {
        /// What was asked for.
        name: String,
    },
    /// A policy that is a switch program.
    #[error(
        "`{object}` is a program for switches of a kernel (hint: `lcmp-lab up` runs it; for the \
         simulator write the policy in Rust, `own: {{name: …}}`)"
    )]
    SwitchProgram {
        /// Its object.
        object: String,
    },
    /// A flow needs more packets than a sequence number counts.
    #[error(
        "flow {flow} of {bytes} B has more packets than the {} a sequence number counts \
         (hint: a larger `transport.payload`)",
        u32::MAX
    )]
    FlowTooLong {
        /// Which.
        flow: u32,
        /// Its size.
        bytes: u64,
    },
    /// More hosts than packets can name.
    #[error("there are more than {} hosts", u16::MAX)]
    TooManyHosts,
    /// The next window of virtual time would be empty.
    #[error(
        "the inter-DC link `{link}` has no delay, and the datacenters at its ends are simulated \
         apart by that delay (hint: give it at least 1 ns)"
    )]
    NoDelay {
        /// Which.
        link: String,
    },
    /// The program of traffic engineering has no solution; the simulation ended there.
    #[error(transparent)]
    Engineering(#[from] lab_te::TeError),
}
