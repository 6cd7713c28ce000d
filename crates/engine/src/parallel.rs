use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use piton_cores::Core;

/// Below this many items threads cost more than they save.
const FEW: usize = 512;

/// How many items a thread takes at a time.
const BATCH: usize = 256;

/// Works on all items, with all cores when there are many, and hands over the results in the order of the items.
/// Each thread begins with a state of its own. The caller's thread works too, and takes what is there between its
/// batches, so few results are held at any time.
pub(crate) fn map_in_order<T: Sync, S, R: Send>(
    items: &[T],
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> R + Sync,
    mut take: impl FnMut(R),
) {
    // To count the cores takes a dozen system calls, which a few items are not worth.
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = if items.len() < FEW { 1 } else { cores() };
    if threads == 1 {
        let mut state = begin();
        items.iter().for_each(|item| take(work(&mut state, item)));
        return;
    }
    let next = AtomicUsize::new(0);
    let next_results = |state: &mut S| {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let batch = items.chunks(BATCH).nth(place)?;
        Some((place, batch.iter().map(|item| work(state, item)).collect::<Vec<R>>()))
    };
    let (send, receive) = mpsc::sync_channel(threads * 4);
    let mut in_order = InOrder { early: BTreeMap::new(), wanted: 0, take };
    let here = Core::here();
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let (send, begin, next_results) = (send.clone(), &begin, &next_results);
            scope.spawn(move || {
                here.avoid();
                let mut state = begin();
                while let Some(results) = next_results(&mut state) {
                    if send.send(results).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut state = begin();
        while let Some(results) = next_results(&mut state) {
            in_order.add(results);
            receive.try_iter().for_each(|results| in_order.add(results));
        }
        receive.iter().for_each(|results| in_order.add(results));
    });
}

/// Hands over batches in the order of their places, and holds those that come early.
struct InOrder<R, F> {
    early: BTreeMap<usize, Vec<R>>,
    wanted: usize,
    take: F,
}

impl<R, F: FnMut(R)> InOrder<R, F> {
    fn add(&mut self, (place, results): (usize, Vec<R>)) {
        self.early.insert(place, results);
        while let Some(results) = self.early.remove(&self.wanted) {
            results.into_iter().for_each(&mut self.take);
            self.wanted += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for count in [0, 1, FEW - 1, FEW, 30 * BATCH + 7] {
            let items: Vec<usize> = (0..count).collect();
            let mut results = Vec::new();
            map_in_order(&items, || (), |(), item| item * 2, |result| results.push(result));
            assert_eq!(results, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }
}
