//! Tests of certificates that show another network than the required one.

use lab_records::{Certification, CertifiedRow};
use lab_sample as sample;
use lab_units::{BitsPerSec, Nanos};

/// Returns true if the certificate of a link direction (measured against required values), modified by `change`, shows
/// a network other than the required one.
fn is_another(change: impl FnOnce(&mut CertifiedRow)) -> bool {
    let mut row = sample::certified("dc1", "dc8");
    change(&mut row);
    row.problem = Some("it is out of its bounds".to_owned());
    let links = Certification::of(&[sample::certified("dc8", "dc1"), row]);
    assert_eq!((links.directions, links.out_of_bounds), (2, 1));
    links.is_another_network
}

/// The certificate requires 100 Mbit/s, 50 ms and a queue of 150 frames, with bounds of 1 Mbit/s, 250 µs and one frame.
/// Each case changes one value, by ten times its bound or more.
#[test]
fn one_figure_far_out_of_its_bound_makes_another_network() {
    let rate = |bps| is_another(|row| row.emu_measured_rate_bps = BitsPerSec::new(bps));
    assert_eq!([90_000_000, 110_000_000].map(rate), [false; 2]);
    assert_eq!([89_999_999, 110_000_001].map(rate), [true; 2]);
    let delay = |ns| is_another(|row| row.emu_measured_delay_ns = Some(Nanos::new(ns)));
    assert_eq!([47_500_000, 52_500_000].map(delay), [false; 2]);
    assert_eq!([47_499_999, 52_500_001].map(delay), [true; 2]);
    let queue = |frames| is_another(|row| row.measured_queue_packets = Some(frames));
    assert_eq!([140, 160].map(queue), [false; 2]);
    assert_eq!([139, 161].map(queue), [true; 2]);
}

#[test]
fn a_figure_that_was_not_measured_makes_another_network_unless_it_is_the_queue() {
    assert!(is_another(|row| row.emu_measured_rate_bps = None));
    assert!(is_another(|row| row.emu_measured_delay_ns = None));
    assert!(!is_another(|row| row.measured_queue_packets = None));
}

/// 95 is half of 190 frames.
#[test]
fn more_than_half_of_the_frames_lost_make_another_network() {
    let lost = |frames| is_another(|row| row.lost = frames);
    assert_eq!(
        [0, 1, 95, 96, 190].map(lost),
        [false, false, false, true, true]
    );
}
