//! Tests of link rates under faults.

use lab_records::{FaultInfo, LinkChange, LinkRates};
use lab_sample as sample;
use lab_units::{BitsPerSec, Nanos};

fn fault(millis: u64, link: &str, gbit: Option<u64>) -> FaultInfo {
    FaultInfo {
        time_ns: Nanos::from_millis(millis),
        link: link.into(),
        change: gbit.map_or(LinkChange::Down, |_| LinkChange::Changed),
        rate_bps: gbit.and_then(|gbit| BitsPerSec::new(gbit * 1_000_000_000)),
    }
}

/// At 100 Gbit/s, 1 ms carries 12.5 MB; at 10 Gbit/s, the next 11 ms carry 13.75 MB.
#[test]
fn a_fault_changes_the_rate_from_its_time_on() {
    let mut info = sample::info();
    info.links = vec![sample::link("dc1", "dc2", 100, 1)];
    info.faults = vec![
        fault(0, "dc1-dc3", Some(1)),
        fault(1, "dc1-dc2", Some(10)),
        fault(5, "dc1-dc2", None),
    ];
    let rates = LinkRates::of(&info, "dc1-dc2").expect("the link");
    let bytes = |millis| rates.capacity_until(Nanos::from_millis(millis)) / 8_000_000_000;
    assert_eq!([0, 1, 12].map(bytes), [0, 12_500_000, 26_250_000]);
    assert_eq!(LinkRates::of(&info, "dc1-dc3"), None);
}
