//! How the house is built: which crate may know which, what may come in from outside, what is forbidden.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Which of our crates each of our crates may use.
const MAY_USE: [(&str, &[&str]); 10] = [
    ("piton", &["piton-server", "piton-engine", "piton-dialect", "piton-model", "piton-pages"]),
    ("piton-server", &["piton-engine", "piton-model"]),
    ("piton-engine", &["piton-supervisor", "piton-store", "piton-dialect", "piton-model", "piton-cores"]),
    ("piton-supervisor", &[]),
    ("piton-store", &["piton-model", "piton-cores"]),
    ("piton-dialect", &["piton-model"]),
    ("piton-model", &[]),
    ("piton-cores", &[]),
    ("piton-pages", &[]),
    // Nobody is built from this one; tests may use it.
    ("piton-testkit", &["piton-store", "piton-model"]),
];

/// Crates that decide and never act, and what would let them act.
const PURE: [&str; 2] = ["piton-model", "piton-dialect"];
const ACTING: [&str; 4] = ["rustix", "libc", "tokio", "mio"];

const LICENCES: [&str; 13] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "MIT-0",
    "Unlicense",
    "Unicode-3.0",
    "CC0-1.0",
    "BSL-1.0",
];

struct House {
    root: PathBuf,
    packages: BTreeMap<String, Value>,
    nodes: BTreeMap<String, Value>,
}

impl House {
    fn read() -> House {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--offline", "--locked"])
            // What only other systems use need not be here.
            .args(["--filter-platform", "host-tuple"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
        let by_id = |list: &Value| {
            let list = list.as_array().expect("a list").iter();
            list.map(|each| (text(&each["id"]).to_owned(), each.clone())).collect()
        };
        House {
            root: PathBuf::from(text(&metadata["workspace_root"])),
            packages: by_id(&metadata["packages"]),
            nodes: by_id(&metadata["resolve"]["nodes"]),
        }
    }

    fn name(&self, id: &str) -> &str {
        text(&self.packages[id]["name"])
    }

    /// Our own crates.
    fn ours(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.packages.iter().filter(|(_, package)| package["source"].is_null())
    }

    /// What a package is built from; what only its tests use does not count.
    fn uses(&self, id: &str) -> Vec<&str> {
        let is_built = |dependency: &&Value| {
            let kinds = dependency["dep_kinds"].as_array().expect("kinds");
            kinds.iter().any(|kind| kind["kind"] != "dev")
        };
        let dependencies = self.nodes[id]["deps"].as_array().expect("dependencies");
        dependencies.iter().filter(is_built).map(|dependency| text(&dependency["pkg"])).collect()
    }

    /// Everything that a package is built from, directly or not.
    fn uses_at_all<'a>(&'a self, id: &'a str) -> BTreeSet<&'a str> {
        let mut seen = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let new = self.uses(id).into_iter().filter(|used| seen.insert(*used));
            open.extend(new.collect::<Vec<_>>());
        }
        seen
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

#[test]
fn dependencies_point_one_way() {
    let house = House::read();
    let allowed: BTreeMap<_, _> = MAY_USE.into_iter().collect();
    let names: BTreeSet<_> = house.ours().map(|(id, _)| house.name(id)).collect();
    assert_eq!(names, allowed.keys().copied().collect(), "every crate of ours has its place in the table");
    for (id, _) in house.ours() {
        let user = house.name(id);
        for used in house.uses(id).into_iter().map(|used| house.name(used)).filter(|used| names.contains(used)) {
            assert!(allowed[user].contains(&used), "{user} may not use {used}");
        }
    }
}

#[test]
fn who_decides_cannot_act() {
    let house = House::read();
    for (id, _) in house.ours().filter(|(id, _)| PURE.contains(&house.name(id))) {
        let used: BTreeSet<_> = house.uses_at_all(id).into_iter().map(|used| house.name(used)).collect();
        for acting in ACTING {
            assert!(!used.contains(acting), "{} uses {acting}", house.name(id));
        }
    }
}

#[test]
fn one_crate_alone_has_an_async_runtime() {
    let house = House::read();
    for (id, _) in house.ours().filter(|(id, _)| !["piton-server", "piton"].contains(&house.name(id))) {
        let used: BTreeSet<_> = house.uses_at_all(id).into_iter().map(|used| house.name(used)).collect();
        assert!(!used.contains("tokio"), "{} uses tokio", house.name(id));
    }
    let (id, _) = house.ours().find(|(id, _)| house.name(id) == "piton").expect("the binary");
    let direct: BTreeSet<_> = house.uses(id).into_iter().map(|used| house.name(used)).collect();
    assert!(!direct.contains("tokio") && !direct.contains("rmcp"), "the binary itself builds no runtime");
}

#[test]
fn every_licence_is_allowed() {
    let house = House::read();
    for (id, package) in &house.packages {
        let licence = package["license"].as_str().unwrap_or_else(|| panic!("{id} names no licence"));
        assert!(is_allowed(licence), "{id} is under {licence}");
    }
}

#[test]
fn licences_are_read_as_they_are_written() {
    for (licence, want) in [
        ("MIT", true),
        ("MIT OR Apache-2.0", true),
        ("MIT/Apache-2.0", true),
        ("GPL-3.0 OR MIT", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR ISC) AND (GPL-2.0 OR MPL-2.0)", false),
        ("GPL-3.0", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(licence), want, "{licence}");
    }
}

/// Whether an expression can be met with allowed licences alone: one of an `OR`, all of an `AND`.
fn is_allowed(expression: &str) -> bool {
    let expression = strip_parentheses(expression.trim());
    let split = |word: &str| split_outside(expression, word);
    let (either, all) = (split(" OR "), split(" AND "));
    match () {
        () if either.len() > 1 => either.into_iter().any(is_allowed),
        () if all.len() > 1 => all.into_iter().all(is_allowed),
        () if expression.contains('/') => expression.split('/').any(is_allowed),
        () => LICENCES.contains(&expression),
    }
}

/// Splits at a word that stands outside of parentheses.
fn split_outside<'a>(expression: &'a str, word: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in expression.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && at >= start && expression[at..].starts_with(word) => {
                parts.push(&expression[start..at]);
                start = at + word.len();
            }
            _ => {}
        }
    }
    parts.push(&expression[start..]);
    parts
}

