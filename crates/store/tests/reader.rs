//! A reader gives what the tree gives, whatever it meets.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use piton_store::{Content, LARGEST, ReadError, Reader, Tree};

const PATHS: [&str; 18] = [
    "top.json",
    "docs/one.json",
    "docs/two.json",
    "docs/empty.json",
    "docs/missing.json",
    "docs/huge.json",
    "docs/directory.json",
    "docs/socket.json",
    "docs/inside.json",
    "docs/outside.json",
    "docs/nowhere.json",
    "docs/..",
    "docs/.",
    "docs/",
    "linked/one.json",
    "away/secret.json",
    "docs/one.json/below.json",
    "docs/one.json",
];

fn told(read: Result<&Content, ReadError>) -> String {
    match read {
        Ok(content) => format!("{:?} of {}", String::from_utf8_lossy(&content.bytes), content.modified),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_reader_gives_what_the_tree_gives() {
    let scratch = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("reader");
    let _ = fs::remove_dir_all(&scratch);
    let (root, elsewhere) = (scratch.join("root"), scratch.join("elsewhere"));
    fs::create_dir_all(root.join("docs/directory.json")).expect("a directory");
    fs::create_dir_all(&elsewhere).expect("a directory");
    for (path, text) in [("top.json", "top"), ("docs/one.json", "a long first text"), ("docs/two.json", "short")] {
        fs::write(root.join(path), text).expect("a file");
    }
    fs::write(root.join("docs/empty.json"), "").expect("a file");
    fs::write(elsewhere.join("secret.json"), "secret").expect("a file");
    let huge = fs::File::create(root.join("docs/huge.json")).expect("a file");
    huge.set_len(LARGEST + 1).expect("a large file");
    // The name of a socket may be short only, so it is made where it is and not by its whole path.
    std::env::set_current_dir(root.join("docs")).expect("a directory");
    let _socket = UnixListener::bind("socket.json").expect("a socket");
    symlink("../top.json", root.join("docs/inside.json")).expect("a link");
    symlink(elsewhere.join("secret.json"), root.join("docs/outside.json")).expect("a link");
    symlink("nothing", root.join("docs/nowhere.json")).expect("a link");
    symlink("docs", root.join("linked")).expect("a link");
    symlink("../elsewhere", root.join("away")).expect("a link");

    let tree = Tree::open(&root).expect("a tree");
    let mut reader = Reader::new(&tree);
    for path in PATHS.iter().chain(PATHS.iter().rev()) {
        let by_tree = told(tree.read(path).as_ref().map_err(copied));
        assert_eq!(told(reader.read(path)), by_tree, "{path}");
        assert!(!by_tree.contains("secret"), "{path} leads out");
    }
    assert!(told(reader.read("docs/inside.json")).starts_with("\"top\""));
}

/// An error cannot be cloned, but only its words are compared.
fn copied(error: &ReadError) -> ReadError {
    ReadError::Io { error: std::io::Error::other(error.to_string()) }
}
