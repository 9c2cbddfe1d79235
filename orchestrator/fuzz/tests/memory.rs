//! Memory that a reader takes for an input. This is the only test in its process, because the memory of the whole
//! process is counted.

use std::hint::black_box;

use lab_fuzz::{MAX_MEMORY, fuzz, peak_of};

#[test]
#[should_panic(expected = "bytes of memory")]
fn memory_that_a_reader_gives_back_counts() {
    // Without `black_box`, the optimiser removes memory that nothing reads.
    let list = |length: usize| black_box(Vec::<u8>::with_capacity(length));
    let ((), memory) = peak_of(|| drop(list(1 << 20)));
    assert!((1 << 20..2 << 20).contains(&memory), "{memory}");
    // The corpus announces a short list, and damage announces a longer one; this reader trusts the announced length.
    fuzz("list", &["100 1 2 3"], |input| {
        let text = String::from_utf8_lossy(input);
        let first = text.split(' ').next();
        let announced: Option<usize> = first.and_then(|it| it.parse().ok());
        let length = announced.unwrap_or(1).clamp(1, 2 * MAX_MEMORY);
        list(length).capacity() > 0
    });
}
