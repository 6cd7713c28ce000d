//! Ids for boxes that have none.

use piton_model::{Change, Refusal};

use super::super::layout::Paths;
use super::book::Book;
use super::draft::Draft;
use super::ground::Ground;
use crate::Place;

pub(super) fn mark(
    _book: Book,
    _draft: Draft<'_>,
    _paths: &Paths,
    _place: &Place,
    _ground: Ground<'_>,
    _has_state: bool,
) -> Result<Change, Refusal> {
    Err(Refusal::usage("not yet"))
}
