//! Large pieces of memory in large pages.
//!
//! A document of megabytes is read into memory that the system hands out page by page, each for the price of a fault. Told
//! that a piece is to be in large pages, it hands out hundreds of them at once.

use std::alloc::{GlobalAlloc, Layout, System};

use rustix::mm::{Advice, madvise};

/// From this size on a piece is worth telling the system about: a large page of most machines.
const LARGE: usize = 2 * 1024 * 1024;

/// How long a page is. A system whose pages are longer refuses what it is told; to ask it could fail, which nothing here may.
const PAGE: usize = 4096;

/// The system's allocator, which asks for large pages where a piece is large.
#[derive(Debug, Clone, Copy)]
pub struct LargePages;

// SAFETY: every request is passed on to the system's allocator as it came, and its answer is given as it is.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises what `alloc` asks for.
        let piece = unsafe { System.alloc(layout) };
        advise(piece, layout.size());
        piece
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises what `alloc_zeroed` asks for.
        let piece = unsafe { System.alloc_zeroed(layout) };
        advise(piece, layout.size());
        piece
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises what `realloc` asks for, and the piece came from the same allocator.
        let piece = unsafe { System.realloc(piece, layout, size) };
        advise(piece, size);
        piece
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: the caller promises what `dealloc` asks for, and the piece came from the same allocator.
        unsafe { System.dealloc(piece, layout) }
    }
}

/// Asks for large pages. A system that has none to give says so, and the piece is as good without.
#[inline]
fn advise(piece: *mut u8, size: usize) {
    if size >= LARGE && !piece.is_null() {
        advise_large(piece, size);
    }
}

#[cold]
fn advise_large(piece: *mut u8, size: usize) {
    let before = piece.addr() % PAGE;
    let start = piece.wrapping_sub(before);
    // SAFETY: the range begins in the page in which the piece begins and ends where the piece does, so all of its pages are
    // mapped. The advice changes no byte of them.
    let _ = unsafe { madvise(start.cast(), before + size, Advice::LinuxHugepage) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static MEMORY: LargePages = LargePages;

    /// Whether the system was told to put an address into large pages: its mapping has the flag `hg`.
    fn is_told(address: usize) -> bool {
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("the system tells");
        let mut is_inside = false;
        for line in maps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            if let Some((start, end)) = range
                && let Ok(start) = usize::from_str_radix(start, 16)
                && let Ok(end) = usize::from_str_radix(end, 16)
            {
                is_inside = (start..end).contains(&address);
            } else if is_inside && line.starts_with("VmFlags:") {
                return line.split_whitespace().any(|flag| flag == "hg");
            }
        }
        false
    }

    // One test: a piece that another one has given back may be handed out again, and is in large pages then.
    #[test]
    fn only_large_pieces_are_in_large_pages_and_all_keep_what_they_hold() {
        let small = vec![1_u8; LARGE - 1];
        let (large, zeroed) = (Vec::<u8>::with_capacity(LARGE), vec![0_u8; LARGE]);
        let mut grown: Vec<u8> = (0..1000).map(|number| number as u8).collect();
        grown.resize(3 * LARGE, 7);
        // Elsewhere the system refuses what it is told.
        if std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            for (what, address, want) in [
                ("small", small.as_ptr().addr(), false),
                ("large", large.as_ptr().addr(), true),
                ("zeroed", zeroed.as_ptr().addr(), true),
                ("grown", grown.as_ptr().addr(), true),
            ] {
                assert_eq!(is_told(address + 100), want, "{what}");
            }
        }
        assert!(zeroed.iter().all(|byte| *byte == 0));
        assert!(grown[..1000].iter().enumerate().all(|(place, byte)| *byte == place as u8));
        assert!(grown[1000..].iter().all(|byte| *byte == 7));
        grown.truncate(1000);
        grown.shrink_to_fit();
        assert!(grown.iter().enumerate().all(|(place, byte)| *byte == place as u8));
    }
}
