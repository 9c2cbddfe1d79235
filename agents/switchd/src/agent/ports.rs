//! Which ports are alive.

use lab_abi::wire::{AgentMessage, PortLiveness};
use lab_units::PortId;

use super::Agent;
use crate::{SwitchdError, clock::now, controller::Controller, links::interfaces};

/// Why a port is alive or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortHealth {
    /// Whether its link is up at both ends.
    pub(super) is_link_up: bool,
    /// Whether the controller has not taken it out.
    pub(super) is_enabled: bool,
}

impl PortHealth {
    /// Whether flows may use it.
    pub(super) const fn is_alive(self) -> bool {
        self.is_link_up && self.is_enabled
    }
}

impl Agent {
    /// Takes a port out, or back in.
    pub(super) fn set_port(
        &mut self,
        port: PortId,
        is_enabled: bool,
        controller: &mut Controller,
    ) -> Result<(), SwitchdError> {
        let Some(slot) = self.slots.of(port) else {
            return Ok(());
        };
        let health = PortHealth {
            is_enabled,
            ..self.ports[slot]
        };
        self.set_health(slot, health, controller)
    }

    /// Reads what the links are now.
    pub(super) fn refresh_links(
        &mut self,
        controller: &mut Controller,
    ) -> Result<(), SwitchdError> {
        let up = interfaces()?;
        for slot in 0..self.ports.len() {
            let interface = &self.config.ports[slot].interface;
            let health = PortHealth {
                is_link_up: up.get(interface).copied().unwrap_or(false),
                ..self.ports[slot]
            };
            self.set_health(slot, health, controller)?;
        }
        Ok(())
    }

    /// Publishes a port's liveness to the program first, then to the controller.
    fn set_health(
        &mut self,
        slot: usize,
        health: PortHealth,
        controller: &mut Controller,
    ) -> Result<(), SwitchdError> {
        let was_alive = self.ports[slot].is_alive();
        self.ports[slot] = health;
        let is_alive = health.is_alive();
        if is_alive == was_alive {
            return Ok(());
        }
        let levels = self.sampler.levels_of(slot);
        self.program.table.set_port(slot, levels, is_alive);
        controller.send(&AgentMessage::PortState(PortLiveness {
            time_ns: now()?.get(),
            port: self.config.ports[slot].id,
            is_alive,
        }));
        Ok(())
    }
}
