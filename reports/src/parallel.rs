//! Independent work on several threads.

use std::{
    num::NonZero,
    panic,
    sync::{Mutex, PoisonError},
    thread,
};

/// Applies `work` to each of `items` on several threads, and returns the results in order. At most as many items are in
/// progress as there are processors, so that memory does not grow with the number of items.
pub fn map<I: Send, T: Send>(
    items: impl IntoIterator<Item = I, IntoIter: Send>,
    work: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    let items = Mutex::new(items.into_iter().enumerate());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = || {
        let mut results = Vec::new();
        while let Some((place, item)) = next() {
            results.push((place, work(item)));
        }
        results
    };
    let mut results: Vec<(usize, T)> = thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, NonZero::get);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| panic::resume_unwind(panic))
        });
        joined.flatten().collect()
    });
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let squares = map(0..40, |number| number * number);
        assert!(
            squares
                .into_iter()
                .eq((0..40).map(|number| number * number))
        );
        assert!(map(Vec::new(), |number: u32| number).is_empty());
    }
}
