//! Journeys: work from its beginning to its end, in every dialect, with a worker that does what its prompt says and with
//! one that knows the protocol and nothing of Piton. Each file is a story.

mod again;
mod approvals;
mod arrives;
mod blocked;
mod by_hand;
mod conflicts;
mod ended_early;
mod epics;
mod facts;
mod follow;
mod gates;
mod ground;
mod in_the_way;
mod killed_lead;
mod killed_worker;
mod lead;
mod limits;
mod meanwhile;
#[path = "../support/moment.rs"]
mod moment;
mod more_gates;
mod nothing_done;
mod on_the_base;
#[path = "../support/printed.rs"]
mod printed;
#[path = "../support/prompts.rs"]
#[expect(dead_code, reason = "the list of places needs more of it")]
mod prompts;
mod questions;
mod set_up;
mod terminal;
mod together;
mod verdicts;
mod workers;
mod works;

/// The same journey with both workers, as two tests.
macro_rules! with_both {
    ($(fn $name:ident($who:ident) $body:block)*) => {$(
        mod $name {
            use super::*;

            fn journey($who: crate::workers::Who) $body

            #[test]
            fn obedient() {
                journey(crate::workers::Who::Obedient);
            }

            #[test]
            fn by_the_book() {
                journey(crate::workers::Who::ByTheBook);
            }
        }
    )*};
}
use with_both;
