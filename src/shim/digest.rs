//! What several texts come to together, for names that must differ where any of them does.

use sha2::{Digest, Sha256};

/// A digest of these texts in this order, another one for each list of them.
pub(in crate::shim) fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> [u8; 32] {
    let mut digest = Sha256::new();
    for text in texts {
        // Each text goes in with its length, since `a` and `bc` would otherwise hash like `ab` and `c`.
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
    }
    digest.finalize().into()
}
