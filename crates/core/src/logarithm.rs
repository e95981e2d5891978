//! Base-2 logarithms in whole numbers, so that replay agrees on every machine.

/// Steps of one octave.
pub const OCTAVE: u32 = 256;

/// The logarithm of `value` in steps of 1/256 octave; between powers of two it is a straight line.
pub fn log2(value: u64) -> u32 {
    let value = value.max(1);
    let whole = value.ilog2();
    let fraction = if whole >= 8 { (value >> (whole - 8)) & 0xff } else { (value << (8 - whole)) & 0xff };
    whole * OCTAVE + fraction as u32
}

/// The inverse of [`log2`], at most 2⁶³.
pub fn exp2(log: u32) -> u64 {
    let (whole, fraction) = (log / OCTAVE, u64::from(log % OCTAVE));
    if whole >= 63 {
        return 1 << 63;
    }
    if whole >= 8 { (OCTAVE as u64 + fraction) << (whole - 8) } else { (OCTAVE as u64 + fraction) >> (8 - whole) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_is_close() {
        for value in [1, 2, 3, 7, 100, 999, 1000, 65_535, 1 << 40, (1 << 50) + 12_345] {
            let back = exp2(log2(value));
            assert!(back <= value && value - back <= value / 128, "{value} became {back}");
        }
        assert_eq!(log2(0), 0);
        assert_eq!(exp2(u32::MAX), 1 << 63);
    }
}
