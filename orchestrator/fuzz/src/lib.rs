//! Damaged copies of good input, for testing readers.
//!
//! [`fuzz`] damages members of a corpus and feeds them to a reader, which must not panic, hang, or use memory out of
//! proportion to its input. A failure is shrunk to the smallest damage that reproduces it.
//!
//! This is a crate rather than a module of each test, because many crates test their readers with it. Its allocator,
//! which counts memory, is installed in each test that links it.
//!
//! The environment variable `LCMP_LAB_INPUTS` sets the number of inputs per reader (default 2,000). `LCMP_LAB_FAILED`
//! names a folder into which failing inputs are written, to be added to the corpus of the reader's tests.

mod damage;

use std::{
    cell::Cell,
    env, fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use peak_alloc::PeakAlloc;
use proptest::{
    prelude::*,
    sample::Index,
    test_runner::{TestError, TestRunner},
};

use serde::de::DeserializeOwned;

pub use damage::Damage;

/// Feeds damaged copies of the corpus to `read`, and prints the time and memory needed. `read` returns true if it
/// accepts an input.
///
/// # Panics
/// If `read` panics on an input, takes longer than [`LONGEST`] or more memory than [`MAX_MEMORY`] for it, or if more
/// than [`MAX_MEMORY`] is still allocated at the end. Also panics if the corpus is empty or `read` refuses a corpus
/// member.
pub fn fuzz<M: AsRef<[u8]>>(format: &str, corpus: &[M], read: impl Fn(&[u8]) -> bool) {
    let corpus: Vec<&[u8]> = corpus.iter().map(AsRef::as_ref).collect();
    for (number, member) in corpus.iter().enumerate() {
        assert!(read(member), "{format}: member {number} is refused");
    }
    let before = MEMORY.current_usage();
    let accepted = Cell::new(0_u64);
    let slowest = Cell::new(Duration::ZERO);
    let most = Cell::new(0);
    let inputs = inputs();
    let config = ProptestConfig {
        cases: inputs,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let member = any::<Index>();
    let tested = TestRunner::new(config).run(&(member, damage::any()), |(member, damages)| {
        let input = damaged(&member, &damages, &corpus);
        let started = Instant::now();
        let (is_accepted, memory) = peak_of(|| read(&input));
        let took = started.elapsed();
        accepted.set(accepted.get() + u64::from(is_accepted));
        slowest.set(slowest.get().max(took));
        most.set(most.get().max(memory));
        prop_assert!(took <= LONGEST, "it took {took:?}");
        prop_assert!(memory <= MAX_MEMORY, "it took {memory} bytes of memory");
        Ok(())
    });
    if let Err(error) = tested {
        if let TestError::Fail(_, (member, damages)) = &error {
            keep(&damaged(member, damages, &corpus));
        }
        panic!("{format}: {}", shown(error));
    }
    let kept = MEMORY.current_usage().saturating_sub(before);
    eprintln!(
        "fuzz: {format}: {inputs} inputs, {} accepted, the slowest {:?}, at most {} kB of memory",
        accepted.get(),
        slowest.get(),
        most.get() / 1024
    );
    assert!(
        kept <= MAX_MEMORY,
        "{format}: {kept} bytes of memory are still allocated at the end"
    );
}

/// Returns a copy of a corpus member with `damages` applied.
fn damaged(member: &Index, damages: &[Damage], corpus: &[&[u8]]) -> Vec<u8> {
    let mut input = member.get(corpus).to_vec();
    for damage in damages {
        damage.apply(&mut input, corpus);
    }
    input
}

/// Writes a failing input to the folder that `LCMP_LAB_FAILED` names, if it is set.
fn keep(input: &[u8]) {
    if let Some(folder) = env::var_os("LCMP_LAB_FAILED") {
        let hash = input.iter().fold(0_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let path = PathBuf::from(folder).join(format!("{hash:016x}"));
        fs::write(&path, input).expect("the folder is writable");
        eprintln!("fuzz: the failing input is in {}", path.display());
    }
}

/// Returns the result of `action` and the peak memory during it, in bytes. The peak includes memory that other threads
/// allocate meanwhile.
pub fn peak_of<T>(action: impl FnOnce() -> T) -> (T, usize) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let result = action();
    (result, MEMORY.peak_usage().saturating_sub(before))
}

/// Feeds damaged copies of JSON texts to the JSON reader of `T`, as [`fuzz`] does.
///
/// # Panics
/// In the same cases as [`fuzz`].
pub fn fuzz_json<T: DeserializeOwned>(format: &str, corpus: &[impl AsRef<[u8]>]) {
    fuzz(format, corpus, |bytes| {
        serde_json::from_slice::<T>(bytes).is_ok()
    });
}

/// Maximum time that a reader may take for an input, far longer than any input needs even on a loaded machine.
pub const LONGEST: Duration = Duration::from_secs(10);

/// Maximum memory that a reader may use for an input, in bytes: inputs have only a few kilobytes, but tests in other
/// threads use memory too.
pub const MAX_MEMORY: usize = 256 << 20;

/// Allocator of the test process, which counts the memory in use.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fn shown<T: std::fmt::Debug>(error: TestError<T>) -> String {
    match error {
        TestError::Fail(why, least) => format!("{why}\nleast damage: {least:?}"),
        TestError::Abort(why) => why.to_string(),
    }
}

fn inputs() -> u32 {
    env::var("LCMP_LAB_INPUTS").map_or(2_000, |text| text.parse().expect("it is a number"))
}

#[cfg(test)]
mod tests {
    use std::{
        cell::RefCell,
        panic::{AssertUnwindSafe, catch_unwind},
    };

    use super::*;

    #[test]
    fn inputs_differ_from_the_corpus_and_from_each_other() {
        let seen = RefCell::new(std::collections::HashSet::new());
        fuzz("text", &["{\"a\": 1}\n{\"b\": 22}\n"], |input| {
            seen.borrow_mut().insert(input.to_vec());
            true
        });
        assert!(seen.borrow().len() > 1_000, "{}", seen.borrow().len());
    }

    #[test]
    fn a_panic_fails_with_little_damage() {
        let read = |input: &[u8]| {
            assert!(!input.contains(&0), "a zero");
            true
        };
        // Each step of the shrinking panics; the output of these panics is suppressed.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let failed = catch_unwind(AssertUnwindSafe(|| fuzz("text", &["abcd"], read)));
        std::panic::set_hook(hook);
        let panic = failed.unwrap_err();
        let message: &String = panic.downcast_ref().unwrap();
        assert!(message.contains("a zero"), "{message}");
        // The message contains the damage that inserts the zero, and sometimes a second damage without effect, which
        // was needed before the input was shrunk.
        let damages = message.matches("Replace").count();
        assert!((1..=2).contains(&damages), "{message}");
    }

    #[test]
    #[should_panic(expected = "member 1 is refused")]
    fn a_corpus_that_is_refused_tests_nothing() {
        fuzz("text", &["good", "bad"], |input| input == b"good");
    }
}
