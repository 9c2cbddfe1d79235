//! Scheduled faults: link down, link up, new link parameters, new path costs, new candidates, crashes of the agent.

use lab_plan::{AgentCrashPlan, FaultChange};

use super::Partition;
use crate::{
    cc::CongestionControl, packet::CLASSES, semantics::SemanticsRules, time::SimTime, world::World,
};

/// One change that a fault makes inside a partition.
pub(super) struct PartitionFault {
    /// Virtual time of the change.
    pub at: SimTime,
    target: FaultTarget,
}

enum FaultTarget {
    /// Change of one of the partition's ports.
    Port(u32, FaultChange),
    /// New path costs or new candidates, as an index into [`World::path_cost_updates`].
    PathCosts(usize),
    /// New transit rows, as an index into [`World::transits`].
    Transits(usize),
    /// Crash of the DCI switch's agent.
    AgentCrash,
    /// Start of the next agent.
    AgentRestart,
}

/// Returns the changes that the plan's faults make in the partition of `dc`. Of several at one instant, crashes of the agent
/// come first and restarts last.
pub(super) fn partition_faults<S: SemanticsRules, C: CongestionControl>(
    world: &World<'_, S, C>,
    dc: u32,
) -> Vec<PartitionFault> {
    let crashes = world.plan.agent_crashes.iter();
    let here: Vec<_> = crashes.filter(|crash| crash.dc.0 == dc).collect();
    let crash = |crash: &&AgentCrashPlan| PartitionFault {
        at: crash.at_ns.into(),
        target: FaultTarget::AgentCrash,
    };
    let mut faults: Vec<PartitionFault> = here.iter().map(crash).collect();
    for fault in &world.plan.faults {
        for port in [fault.link.port_a(), fault.link.port_b()] {
            let port = world.network.port(port);
            let node = world.network.ports[port as usize].node;
            if world.network.nodes[node as usize].dc == dc {
                faults.push(PartitionFault {
                    at: fault.at_ns.into(),
                    target: FaultTarget::Port(port, fault.change),
                });
            }
        }
    }
    for (index, update) in world.path_cost_updates.iter().enumerate() {
        if update.dc == dc {
            faults.push(PartitionFault {
                at: update.at,
                target: FaultTarget::PathCosts(index),
            });
        }
    }
    let later = world.transits.iter().enumerate().skip(1);
    faults.extend(later.map(|(index, (at, _))| PartitionFault {
        at: *at,
        target: FaultTarget::Transits(index),
    }));
    let restarts = here.iter().filter_map(|crash| crash.restart);
    faults.extend(restarts.map(|restart| PartitionFault {
        at: restart.at_ns.into(),
        target: FaultTarget::AgentRestart,
    }));
    faults
}

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    pub(super) fn fault_due(&mut self, index: usize) {
        let world = self.world;
        let (port, change) = match self.faults[index].target {
            FaultTarget::Port(port, change) => (port, change),
            FaultTarget::PathCosts(index) => return self.update_path_costs(index),
            FaultTarget::Transits(index) => return self.update_transits(index),
            FaultTarget::AgentCrash => return self.crash_agent(),
            FaultTarget::AgentRestart => return self.restart_agent(),
        };
        match change {
            FaultChange::Down => self.cut(port),
            FaultChange::Up => {
                // The switch program marks ports dead, but only the agent revives them.
                let is_marked_dead = self.is_agent_down();
                let restored = self.port(port);
                restored.is_up = true;
                restored.is_marked_dead |= is_marked_dead;
                self.kick(port);
            }
            FaultChange::Wire(wire) => {
                self.port(port).rewire(&wire);
                let node = self.node_of(port);
                let index = self.index_at_node(node, port);
                if let Some(monitored) = self.dci.monitored.get_mut(index) {
                    monitored.provision(world, &wire);
                }
            }
        }
    }

    /// Takes the link of `port` down. Packets that are queued, partly sent or on the wire are lost, as on an interface
    /// that goes down; when the link comes up again, it is idle.
    fn cut(&mut self, port: u32) {
        let now = self.now;
        let egress = self.port(port);
        egress.is_up = false;
        egress.busy_until = egress.busy_until.min(now);
        egress.cuts = egress.cuts.wrapping_add(1);
        egress.forget_pauses(now);
        for class in (0u8..).take(CLASSES) {
            while let Some(packet) = self.dequeue(port, class) {
                self.release_buffer(port, &packet);
                self.drop_packet(port, &packet);
            }
        }
        let node = self.node_of(port);
        let index = self.index_at_node(node, port);
        if let Some(mmu) = &mut self.mmus[(node - self.first_node) as usize] {
            mmu.forget_pauses(index);
        }
    }
}
