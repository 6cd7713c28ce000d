//! Puts a link to the binary where everybody looks for it, and lays its functions in a good order.
//!
//! The build names its target (see `.cargo/config.toml`), so Cargo puts the binary below a directory with the
//! target's name. `target/release/piton` then leads to it.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    lay_out();
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let target = std::env::var("TARGET").unwrap_or_default();
    // OUT_DIR is {target directory}/{triple}/{profile}/build/{package}/out.
    let Some(profile) = Path::new(&out).ancestors().nth(3) else { return };
    let Some((triple, root)) = profile.parent().and_then(|triple| Some((triple, triple.parent()?))) else { return };
    let (true, Some(name)) = (triple.ends_with(&target), profile.file_name()) else { return };
    let link = root.join(name).join("piton");
    #[cfg(unix)]
    if !link.exists() && std::fs::create_dir_all(root.join(name)).is_ok() {
        // A convenience: whoever cannot have it uses the long path.
        let _ = std::fs::remove_file(&link);
        let _ = std::os::unix::fs::symlink(Path::new("..").join(&target).join(name).join("piton"), &link);
    }
}

/// Tells the linker which functions to lay side by side, in programs that are meant to be used. Linkers that know no
/// scripts (mold) need `PITON_LINK_ORDER=none`.
fn lay_out() {
    println!("cargo::rerun-if-changed=start.ld");
    println!("cargo::rerun-if-env-changed=PITON_LINK_ORDER");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|set| set == value);
    let has_script = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if has_script && is("PROFILE", "release") && !is("PITON_LINK_ORDER", "none") {
        let list = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default() + "/start.ld";
        // In one piece, and not by `-Wl`: a path may hold commas.
        println!("cargo::rustc-link-arg-bin=piton=-T{list}");
    }
}
