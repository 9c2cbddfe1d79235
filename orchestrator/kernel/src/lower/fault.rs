//! Lowering of faults to steps that change a link while flows run.

use std::collections::BTreeSet;

use lab_plan::model::{FaultChange, FaultPlan, LinkKind, Plan, WirePlan};
use lab_units::{LinkId, PortId};

use super::{Layout, LowerOptions, link};
use crate::step::{DeviceChange, QdiscAt, Step};

/// Reason why a fault cannot be translated into kernel steps.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum FaultError {
    #[error(
        "link `{link}` is inside a datacenter, but faults are possible only on links between datacenters"
    )]
    InsideDc { link: String },
}

/// Returns the steps that inject `fault` while flows run.
///
/// A link is cut in the middle, in its fiber: as with a real cable, both DCI switches lose the carrier, but they keep
/// their addresses, neighbours and routes. Packets in flight are lost.
pub fn lower_fault(
    plan: &Plan,
    options: &LowerOptions,
    fault: &FaultPlan,
) -> Result<Vec<Step>, FaultError> {
    let layout = Layout::new(plan, options);
    let link = layout.link(fault.link);
    if link.kind != LinkKind::InterDc {
        return Err(FaultError::InsideDc {
            link: link.name.clone(),
        });
    }
    let ports = [fault.link.port_a(), fault.link.port_b()];
    let netns = layout.fiber();
    let cables = |change: DeviceChange| {
        let step = |port| Step::device(&netns, &layout.fiber_dev(port), change.clone());
        ports.map(step).into()
    };
    Ok(match fault.change {
        FaultChange::Down => cables(DeviceChange::Down),
        FaultChange::Up => cables(DeviceChange::Up),
        FaultChange::Wire(wire) => {
            let before = plan.wires().after(fault.link, |other| other != fault);
            changed_qdiscs(&layout, fault.link, before, &wire)
        }
    })
}

/// Returns the steps that restore every link that the plan's faults change. They are applied before the next run, and
/// undo all faults, injected or not, because a run may end before its last fault.
#[must_use]
pub fn lower_repair(plan: &Plan, options: &LowerOptions) -> Vec<Step> {
    let layout = Layout::new(plan, options);
    let faulty: BTreeSet<LinkId> = plan.faults.iter().map(|fault| fault.link).collect();
    let mut steps = Vec::new();
    for id in faulty {
        let link = layout.link(id);
        if link.kind != LinkKind::InterDc {
            continue;
        }
        if plan.wires().of(id).count() > 1 {
            let qdiscs = qdiscs(&layout, id, &link.emu);
            steps.extend(qdiscs.into_iter().map(Step::QdiscChange));
        }
        let up = |port| Step::device(&layout.fiber(), &layout.fiber_dev(port), DeviceChange::Up);
        steps.extend([id.port_a(), id.port_b()].map(up));
    }
    steps
}

/// Returns the steps for a plan's interfaces and queues, with the parameters that result from the injected `faults`.
/// The steps are compared with the kernel's state after flows have run.
///
/// # Errors
/// If a fault is on a link inside a datacenter.
pub(crate) fn lower_after(
    plan: &Plan,
    options: &LowerOptions,
    faults: &[FaultPlan],
) -> Result<Vec<Step>, FaultError> {
    let mut steps = super::lower(plan, options);
    steps.retain(|step| match step {
        Step::Veth(_) | Step::Qdisc(_) => true,
        Step::Device { change, .. } => {
            matches!(change, DeviceChange::Up | DeviceChange::Redirect(_))
        }
        _ => false,
    });
    let mut cut = BTreeSet::new();
    for fault in faults {
        match fault.change {
            FaultChange::Down => drop(cut.insert(fault.link)),
            FaultChange::Up => drop(cut.remove(&fault.link)),
            FaultChange::Wire(_) => {
                for changed in lower_fault(plan, options, fault)? {
                    replace(&mut steps, changed);
                }
            }
        }
    }
    let layout = Layout::new(plan, options);
    let ports = cut.iter().flat_map(|link| [link.port_a(), link.port_b()]);
    let without_carrier: BTreeSet<String> = ports
        .flat_map(|port| [layout.port(port).interface.clone(), layout.fiber_dev(port)])
        .collect();
    steps.retain(|step| match step {
        Step::Device { dev, change, .. } => {
            *change != DeviceChange::Up || !without_carrier.contains(dev)
        }
        _ => true,
    });
    Ok(steps)
}

/// Replaces the parameters of the queueing discipline that the step `changed` configures.
fn replace(steps: &mut [Step], changed: Step) {
    let Step::QdiscChange(after) = changed else {
        return;
    };
    for step in steps {
        if let Step::Qdisc(at) = step
            && (&at.netns, &at.dev, at.parent) == (&after.netns, &after.dev, after.parent)
        {
            at.qdisc = after.qdisc;
        }
    }
}

/// Returns change steps for those disciplines of a link whose parameters differ between `before` and `after`. Unchanged
/// disciplines get no step, because any change empties `red`'s queue.
fn changed_qdiscs(
    layout: &Layout<'_>,
    id: LinkId,
    before: &WirePlan,
    after: &WirePlan,
) -> Vec<Step> {
    let before = qdiscs(layout, id, before);
    let mut after = qdiscs(layout, id, after);
    after.retain(|at| !before.contains(at));
    after.into_iter().map(Step::QdiscChange).collect()
}

/// Returns the queueing disciplines of a link with the parameters `wire`.
fn qdiscs(layout: &Layout<'_>, id: LinkId, wire: &WirePlan) -> Vec<QdiscAt> {
    let mut link = layout.link(id).clone();
    link.emu = *wire;
    let of_port = |port: PortId| {
        let node = layout.node(layout.port(port).node);
        let netns = layout.netns(node);
        let dev = &layout.port(port).interface;
        link::egress(layout, &netns, dev, &link, node)
            .chain(link::fiber_line(layout, port, wire))
            .collect::<Vec<_>>()
    };
    [id.port_a(), id.port_b()].map(of_port).concat()
}
