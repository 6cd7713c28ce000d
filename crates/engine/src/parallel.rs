use std::num::NonZeroUsize;

/// Below this many items threads cost more than they save.
const FEW: usize = 256;

/// How many items a thread takes at a time: enough to be worth starting it, few enough to hold the results.
const BATCH: usize = 512;

/// Works on all items, with all cores when there are many, and hands over the results in the order of the items.
pub(crate) fn map_in_order<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync, mut take: impl FnMut(R)) {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if items.len() < FEW || threads == 1 {
        items.iter().map(work).for_each(take);
        return;
    }
    let work = &work;
    for round in items.chunks(BATCH * threads) {
        std::thread::scope(|scope| {
            let batches: Vec<_> = round
                .chunks(round.len().div_ceil(threads))
                .map(|batch| scope.spawn(move || batch.iter().map(work).collect::<Vec<R>>()))
                .collect();
            for batch in batches {
                match batch.join() {
                    Ok(results) => results.into_iter().for_each(&mut take),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for count in [0, 1, FEW - 1, FEW, 3 * BATCH + 7] {
            let items: Vec<usize> = (0..count).collect();
            let mut results = Vec::new();
            map_in_order(&items, |item| item * 2, |result| results.push(result));
            assert_eq!(results, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }
}
