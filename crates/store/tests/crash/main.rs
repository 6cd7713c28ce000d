//! The store on a disk that stops, loses power, fails, and has other users.

mod check;
mod compacting;
mod faults;
mod journal;
mod large;
mod outside;
mod points;
mod restart;
mod script;
