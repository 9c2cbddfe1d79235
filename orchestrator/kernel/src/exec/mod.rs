//! Execution: steps are made true, checked, and undone. No decisions: what to do is in the steps and
//! in the journal.

mod check;
mod error;
mod executor;
mod made;
mod message;
pub(crate) mod netns;
pub(crate) mod shared;
mod space;
mod sysctl;
mod undo;

pub use self::{
    check::Difference,
    error::{StepCause, StepError},
    undo::UndoError,
};
pub(crate) use self::{
    check::check,
    executor::{Executor, RunError},
    space::Space,
    undo::undo,
};
