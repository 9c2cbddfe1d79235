//! Reports of synthetic runs.

mod fidelity;
mod html;
mod page;
mod readme;
mod synthetic;
mod thirteen;
