//! Which functions a small command runs, so that the linker can lay them side by side (`crates/cli/start.ld`).
//!
//! A start costs pages: each stretch of 64 kB that is touched for the first time is mapped by the kernel, and the
//! functions of one command lie all over a program of 10 MB. Laid together they are a tenth of it.
//!
//! `cargo bench --bench order` tells how much of what runs is in the list; with `-- write` it writes the list anew.
//! Needed are `nm`, a C compiler and the right to trace a child. The list is about speed alone: what is missing from it, or
//! has another name by now, stays where it is.

#[cfg(target_arch = "x86_64")]
#[expect(dead_code, reason = "other benchmarks use the rest")]
#[path = "../beside/mod.rs"]
mod beside;
#[cfg(target_arch = "x86_64")]
mod list;

fn main() {
    #[cfg(target_arch = "x86_64")]
    list::main();
    #[cfg(not(target_arch = "x86_64"))]
    println!("the list is written on x86-64; its names are the same elsewhere");
}
