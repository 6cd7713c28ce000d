use piton_model::Digest;
use sha2::{Digest as _, Sha256};

/// The digest of some bytes, which are given in pieces.
pub(crate) fn digest_of<'b>(parts: impl IntoIterator<Item = &'b [u8]>) -> Digest {
    let mut hasher = Sha256::new();
    parts.into_iter().for_each(|part| hasher.update(part));
    let digest = hasher.finalize();
    Digest(std::array::from_fn(|place| digest[place]))
}
