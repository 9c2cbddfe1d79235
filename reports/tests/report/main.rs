//! Tests of reports on synthetic runs.

mod fidelity;
mod html;
mod layout;
mod page;
mod readme;
mod synthetic;
mod thirteen;
mod verdict;
