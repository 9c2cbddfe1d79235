//! Reports of made-up runs.

mod html;
mod page;
mod synthetic;
mod thirteen;
