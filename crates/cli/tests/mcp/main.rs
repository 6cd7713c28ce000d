//! The real binary as a server: requests over pipes and sockets in, answers and notifications out.

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "these tests use a part of the support that all tests share")]
mod support;

mod client;
mod environment;
mod growth;
mod hostile;
mod http;
mod resources;
mod revisions;
mod together;
mod tools;
mod watching;
