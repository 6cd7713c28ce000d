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
mod more_gates;
mod nothing_done;
mod on_the_base;
#[path = "../support/printed.rs"]
mod printed;
mod questions;
mod set_up;
mod terminal;
mod together;
mod verdicts;
mod workers;
mod works;

/// The same journey with both workers, as two tests. `open(obedient)`, `open(by_the_book)` or `open(both)` behind its name
/// says with which of them it does not hold yet.
macro_rules! with_both {
    ($(fn $name:ident($who:ident) $(open($open:ident))? $body:block)*) => {$(
        mod $name {
            use super::*;

            fn journey($who: crate::workers::Who) $body

            crate::with_both!(@tests $($open)?);
        }
    )*};
    (@tests) => { crate::with_both!(@test obedient Obedient); crate::with_both!(@test by_the_book ByTheBook); };
    (@tests obedient) => { crate::with_both!(@open obedient Obedient); crate::with_both!(@test by_the_book ByTheBook); };
    (@tests by_the_book) => { crate::with_both!(@test obedient Obedient); crate::with_both!(@open by_the_book ByTheBook); };
    (@tests both) => { crate::with_both!(@open obedient Obedient); crate::with_both!(@open by_the_book ByTheBook); };
    (@test $name:ident $who:ident) => {
        #[test]
        fn $name() {
            journey(crate::workers::Who::$who);
        }
    };
    (@open $name:ident $who:ident) => {
        #[test]
        #[ignore = "open"]
        fn $name() {
            journey(crate::workers::Who::$who);
        }
    };
}
use with_both;
