//! Independent work on several threads.

use std::{panic, thread};

/// Returns the result of `work` for each of `items`, in their order. Every thread gets consecutive items, so the
/// results do not depend on the number of threads.
pub(crate) fn map<I: Sync, T: Send>(
    threads: usize,
    items: &[I],
    work: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let size = items.len().div_ceil(threads.max(1)).max(1);
    let work = &work;
    thread::scope(|scope| {
        let parts: Vec<_> = items
            .chunks(size)
            .map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<T>>()))
            .collect();
        let joined = parts.into_iter().map(|part| {
            part.join()
                .unwrap_or_else(|panic| panic::resume_unwind(panic))
        });
        joined.flatten().collect()
    })
}
