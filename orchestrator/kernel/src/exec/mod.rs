//! Execution: applies steps, reads the result back, and undoes the steps. All decisions are made in the steps and in
//! the journal.

mod backend;
mod check;
mod error;
mod executor;
mod inventory;
pub(crate) mod netns;
mod processes;
pub(crate) mod shared;
mod undo;

pub use self::{
    check::Drift,
    error::{StepCause, StepError, UndoError},
};
pub(crate) use self::{
    check::check,
    executor::{ApplyError, Executor},
    netns::NetnsHandle,
    undo::undo,
};
