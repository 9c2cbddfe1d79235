//! What the controller hands to an agent, and what the agent says.
//!
//! - [`config`][]: the agent's whole configuration, one JSON value
//! - [`validate`][]: whether it fits a switch's tables
//! - [`message`][]: JSON lines over the controller's unix socket, both ways
//! - [`mac`][]: Ethernet addresses

pub mod config;
pub mod mac;
pub mod message;
pub mod validate;

pub use config::{
    AgentConfig, AttachMode, CandidateConfig, DestinationConfig, PolicyConfig, PortConfig,
};
pub use mac::MacAddr;
pub use message::{
    AgentCommand, AgentMessage, Attachment, CandidateReport, DecisionReport, FlowReport,
    LinkReport, Links, PortLiveness, QueueReport, Queues, Ready, Stats,
};
pub use validate::AgentConfigError;
