/// The directory that holds a dialect's own directory: `docs` for `docs/progress/checkpoints` and
/// `progress/checkpoints`, and nothing at all for a directory that only ends alike.
pub(crate) fn in_directory<'a>(directory: &'a str, own: &str) -> Option<&'a str> {
    let rest = directory.strip_suffix(own)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_suffix('/') }
}
