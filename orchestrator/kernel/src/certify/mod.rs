//! Certificate of a lab: before the first flow, every link direction is measured in the lab's own clock and compared
//! with the bounds for the lab's place, and every host sends to another host as its flows will.
//!
//! Frames of their own ethertype leave a port by its queueing disciplines and are read at the port at the
//! other end, so that they cross what a flow's packets cross; switch programs leave them to the kernel, which
//! has no use for them. Five small probes of each direction give the one-way delay and its spread. Then a
//! train of frames of the largest size gives the rate above the shaper's burst, loss and order, and, where
//! the queue is short enough to be filled, its limit. `README.md` has the method's own error.
//!
//! No packet filter, rule or route of the machine sees the frames of a packet socket. So hosts first send datagrams to
//! RoCE's port, each to another host, and all must reach the receiver's sockets.
//!
//! - `direction`: the directions of a plan's links, with their queues
//! - `queue`: an ideal queue, for the frames that a filled one should have taken
//! - `train`: sizes of trains, and the moments at which they leave; pure
//! - `datagram`: datagrams of hosts, by `host_socket`
//! - `loss`: where datagrams were lost, and the likely cause
//! - `socket`: packet sockets that send frames and read their arrivals
//! - `measure`: the measurement; has all effects
//! - `judge`: figures of a direction, and their bounds; pure
//! - `cause`: the likely cause of figures out of bounds; pure

mod cause;
mod datagram;
mod direction;
mod host_socket;
mod judge;
mod loss;
mod measure;
mod queue;
mod socket;
mod train;

use std::time::Duration;

use lab_units::Clock;

pub(crate) use self::{
    datagram::deliveries,
    loss::{Loss, losses},
    measure::measure,
};

/// Returns the extra wait for packets that are late.
const fn lateness(clock: Clock) -> Duration {
    match clock {
        Clock::Virtual => STRAGGLERS,
        Clock::Real => PATIENCE,
    }
}

/// Extra wait for packets on the virtual clock, on which no packet is late.
const STRAGGLERS: Duration = Duration::from_millis(100);

/// Extra wait for packets on a busy machine.
const PATIENCE: Duration = Duration::from_secs(2);
