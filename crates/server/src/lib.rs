//! The Model Context Protocol as a door: a tool call in, one call to the engine, structured content out.
//!
//! Nothing is kept in a session. What a call needs stands in its arguments, and what it changes stands in files, so
//! that any number of these servers, command lines and hooks share a workspace. This is the only crate with an async
//! runtime; it is built by [`serve_stdio`] and [`serve_http`] and by nobody else. Nothing here prints: standard output
//! belongs to the protocol.

mod answer;
mod bounds;
mod door;
mod handler;
mod http;
mod prompts;
mod resources;
mod runtime;
mod schema;
mod stdio;
mod tools;
mod uri;
mod watching;

pub use door::Door;
pub use handler::Handler;
pub use http::{Bound, Listen, NotLoopback, serve_http, serve_http_as};
pub use stdio::serve_stdio;
