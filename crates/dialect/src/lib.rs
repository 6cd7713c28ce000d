//! The five checkpoint protocols: bytes to the model, and findings about everything odd on the way.
//!
//! Reading never fails as a whole. A codec takes the bytes of a document and returns what can be known
//! from it, with a [`piton_model::Finding`] for every deviation from the protocol's own document. Nothing
//! here opens a file or asks the time.

pub mod brief;
pub mod codes;
pub mod content;
pub mod excerpt;
pub mod graph;
pub mod hook;
pub mod json;
pub mod schema;
pub mod shape;
pub mod time;
pub mod words;
pub mod yaml;

pub mod build;
pub mod crew;
pub mod pipeline;
pub mod plan;
pub mod task;

mod base;
#[cfg(test)]
mod conformance;
mod detect;
mod digest;
mod documents;
mod files;
mod findings;
mod git_names;
mod source;

pub use detect::check_file;
pub use documents::documents;
pub use files::{Files, Place};
pub use findings::Findings;
pub use git_names::{GitNames, git_names};
pub use source::{Detail, Reading, Source, open_json, open_text};
