//! Real workers, held by real keepers, really killed: how each ended is known, and nothing of it is left.

mod deaths;
mod ends;
mod full_disk;
mod lab;
mod many;
mod output;
mod scripted;
mod stops;
