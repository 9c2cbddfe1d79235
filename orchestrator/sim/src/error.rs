//! Errors of a simulation, before or during a run.

/// Reason why a plan cannot be simulated.
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
    /// Index at which the plan has no policy.
    #[error("the plan has {count} policies and no policy at index {index}")]
    NoPolicy {
        /// Index that was requested.
        index: usize,
        /// Number of policies in the plan.
        count: usize,
    },
    /// User-defined policy that is not compiled into this program.
    #[error("no user-defined policy `{name}` is compiled into this program")]
    NoOwnPolicy {
        /// Name of the requested policy.
        name: String,
    },
    /// Policy that is a switch program, which only a kernel can run.
    #[error(
        "`ebpf: {object}` is a switch program, which only a kernel can run (hint: `lcmp-lab up` runs it; for the \
         simulator write the policy in Rust, `own: {{name: …}}`)"
    )]
    SwitchProgram {
        /// Object file of the switch program.
        object: String,
    },
    /// Flow with more packets than there are sequence numbers.
    #[error(
        "flow {flow} of {bytes} B has more packets than the {} that sequence numbers can count \
         (hint: raise `transport.payload`)",
        u32::MAX
    )]
    FlowTooLong {
        flow: u32,
        /// Size of the flow in bytes.
        bytes: u64,
    },
    /// More hosts than a packet's destination field can address.
    #[error(
        "the plan has more than {} hosts, the maximum that the simulator supports",
        u16::MAX
    )]
    TooManyHosts,
    /// Inter-DC link without delay, which leaves its two datacenters no lookahead, so that they cannot be simulated in
    /// parallel.
    #[error(
        "the inter-DC link `{link}` has no delay, but the simulation of its two datacenters in parallel needs one \
         (hint: give it at least 1 ns)"
    )]
    NoDelay { link: String },
    /// Traffic engineering's linear program that could not be solved; the simulation ends.
    #[error(transparent)]
    Engineering(#[from] lab_te::TeError),
    #[error("the weights of the policy cannot be used: {0}")]
    Weights(String),
}