fn strip_parentheses(expression: &str) -> &str {
    let inner = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let is_one = |inner: &&str| {
        let mut depth = 0;
        inner.chars().all(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth >= 0
        })
    };
    inner.filter(is_one).unwrap_or(expression)
}

/// The one crate that may: an allocator cannot be written without.
const UNSAFE: &str = "piton-pages";

#[test]
fn unsafe_code_is_forbidden_everywhere_else() {
    let house = House::read();
    let workspace = manifest(&house.root.join("Cargo.toml"));
    assert!(has_line_in(&workspace, "[workspace.lints.rust]", "unsafe_code = \"forbid\""));
    for (id, package) in house.ours() {
        let path = text(&package["manifest_path"]);
        let (section, line) = match house.name(id) == UNSAFE {
            true => ("[lints.clippy]", "undocumented_unsafe_blocks = \"deny\""),
            false => ("[lints]", "workspace = true"),
        };
        assert!(has_line_in(&manifest(Path::new(path)), section, line), "{path}");
    }
}

fn manifest(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether a section of a manifest has this line.
fn has_line_in(manifest: &str, section: &str, line: &str) -> bool {
    let mut lines = manifest.lines().skip_while(|each| *each != section).skip(1);
    lines.by_ref().take_while(|each| !each.starts_with('[')).any(|each| each == line)
}

#[test]
fn the_server_starts_nothing_and_prints_nothing() {
    let house = House::read();
    let lints = manifest(&house.root.join("crates/server/clippy.toml"));
    for refused in ["std::process::Command", "std::fs::File", "std::env::var", "std::println", "std::eprintln"] {
        assert!(lints.contains(&format!("\"{refused}\"")), "the server may use {refused}");
    }
}

#[test]
fn pure_crates_refuse_effects() {
    let house = House::read();
    for (id, package) in house.ours().filter(|(id, _)| PURE.contains(&house.name(id))) {
        let directory = Path::new(text(&package["manifest_path"])).parent().expect("a manifest has a directory");
        let lints = manifest(&directory.join("clippy.toml"));
        for (list, refused) in [
            ("disallowed-types", "std::fs::File"),
            ("disallowed-types", "std::process::Command"),
            ("disallowed-types", "std::time::SystemTime"),
            ("disallowed-methods", "std::fs::read"),
            ("disallowed-methods", "std::env::var"),
            ("disallowed-macros", "std::println"),
        ] {
            let entries = lints.split(&format!("{list} = [")).nth(1).and_then(|rest| rest.split("\n]").next());
            let is_refused = entries.is_some_and(|entries| entries.contains(&format!("\"{refused}\"")));
            assert!(is_refused, "{} allows {refused} in {list}", house.name(id));
        }
    }
}
