//! Measurement of all links in a lab that is up.

use std::{
    io,
    os::fd::AsFd,
    thread::sleep,
    time::{Duration, Instant},
};

use lab_records::{CertifiedRow, LinkBounds};
use lab_units::{Clock, PortId};
use rtnetlink::packet_route::link::Stats64;
use tokio_util::sync::CancellationToken;

use super::{
    PATIENCE,
    cause::{self, Disturbance},
    datagram,
    direction::{LinkDirection, directions},
    judge::{self, Sent},
    lateness,
    loss::{self, Loss},
    socket::{Arrival, ProbeSocket, now},
    train::{self, Train},
};
use crate::{
    clocks::Clocks,
    connections::{self, Connections},
    exec::netns,
    lab::{Lab, LabErrorKind},
    lower::{HostPlacement, Layout},
};

/// Sends datagrams from every host in `lab`, measures both directions of every link, and compares them with `bounds`.
///
/// # Errors
/// If a socket cannot be opened, packet filters cannot track enough connections, or the caller cancels.
pub(crate) fn measure(
    lab: &mut Lab,
    bounds: &LinkBounds,
    cancel: &CancellationToken,
) -> Result<Vec<CertifiedRow>, LabErrorKind> {
    let plan = lab.plan().clone();
    let options = lab.options().clone();
    let layout = Layout::new(&plan, &options);
    let directions = directions(&layout);
    if directions.is_empty() {
        return Ok(Vec::new());
    }
    let clocks = Clocks::read()?;
    let deliveries = datagram::deliveries(lab, cancel)?;
    let losses = loss::losses(lab, &deliveries)?;
    // The hosts have just sent datagrams, so if connections are tracked at all, those of the datagrams are listed now.
    if options.hosts == HostPlacement::RootNamespace
        && let Some(tracked) = Connections::read()
    {
        tracked.check(connections::flows(&plan))?;
    }
    let before = tx_packets(lab, &layout)?;
    let mut bench = Measurement {
        sockets: open(lab, &layout)?,
        sent: vec![Sent::default(); directions.len()],
        latest: Duration::ZERO,
        cancel,
    };
    // The kernel begins to stamp arrivals shortly after the first socket has requested time stamps.
    sleep(STAMPING);
    bench.send_probes(&directions)?;
    bench.send_trains(&directions, &train::trains(&directions))?;
    let arrivals = bench.receive(&directions, options.clock)?;
    let machine = Disturbance {
        latest: bench.latest,
        clock: clock_error(&clocks, &Clocks::read()?),
    };
    let mut sent = bench.sent;
    let after = tx_packets(lab, &layout)?;
    for (direction, sent) in directions.iter().zip(&mut sent) {
        let port = direction.from.index();
        let all = after[port].saturating_sub(before[port]);
        sent.foreign = all.saturating_sub(u64::try_from(sent.len()).unwrap_or(u64::MAX));
    }
    let figures = directions.iter().zip(sent.iter().zip(&arrivals));
    let row = |(direction, (sent, arrivals)): (_, (_, &Vec<Arrival>))| {
        judge::certify(direction, sent, arrivals, bounds)
    };
    let mut rows: Vec<CertifiedRow> = figures.map(row).collect();
    cause::explain(&mut rows, &machine);
    for loss in &losses {
        let is_at = |direction: &LinkDirection<'_>| {
            if loss.is_sent {
                direction.from == loss.port
            } else {
                direction.to == loss.port
            }
        };
        let at = directions.iter().position(is_at);
        if let Some(row) = at.and_then(|at| rows.get_mut(at)) {
            add(row, loss);
        }
    }
    Ok(rows)
}

/// Adds a loss of a host's datagrams to the problem of the host's link.
fn add(row: &mut CertifiedRow, loss: &Loss) {
    row.problem = Some(match row.problem.take() {
        Some(problem) => format!("{problem}; {loss}"),
        None => loss.to_string(),
    });
}

/// Measurement that is in progress.
struct Measurement<'a> {
    /// Sockets of all ports, in the order of the ports' numbers.
    sockets: Vec<ProbeSocket>,
    /// Frames that the queue of each link direction has accepted.
    sent: Vec<Sent>,
    /// Maximum lateness of the measurement's wake-ups so far.
    latest: Duration,
    cancel: &'a CancellationToken,
}

