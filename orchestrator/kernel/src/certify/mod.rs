//! Certificate of a lab: before the first flow, every link direction is measured with the lab's own clock and compared
//! with the bounds for the lab's kind of machine, and every host sends datagrams to another host in the way its flows
//! will.
//!
//! Frames with a special ethertype leave a port through its queueing disciplines and are read at the port at the other
//! end, so that they take the same path as a flow's packets. Switch programs pass the frames on to the kernel, which
//! drops them. Five small probes of each direction give the one-way delay and its spread. Then a train of frames of the
//! largest size gives the rate after the shaper's burst, the loss, the order, and the queue's limit if the queue is
//! short enough to be filled. `README.md` states the error of the method itself.
//!
//! No packet filter, rule or route of the machine sees the frames of a packet socket. So each host first sends
//! datagrams to RoCE's port on another host, and all datagrams must reach the receiver's sockets.
//!
//! - `direction`: the directions of a plan's links, with their queues
//! - `queue`: an ideal queue, which gives the number of frames that a real queue should accept
//! - `train`: sizes of trains, and the groups in which they are sent, without I/O
//! - `datagram`: datagrams between hosts, through the sockets of `host_socket`
//! - `loss`: the places where datagrams were lost, and the likely causes
//! - `socket`: packet sockets that send frames and read their arrivals
//! - `measure`: the measurement, with all side effects
//! - `judge`: figures of a direction, and their bounds, without I/O
//! - `cause`: the likely cause of figures that are out of bounds, without I/O

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

/// Returns the extra time for which late packets are awaited under `clock`.
const fn lateness(clock: Clock) -> Duration {
    match clock {
        Clock::Virtual => STRAGGLERS,
        Clock::Real => PATIENCE,
    }
}

/// Extra time to wait for packets on the virtual clock, where packets are never late.
const STRAGGLERS: Duration = Duration::from_millis(100);

/// Extra time to wait for packets on the real clock, for the case that the machine is busy.
const PATIENCE: Duration = Duration::from_secs(2);
