//! One file for each group of verbs.

pub mod account;
pub mod artifact;
pub mod bench;
pub mod doctor;
pub mod explain;
pub mod flow;
pub mod inspect;
pub mod labs;
pub mod provision;
pub mod report;
pub mod sim;
pub mod switchd;
pub mod up;
pub mod validate;
