//! The netlink message of a step.

use rtnetlink::{
    packet_core::{NLM_F_CREATE, NLM_F_EXCL},
    packet_route::RouteNetlinkMessage,
};

use super::{StepCause, space::Space};
use crate::{
    netlink::{Batch, route, tc},
    step::Step,
};

/// Adds the one message of a step that is done by a message in its own namespace.
pub(super) fn message(space: &mut Space, step: &Step, batch: &mut Batch) -> Result<(), StepCause> {
    let mut index = |dev: &str| -> Result<u32, StepCause> {
        let dev_is = || StepCause::NoInterface { dev: dev.into() };
        space.interface(dev)?.ok_or_else(dev_is)
    };
    let (message, flags) = match step {
        Step::LinkUp { dev, .. } => (route::link_up(index(dev)?, true), 0),
        Step::LinkDown { dev, .. } => (route::link_up(index(dev)?, false), 0),
        Step::Address { dev, addr, .. } => (route::address(index(dev)?, *addr), CREATE),
        Step::Neighbour { dev, addr, mac, .. } => {
            (route::neighbour(index(dev)?, *addr, *mac), CREATE)
        }
        Step::NotLocal { dev, addr, .. } => (route::not_local(index(dev)?, *addr), 0),
        Step::Route(route) => {
            for dev in route.devs() {
                index(dev)?;
            }
            let message = route::route(route, &space.interfaces);
            let missing = |dev: &str| StepCause::NoInterface { dev: dev.into() };
            (message.map_err(missing)?, CREATE)
        }
        Step::Rule(rule) => {
            let message = RouteNetlinkMessage::NewRule(route::rule(rule));
            (message, CREATE)
        }
        Step::Qdisc(at) => {
            tc::add(batch, index(&at.dev)?, at.parent, at.handle, &at.qdisc);
            return Ok(());
        }
        Step::QdiscChange(at) => {
            tc::change(batch, index(&at.dev)?, at.parent, at.handle, &at.qdisc);
            return Ok(());
        }
        Step::Redirect { from, to, .. } => {
            tc::redirect(batch, index(from)?, index(to)?);
            return Ok(());
        }
        Step::Netns { .. }
        | Step::Sysctl { .. }
        | Step::SharedSysctl { .. }
        | Step::Veth(_)
        | Step::Offloads { .. }
        | Step::Rxe { .. }
        | Step::Rps { .. } => return Ok(()),
    };
    batch.route(&message, flags);
    Ok(())
}

/// What is made is new.
pub(super) const CREATE: u16 = NLM_F_CREATE | NLM_F_EXCL;
