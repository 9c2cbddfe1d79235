//! What the controller hands to an agent, and what the agent says.
//!
//! - [`config`][]: the agent's whole configuration, one JSON value
//! - [`message`][]: JSON lines over the controller's unix socket, both ways
//! - [`mac`][]: Ethernet addresses

pub mod config;
pub mod mac;
pub mod message;

pub use config::{
    AgentConfig, AgentConfigError, AttachMode, CandidateConfig, DestinationConfig, PolicyConfig,
    PortConfig,
};
pub use mac::MacAddr;
pub use message::{
    AgentCommand, AgentMessage, Attachment, CandidateReport, DecisionReport, FlowReport,
    PortLiveness, QueueReport, Queues, Ready, Stats,
};
