//! Flows written down one by one.

use lab_units::{Bytes, Nanos};

use super::{context::Context, topology::Network};
use crate::{
    error::ProblemKind,
    limits,
    model::FlowSpec,
    raw,
    yaml::{At, Text},
};

/// Resolves a list of flows.
pub(super) fn flows(
    context: &mut Context<'_>,
    network: &Network,
    raw: &At<Vec<raw::Flow>>,
) -> Vec<FlowSpec> {
    context.count(&raw.range, raw.value.len(), 1..=limits::MAX_FLOWS);
    raw.value
        .iter()
        .map(|raw| flow(context, network, raw))
        .collect()
}

fn flow(context: &mut Context<'_>, network: &Network, raw: &raw::Flow) -> FlowSpec {
    let ends = [&raw.from, &raw.to].map(|text| host_dc(context, network, text));
    if let [Some(from), Some(to)] = ends
        && from == to
    {
        let dc = network.name(from).to_owned();
        context.problem(&raw.to.range(), ProblemKind::SameDc { dc });
    }
    let size = context.within(&raw.size, Bytes::new(1)..=limits::MAX_FLOW_SIZE);
    let starts = Nanos::ZERO..=limits::MAX_DURATION;
    FlowSpec {
        from: raw.from.as_str().to_owned(),
        to: raw.to.as_str().to_owned(),
        size: size.unwrap_or(Bytes::ZERO),
        start: context.within_or(&raw.start, starts, Nanos::ZERO),
    }
}

/// The position of the datacenter a host is in; `None` if there is no such host.
fn host_dc(context: &mut Context<'_>, network: &Network, text: &Text<String>) -> Option<usize> {
    let found = text.as_str();
    let Some((dc, number)) = found.split_once('/') else {
        let found = found.to_owned();
        context.problem(&text.range(), ProblemKind::NotAHost { found });
        return None;
    };
    let index = network.dc_called(context, dc, &text.range())?;
    let digits = number.strip_prefix('h').unwrap_or_default();
    let plain = !digits.starts_with(['0', '+']);
    let Some(number) = digits.parse::<u64>().ok().filter(|_| plain) else {
        let found = found.to_owned();
        context.problem(&text.range(), ProblemKind::NotAHost { found });
        return None;
    };
    if let Some(hosts) = network.hosts(index)
        && number > hosts
    {
        let kind = ProblemKind::UnknownHost {
            host: found.to_owned(),
            dc: dc.to_owned(),
            hosts,
        };
        context.problem(&text.range(), kind);
        return None;
    }
    Some(index)
}
