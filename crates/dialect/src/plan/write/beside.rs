use crate::Files;

/// From this length on, what is to be done with a text is worth a second core: starting a thread takes a hundredth of it.
pub(super) const LARGE: usize = 1024 * 1024;

/// Does two things, one of them on another core when they are long.
pub(super) fn beside<A: Send, B>(
    files: &dyn Files,
    is_long: bool,
    other: impl FnOnce() -> A + Send,
    own: impl FnOnce() -> B,
) -> (A, B) {
    if !is_long {
        return (other(), own());
    }
    let (mut other, mut own) = (Some(other), Some(own));
    let (mut others, mut owned) = (None, None);
    files.both(&mut || others = other.take().map(|other| other()), &mut || owned = own.take().map(|own| own()));
    (others.expect("both are done"), owned.expect("both are done"))
}
