//! Certificate of a lab's links: every direction is measured in the lab's own clock before the first flow,
//! and held to the bounds of the lab's place.
//!
//! Frames of their own ethertype leave a port by its queueing disciplines and are read at the port at the
//! other end, so that they cross what a flow's packets cross; switch programs leave them to the kernel, which
//! has no use for them. Five small probes of each direction give the one-way delay and its spread. Then a
//! train of frames of the largest size gives the rate above the shaper's burst, loss and order, and, where
//! the queue is short enough to be filled, its limit. `README.md` has the method's own error.
//!
//! - `direction`: the directions of a plan's links, with their queues
//! - `queue`: an ideal queue, for the frames that a filled one should have taken
//! - `train`: sizes of trains, and the moments at which they leave; pure
//! - `socket`: packet sockets that send frames and read their arrivals
//! - `measure`: the measurement; has all effects
//! - `judge`: figures of a direction, and their bounds; pure
//! - `cause`: the likely cause of figures out of bounds; pure

mod cause;
mod direction;
mod judge;
mod measure;
mod queue;
mod socket;
mod train;

pub(crate) use measure::measure;
