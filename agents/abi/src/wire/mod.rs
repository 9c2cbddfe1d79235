//! Configuration of an agent, and the messages between agent and controller.
//!
//! - [`config`][]: the whole configuration of an agent, one JSON value
//! - [`validate`][]: checks that a configuration fits a switch's tables
//! - `apply`: effect of a command on a configuration
//! - [`message`][]: JSON lines in both directions over the controller's unix socket

mod apply;
pub mod config;
pub mod message;
pub mod validate;

pub use config::{
    ActorConfig, AgentConfig, AttachMode, CandidateConfig, DestinationConfig, EcnConfig,
    HeadConfig, IngressConfig, LocalPrefix, OwnPolicy, PolicyConfig, PortConfig,
    SharedBufferConfig, SizeThresholdConfig, TransitConfig,
};
pub use message::{
    AgentCommand, AgentMessage, Attachment, BucketRow, CandidateReport, DecisionReport,
    DemandReport, Demands, FlowReport, LinkReport, LinkReports, PortLiveness, QueueReport, Queues,
    Ready, Splits, Stats,
};
pub use validate::{AgentConfigError, ValidAgentConfig};
