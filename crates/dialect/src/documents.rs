use piton_model::Dialect;

use crate::schema::DocumentShape;

/// The documents of a dialect, by the tables that describe them.
pub fn documents(dialect: Dialect) -> &'static [DocumentShape] {
    match dialect {
        Dialect::Pipeline => crate::pipeline::wire::DOCUMENTS,
        Dialect::Plan => crate::plan::wire::DOCUMENTS,
        Dialect::Build => crate::build::wire::DOCUMENTS,
        Dialect::Task => crate::task::wire::DOCUMENTS,
        Dialect::Crew => crate::crew::wire::DOCUMENTS,
    }
}
