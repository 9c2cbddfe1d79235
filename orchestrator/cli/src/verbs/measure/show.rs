//! Measurement of a place as a table.

use lab_plan::MeasuredLoad;
use lab_units::{
    Clock, Nanos,
    show::{about_time, commas, paragraph, sides, table},
};

use super::measurement::Measurement;

/// Returns a measurement as text: both loads, the CPU time per flow, packet and gigabyte, and the capacity.
pub fn text(measurement: &Measurement) -> String {
    let capacity = &measurement.capacity;
    let head = format!(
        "{}, Linux {}: RDMA flows that start at once, over {} links and two switches\n",
        capacity.place, measurement.kernel_release, measurement.links
    );
    let loads = &measurement.loads;
    let heads = [
        "load",
        "flows/s",
        "packets/s",
        "packets × links/s",
        "payload",
        "lab's time",
        "wall clock",
        "CPU",
    ];
    let rows = [
        heads.map(str::to_owned),
        row("one packet a flow", &loads.small, true),
        row("8 flows", &loads.bulk, false),
    ];
    let costs = costs(measurement);
    let capacity = format!("{capacity}{}", wall(measurement));
    head + &table(2, sides(1), &rows) + &costs + &paragraph("capacity: ", &capacity)
}

fn row(name: &str, load: &MeasuredLoad, is_small: bool) -> [String; 8] {
    let flows = if is_small {
        commas(load.flows_per_second())
    } else {
        "-".to_owned()
    };
    [
        name.to_owned(),
        flows,
        commas(load.packets_per_second()),
        commas(load.packet_hops_per_second()),
        load.show_rate(),
        about_time(load.lab_ns),
        about_time(load.wall_ns),
        load.cpu_ns.map_or_else(|| "-".to_owned(), about_time),
    ]
}

/// Returns the CPU time per flow, per packet on a link, and per gigabyte.
fn costs(measurement: &Measurement) -> String {
    let small = &measurement.loads.small;
    let bulk = &measurement.loads.bulk;
    let (Some(small_cpu), Some(bulk_cpu)) = (small.cpu_ns, bulk.cpu_ns) else {
        return String::new();
    };
    let each = |total: u64, count: u64| Nanos::new(total / count.max(1));
    let hop = each(bulk_cpu.get(), bulk.packet_hops);
    let packets = hop.get().saturating_mul(small.packet_hops);
    let flow = each(small_cpu.get().saturating_sub(packets), small.flows);
    let gigabyte = u128::from(bulk_cpu.get()) * 1_000_000_000 / u128::from(bulk.bytes.get().max(1));
    let gigabyte = Nanos::new(u64::try_from(gigabyte).unwrap_or(u64::MAX));
    let whose = match measurement.capacity.place {
        lab_units::Place::Here => " (of all programs of this machine)",
        _ => "",
    };
    format!(
        "CPU time{whose}: {} per flow, {} per packet and link, {} per GB\n",
        about_time(flow),
        about_time(hop),
        about_time(gigabyte)
    )
}

/// Returns the wall-clock times per flow, and per packet on a link; empty if the lab's clock is real.
fn wall(measurement: &Measurement) -> String {
    let capacity = &measurement.capacity;
    match capacity.place.clock() {
        Clock::Real => String::new(),
        Clock::Virtual => format!(
            "; wall clock: {} per flow, {} per packet and link",
            about_time(capacity.flow_wall_ns),
            about_time(capacity.hop_wall_ns)
        ),
    }
}

#[cfg(test)]
mod tests {
    use lab_plan::Capacity;
    use lab_units::{Bytes, Place};

    use super::*;
    use crate::verbs::measure::measurement::Loads;

    #[test]
    fn a_measurement_is_two_loads_their_costs_and_the_capacity() {
        let small = MeasuredLoad {
            flows: 1_744,
            data_packets: 2_000,
            packet_hops: 12_000,
            bytes: Bytes::new(8_192_000),
            lab_ns: Nanos::from_millis(1_900),
            wall_ns: Nanos::from_millis(13_000),
            cpu_ns: Some(Nanos::from_millis(1_890)),
        };
        let bulk = MeasuredLoad {
            flows: 0,
            data_packets: 12_000,
            packet_hops: 36_600,
            bytes: Bytes::new(49_152_000),
            lab_ns: Nanos::from_millis(1_050),
            wall_ns: Nanos::from_millis(7_200),
            cpu_ns: Some(Nanos::from_millis(1_040)),
        };
        let measurement = |place| Measurement {
            kernel_release: "6.1.0-48-amd64".to_owned(),
            links: 3,
            scale_for: Capacity::of(place, &small, &bulk).argument(),
            capacity: Capacity::of(place, &small, &bulk),
            loads: Loads { small, bulk },
        };
        let texts = [Place::GuestVirtual, Place::Here].map(|place| text(&measurement(place)));
        insta::assert_snapshot!(texts.join("\n"));
    }
}
