//! A full disk, for tests: a debug build finds no room in homes while the file is there that `PITON_DISK_FULL` names.
//! When that says `all`, not even what was reserved can be written.

use std::io;

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Something that needs room.
    New,
    /// Something for which room was taken before.
    Reserved,
}

/// Fails as a full disk would; a build for use never does.
#[inline]
pub(crate) fn check(room: Room) -> io::Result<()> {
    #[cfg(debug_assertions)]
    if let Some(path) = std::env::var_os("PITON_DISK_FULL")
        && let Ok(said) = std::fs::read_to_string(path)
        && (room == Room::New || said.trim() == "all")
    {
        return Err(io::ErrorKind::StorageFull.into());
    }
    let _ = room;
    Ok(())
}
