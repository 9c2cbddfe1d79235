//! Verbs of the command line, one module for each group.

pub mod account;
pub mod artifact;
pub mod bench;
pub mod bundle;
pub mod check;
pub mod compare;
pub mod conclude;
pub mod coverage;
pub mod doctor;
pub mod explain;
pub mod fidelity;
pub mod inspect;
pub mod labs;
pub mod measure;
pub mod pages;
pub mod regress;
pub mod reproduce;
pub mod runs;
pub mod scenarios;
pub mod sim;
pub mod store;
pub mod topologies;
pub mod train;
pub mod up;
pub mod validate;
pub mod verify;
