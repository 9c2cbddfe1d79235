//! What the controller hands to an agent, and what the agent says.
//!
//! - [`config`][]: the agent's whole configuration, one JSON value
//! - [`validate`][]: whether it fits a switch's tables
//! - `apply`: what a command makes of it
//! - [`message`][]: JSON lines over the controller's unix socket, both ways

mod apply;
pub mod config;
pub mod message;
pub mod validate;

pub use config::{
    AgeConfig, AgentConfig, AttachMode, CandidateConfig, DestinationConfig, LocalPrefix, OwnPolicy,
    PolicyConfig, PortConfig,
};
pub use message::{
    AgentCommand, AgentMessage, Attachment, BucketRow, CandidateReport, DecisionReport,
    DemandReport, Demands, FlowReport, LinkReport, Links, PortLiveness, QueueReport, Queues, Ready,
    Stats,
};
pub use validate::AgentConfigError;
