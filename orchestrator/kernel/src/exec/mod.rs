//! Execution: applies steps, reads the result back, and undoes it. Execution decides nothing: the
//! steps and the journal say what to do.

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
    check::Difference,
    error::{StepCause, StepError, UndoError},
};
pub(crate) use self::{
    check::check,
    executor::{ApplyError, Executor},
    netns::NetnsHandle,
    undo::undo,
};
