//! Errors of a simulation.

/// Error of a simulation.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SimError {
    /// A switch has no route to a host.
    #[error("`{node}` has no route to `{host}`")]
    NoRoute {
        /// Name of the switch.
        node: String,
        /// Name of the host.
        host: String,
    },
    /// The plan has no policy with this index.
    #[error("the plan has {count} policies and no policy at index {index}")]
    NoPolicy {
        /// Requested index.
        index: usize,
        /// Number of policies.
        count: usize,
    },
    /// The program contains no user-defined policy with this name.
    #[error("no policy `{name}` is compiled in")]
    NoOwnPolicy {
        /// Requested name.
        name: String,
    },
    /// The policy is a switch program, which only a kernel can run.
    #[error(
        "`ebpf: {object}` is a program for switches of a kernel (hint: `lcmp-lab up` runs it; for the \
         simulator write the policy in Rust, `own: {{name: …}}`)"
    )]
    SwitchProgram {
        /// Object file of the program.
        object: String,
    },
    /// A flow needs more packets than sequence numbers can count.
    #[error(
        "flow {flow} of {bytes} B has more packets than the {} that sequence numbers can count \
         (hint: a larger `transport.payload`)",
        u32::MAX
    )]
    FlowTooLong {
        flow: u32,
        /// Size of the flow in bytes.
        bytes: u64,
    },
    /// The network has more hosts than a packet can address.
    #[error("there are more than {} hosts", u16::MAX)]
    TooManyHosts,
    /// An inter-DC link without delay leaves no lookahead.
    #[error(
        "the inter-DC link `{link}` has no delay, and the datacenters at its ends are simulated \
         apart by that delay (hint: give it at least 1 ns)"
    )]
    NoDelay { link: String },
    /// The optimisation program of traffic engineering has no solution, which ended the simulation.
    #[error(transparent)]
    Engineering(#[from] lab_te::TeError),
}
