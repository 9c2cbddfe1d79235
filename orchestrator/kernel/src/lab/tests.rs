//! Labs on this machine. They need root, and no more of the kernel than namespaces, veth and tbf.

use std::sync::Mutex;

use nix::unistd::Uid;
use tokio_util::sync::CancellationToken;

use super::{Claim, Lab, Live, Progress, down, status};
use crate::{
    journal::LabState,
    lower::{Clock, HostPlacement, LowerOptions},
    name::LabName,
    testing,
};

/// Labs share the machine's slots and sysctls: one test at a time, so that what a test sees of the
/// machine is its own doing.
static MACHINE: Mutex<()> = Mutex::new(());

#[test]
fn bench_native() {
    let lab: LabName = "tbench".parse().unwrap();
    for _ in 0..3 {
        let claim = Claim::take(&lab, "test").unwrap();
        let plan = testing::fabrics(claim.slot());
        let t0 = std::time::Instant::now();
        let mut last = None;
        {
            let claim = Claim::take(&"tb2".parse().unwrap(), "test").unwrap();
            let plan = testing::fabrics(claim.slot());
            let lab = Lab::up(
                claim,
                &plan,
                &LowerOptions {
                    lab: "tb2".parse().unwrap(),
                    ..options(&lab)
                },
                &CancellationToken::new(),
                &mut |p| {
                    if last != Some(p.phase) {
                        println!("{:?} {:?}", p.phase, t0.elapsed());
                        last = Some(p.phase);
                    }
                },
            )
            .unwrap();
            println!("up {:?}", t0.elapsed());
            drop(lab);
            println!("down {:?}", t0.elapsed());
        }
        let took =
            super::bench_up_down(claim, &plan, &options(&lab), &CancellationToken::new()).unwrap();
        println!("{took:?}");
    }
}

fn options(lab: &LabName) -> LowerOptions {
    LowerOptions {
        lab: lab.clone(),
        hosts: HostPlacement::OwnNamespace,
        clock: Clock::Virtual,
        delay_lines: false,
        cpus: 1,
    }
}