impl Measurement<'_> {
    /// Sends the probes of all link directions one after the other, so that no probe waits for another probe: at a slow
    /// link, not for the previous one either.
    fn send_probes(&mut self, directions: &[LinkDirection<'_>]) -> Result<(), LabErrorKind> {
        let slowest = train::longest_probe(directions);
        let mut slot = Instant::now();
        for sequence in 0..PROBES {
            let next_round = slot + slowest + SLOT;
            for (index, direction) in directions.iter().enumerate() {
                self.sleep_until(slot)?;
                slot = slot.max(Instant::now()) + SLOT;
                let at = self.sockets[direction.from.index()].send(sequence, false);
                // A frame that cannot be sent, for example because its interface is down, counts as lost.
                let at = at.ok().flatten();
                self.sent[index].probes.push(at.map_or_else(now, Ok)?);
            }
            slot = slot.max(next_round);
        }
        Ok(())
    }

    /// Sends the trains, as many of them at the same time as one CPU can handle.
    fn send_trains(
        &mut self,
        directions: &[LinkDirection<'_>],
        trains: &[Train],
    ) -> Result<(), LabErrorKind> {
        for group in train::groups(directions) {
            let mut end = Instant::now();
            for index in group {
                let direction = &directions[index];
                let train = &trains[index];
                self.send_train(index, direction, train)?;
                let frames = self.sent[index].train.len();
                let frames = u64::try_from(frames).unwrap_or(u64::MAX);
                end = end.max(Instant::now() + train::serialisation(direction, frames));
            }
            self.sleep_until(end)?;
        }
        Ok(())
    }

    /// Sends a train. If the queue is too short for the train, the remaining frames are sent as the queue empties.
    fn send_train(
        &mut self,
        index: usize,
        direction: &LinkDirection<'_>,
        train: &Train,
    ) -> Result<(), LabErrorKind> {
        let socket = &mut self.sockets[direction.from.index()];
        let sent = &mut self.sent[index];
        sent.is_fill = train.fill.is_some();
        let is_done = |sent: &Sent| {
            let taken = u64::try_from(sent.train.len()).unwrap_or(u64::MAX);
            let is_enough = taken >= train.frames;
            match train.fill {
                Some(most) => is_enough && (sent.refused.is_some() || taken >= most),
                None => is_enough,
            }
        };
        let give_up = Instant::now() + PATIENCE + 4 * train::serialisation(direction, train.frames);
        let mut sequence = PROBES;
        while !is_done(sent) && Instant::now() < give_up {
            if self.cancel.is_cancelled() {
                return Err(LabErrorKind::Cancelled);
            }
            match socket.send(sequence, true) {
                Ok(Some(at)) => {
                    sent.train.push(at);
                    sequence += 1;
                }
                Ok(None) => {
                    let taken = sent.train.len();
                    sent.refused.get_or_insert((now()?, taken));
                    sleep(train::serialisation(direction, 1));
                }
                // The interface is down or refuses frames of this size, so the whole train counts as lost.
                Err(error) => {
                    tracing::debug!(link = direction.link.name, %error, "cannot send a train of frames");
                    let lost = usize::try_from(train.frames).unwrap_or(usize::MAX);
                    sent.train.resize(lost, now()?);
                }
            }
        }
        Ok(())
    }

    /// Waits until all frames have arrived or the time of the latest possible arrival has passed; returns the arrivals
    /// of each link direction.
    fn receive(
        &mut self,
        directions: &[LinkDirection<'_>],
        clock: Clock,
    ) -> Result<Vec<Vec<Arrival>>, LabErrorKind> {
        let delays = directions.iter().map(|it| it.wire().delay_ns.to_duration());
        let last = Instant::now() + delays.max().unwrap_or_default();
        let give_up = last + lateness(clock);
        let mut arrivals = vec![Vec::new(); directions.len()];
        let mut next = last;
        loop {
            self.sleep_until(next)?;
            next = Instant::now() + POLL;
            let mut is_complete = true;
            for (index, direction) in directions.iter().enumerate() {
                self.sockets[direction.to.index()].receive(&mut arrivals[index])?;
                is_complete &= arrivals[index].len() >= self.sent[index].len();
            }
            if is_complete || Instant::now() >= give_up {
                return Ok(arrivals);
            }
        }
    }

    /// Sleeps until `wake`, checks for a cancellation at least every [`STEP`], and records the lateness of the wake-up.
    fn sleep_until(&mut self, wake: Instant) -> Result<(), LabErrorKind> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(LabErrorKind::Cancelled);
            }
            let left = wake.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            sleep(left.min(STEP));
            if left <= STEP {
                self.latest = self.latest.max(wake.elapsed());
            }
        }
    }
}

