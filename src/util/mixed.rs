//! Mixing the bits of a number.

/// Returns a number that is different for different ones, with all bits depending on all (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[inline]
pub(crate) const fn mixed(bits: u64) -> u64 {
    let mut bits = bits.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}
