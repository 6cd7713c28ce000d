/// From this length on, what is to be done with a text is worth a second core: starting a thread takes a hundredth of it.
pub(super) const LARGE: usize = 1024 * 1024;

/// Does two things, one of them on another core when they are long.
pub(super) fn beside<A: Send, B>(is_long: bool, other: impl FnOnce() -> A + Send, own: impl FnOnce() -> B) -> (A, B) {
    if !is_long {
        return (other(), own());
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(other);
        let own = own();
        match other.join() {
            Ok(other) => (other, own),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
