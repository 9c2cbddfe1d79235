//! Certificate of a lab: before the first flow, every link direction is measured in the lab's own clock and compared
//! with the bounds for the lab's kind of machine, and every host sends datagrams to another host as its flows will.
//!
//! Frames with a special ethertype leave a port through its queueing disciplines and are read at the port at the
//! other end, so that they pass everything that a flow's packets pass; switch programs pass the frames on to the
//! kernel, which drops them. Five small probes of each direction give the one-way delay and its spread. Then a train of
//! frames of the largest size gives the rate above the shaper's burst, loss and order, and, where the queue is short
//! enough to be filled, its limit. `README.md` gives the error of the method itself.
//!
//! No packet filter, rule or route of the machine sees the frames of a packet socket. So each host first sends
//! datagrams to RoCE's port on another host, and all must reach the receiver's sockets.
//!
//! - `direction`: the directions of a plan's links, with their queues
//! - `queue`: an ideal queue, which gives the number of frames that a real queue should accept
//! - `train`: sizes of trains, and the moments at which they leave; pure
//! - `datagram`: datagrams between hosts, through the sockets of `host_socket`
//! - `loss`: where datagrams were lost, and the likely cause
//! - `socket`: packet sockets that send frames and read their arrivals
//! - `measure`: the measurement; has all side effects
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

/// Returns the extra time to wait for late packets.
const fn lateness(clock: Clock) -> Duration {
    match clock {
        Clock::Virtual => STRAGGLERS,
        Clock::Real => PATIENCE,
    }
}

/// Extra time to wait on the virtual clock, where packets are never late.
const STRAGGLERS: Duration = Duration::from_millis(100);

/// Extra time to wait on the real clock, for a busy machine.
const PATIENCE: Duration = Duration::from_secs(2);