/// Opens a socket on every port, in the order of the ports' numbers.
fn open(lab: &mut Lab, layout: &Layout<'_>) -> Result<Vec<ProbeSocket>, LabErrorKind> {
    let executor = lab.executor()?;
    let ports = (0..).map(PortId).take(layout.plan.ports.len());
    let socket = |id: PortId| {
        let port = layout.port(id);
        let peer = layout.port(id.peer());
        let netns = layout.port_netns(id);
        let gone =
            || io::Error::other(format!("interface `{}` in {netns} is gone", port.interface));
        let handle = executor.handle(&netns).ok_or_else(gone)?;
        let index = handle.interface(&port.interface)?.ok_or_else(gone)?;
        let open = || ProbeSocket::open(index, [port.mac, peer.mac], layout.frame());
        Ok(netns::inside(handle.as_fd(), open)??)
    };
    ports.map(socket).collect()
}

/// Returns the number of packets that each port has sent, in the order of the ports' numbers.
fn tx_packets(lab: &mut Lab, layout: &Layout<'_>) -> Result<Vec<u64>, LabErrorKind> {
    let mut packets = vec![0; layout.plan.ports.len()];
    for (node, id) in layout.nodes().zip((0..).map(lab_units::NodeId)) {
        let counters: Vec<Stats64> = lab.counters(id)?;
        for (port, stats) in node.ports.iter().zip(counters) {
            packets[port.index()] = stats.tx_packets;
        }
    }
    Ok(packets)
}

/// Returns a description of the clocks' error between two readings, which is a wrong rate or a jump; `None` without an
/// error.
fn clock_error(before: &Clocks, after: &Clocks) -> Option<String> {
    let span = after.monotonic.saturating_sub(before.monotonic);
    let drift = after.drift_since(before);
    if drift > (span / MAX_DRIFT).max(MAX_JUMP) {
        let drift = drift / 1_000;
        let span = span / 1_000;
        return Some(format!(
            "the monotonic clock deviated from the hardware clock by {drift} µs in {span} µs, bound 0.1 % \
             (likely cause: a clock that is being corrected, or faulty hardware)"
        ));
    }
    let jump = after.jump_since(before);
    (jump > MAX_JUMP).then(|| {
        format!(
            "the wall clock jumped by {} µs while links were measured, bound {} µs (likely cause: the \
             clock was set)",
            jump / 1_000,
            MAX_JUMP / 1_000
        )
    })
}

/// Number of delay probes in each link direction.
const PROBES: u32 = 5;

/// Time between two probes. If all delays are whole multiples of this time, as delays in whole milliseconds are, no two
/// probes arrive less than this time apart.
const SLOT: Duration = Duration::from_micros(250);

/// Time to wait until the kernel stamps arrivals; a kernel worker enables the stamping asynchronously.
const STAMPING: Duration = Duration::from_millis(20);

/// Time between two readings of the arrivals.
const POLL: Duration = Duration::from_millis(5);

/// Maximum time between two checks for a cancellation.
const STEP: Duration = Duration::from_millis(200);

/// Inverse of the maximum relative error of a clock's rate: 1/1,000. NTP changes the rate by at most half of this.
const MAX_DRIFT: u64 = 1_000;

/// Maximum apparent jump of a clock, ns. The clocks are read one after the other, so a small jump may be an artefact.
const MAX_JUMP: u64 = 200_000;
