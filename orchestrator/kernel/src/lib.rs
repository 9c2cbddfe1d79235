//! Kernel engine: lowers a Plan to steps, makes them true on Linux, runs flows, undoes everything.

pub mod lower;
pub mod name;
pub mod step;
#[cfg(test)]
mod testing;
