//! A reader beside a writer that truncates the file and writes it anew, as editors and `std::fs::write` do.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use piton_store::Tree;

#[test]
fn read_of_a_file_that_shrinks_meanwhile_has_the_stamp_of_its_content() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("truncated");
    std::fs::create_dir_all(&directory).expect("a directory can be made");
    let path = directory.join("plan.md");
    let text = "- [ ] one <!-- TASK: one -->\n".repeat(100);
    std::fs::write(&path, &text).expect("it can be written");
    let tree = Tree::open(&directory).expect("it is there");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                std::fs::write(&path, &text).expect("it can be written");
            }
        });
        let is_whole = |_: &i32| {
            let content = tree.read("plan.md").expect("it is there");
            content.bytes.len() as u64 == content.stamp.size
        };
        let whole = (0..50_000).filter(is_whole).count();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(whole, 50_000, "the stamp of a cut content is that of another version");
    });
}
