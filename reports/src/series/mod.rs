//! Quantities over time, each declared once: the figures and the page draw the same series.

mod of_run;
mod values;

pub use of_run::{
    Quantity, Unit, again, drops, fault_marks, finished, marks, paused, queues, started, under_way,
    utilisation,
};
pub use values::{Line, Series, largest, mean, sum, total};
