//! Prints what this machine can do: `probe`.
#![expect(clippy::print_stdout, reason = "it is a command")]

use lab_guest::{Probe, cache};

fn main() {
    let cache = cache::default_dir();
    let probe = Probe::take(&cache);
    for (place, findings) in [("here", &probe.here), ("guest", &probe.guest)] {
        for finding in findings {
            println!("{place}: {finding} (hint: {})", finding.remedy());
        }
    }
    match Probe::kvm(&cache) {
        Some(verdict) => println!("kvm: {verdict}"),
        None => println!("kvm: not tried, there is no kernel to try it with"),
    }
}
