//! What the binary printed for its reader to type. Sites, places in the sources that make a command, are written down when
//! one of their commands worked: `crates/cli/tests/hints.rs` names those that no test executed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

/// A command that was printed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Printed {
    pub site: String,
    pub argv: Vec<String>,
    /// As an agent that has tools and no shell reads it.
    pub call: String,
    pub reads: bool,
}

/// What was printed, as the binary wrote it down.
pub fn read(file: &Path) -> BTreeSet<Printed> {
    let text = fs::read_to_string(file).unwrap_or_default();
    // The last line may be under way.
    text.lines().filter_map(|line| Some(printed(&serde_json::from_str(line).ok()?))).collect()
}

fn printed(line: &Value) -> Printed {
    let argv = line["argv"].as_array().expect("words").iter().map(|word| word.as_str().expect("text").to_owned());
    Printed {
        site: line["at"].as_str().expect("a place").to_owned(),
        argv: argv.collect(),
        call: line["call"].as_str().expect("text").to_owned(),
        reads: line["reads"].as_bool().expect("it is known"),
    }
}

/// Notes the sites of commands that were printed, then typed, and that worked. A word in capitals stands for any.
pub fn typed(before: &BTreeSet<Printed>, argv: &[String]) {
    let is_fill = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let same = |(printed, typed): (&String, &String)| printed == typed || is_fill(printed);
    let is_same = |hint: &&Printed| hint.argv.len() == argv.len() && hint.argv.iter().zip(argv).all(same);
    before.iter().filter(is_same).for_each(|hint| executed(&hint.site));
}

/// Notes that a command of a site worked.
pub fn executed(site: &str) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hints");
    fs::create_dir_all(&directory).expect("a directory can be made");
    let path = directory.join(env!("CARGO_CRATE_NAME"));
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).expect("a file can be opened");
    file.write_all(format!("{site}\n").as_bytes()).expect("a file can be written");
}
