use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Below this many items threads cost more than they save.
const FEW: usize = 512;

/// How many items a thread takes at a time.
const BATCH: usize = 256;

/// Works on all items, with all cores when there are many, and hands over the results in the order of the items.
/// The caller's thread takes results while the others work, so few of them are held at any time.
pub(crate) fn map_in_order<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync, mut take: impl FnMut(R)) {
    // To count the cores takes a dozen system calls, which a few items are not worth.
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = if items.len() < FEW { 1 } else { cores() };
    if threads == 1 {
        items.iter().map(work).for_each(take);
        return;
    }
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::sync_channel(threads * 4);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (send, next, work) = (send.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(batch) = items.chunks(BATCH).nth(place) else { return };
                    let results: Vec<R> = batch.iter().map(work).collect();
                    if send.send((place, results)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut early = BTreeMap::new();
        let mut wanted = 0;
        for (place, results) in receive {
            early.insert(place, results);
            while let Some(results) = early.remove(&wanted) {
                results.into_iter().for_each(&mut take);
                wanted += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for count in [0, 1, FEW - 1, FEW, 30 * BATCH + 7] {
            let items: Vec<usize> = (0..count).collect();
            let mut results = Vec::new();
            map_in_order(&items, |item| item * 2, |result| results.push(result));
            assert_eq!(results, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }
}
