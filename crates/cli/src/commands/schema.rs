use clap::Args;
use piton_dialect::schema;
use piton_model::Dialect;

use crate::failure::{Failure, NOTHING};
use crate::output::print_json;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  piton schema build\n  piton schema plan state > state.schema.json")]
pub struct SchemaArgs {
    /// pipeline, plan, build, task or crew
    #[arg(value_name = "DIALECT", value_parser = ["pipeline", "plan", "build", "task", "crew"])]
    dialect: String,

    /// One of its documents [default: a schema that takes any of them]
    #[arg(value_name = "DOCUMENT")]
    document: Option<String>,
}

pub fn run(args: &SchemaArgs) -> Result<u8, Failure> {
    let dialect: Dialect = args.dialect.parse().expect("the grammar allows only dialects");
    let documents = piton_dialect::documents(dialect);
    let Some(name) = &args.document else {
        print_json(&schema::of_dialect(dialect.word(), documents))?;
        return Ok(0);
    };
    let Some(document) = documents.iter().find(|document| document.name == name) else {
        let names: Vec<_> = documents.iter().map(|document| document.name).collect();
        return Err(Failure::new(NOTHING, format!("{dialect} has no document {name:?}"))
            .hint(format!("it has: {}", names.join(", "))));
    };
    print_json(&schema::of_document(document))?;
    Ok(0)
}
