//! Reports of synthetic runs.

mod html;
mod page;
mod readme;
mod synthetic;
mod thirteen;
