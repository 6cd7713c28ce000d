//! Worktrees of real repositories: what is in them is never lost, and the user's files are never touched.

mod clean;
mod crash;
mod create;
mod find;
mod forks;
mod gates;
mod in_tree;
mod locks;
mod merge;
mod reattach;
mod removed;
mod repository;
mod snapshot;
mod state;
mod stray;
