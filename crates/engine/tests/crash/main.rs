//! Every verb of every dialect on a disk that crashes and fails at each of its effects in turn.

mod check;
mod faults;
mod points;
mod scene;
mod table;
mod verb;
