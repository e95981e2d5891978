//! Numbers and byte strings as a manifest has them. Each number has exactly one encoding.
use std::io::{Read, Write};

use super::Error;

/// Seven bits in each byte, the lowest first.
pub(super) fn put_number(to: &mut impl Write, mut number: u64) -> Result<(), Error> {
    let mut bytes = [0; 10];
    let mut length = 0;
    loop {
        let low = u8::try_from(number & 0x7f).expect("seven bits");
        number >>= 7;
        bytes[length] = if number == 0 { low } else { low | 0x80 };
        length += 1;
        if number == 0 {
            return Ok(to.write_all(&bytes[..length])?);
        }
    }
}

pub(super) fn number(from: &mut impl Read) -> Result<u64, Error> {
    let mut number = 0_u64;
    for place in 0..10 {
        let [byte] = array(from)?;
        let bits = u64::from(byte & 0x7f);
        if place == 9 && bits > 1 {
            return Err(Error::Refused("a number is too large"));
        }
        number |= bits << (7 * place);
        if byte & 0x80 == 0 {
            if byte == 0 && place > 0 {
                return Err(Error::Refused("a number is longer than needed"));
            }
            return Ok(number);
        }
    }
    Err(Error::Refused("a number is too large"))
}

/// A number that is at most this large.
pub(super) fn number_to(from: &mut impl Read, max: u64, reason: &'static str) -> Result<u64, Error> {
    let number = number(from)?;
    if number > max { Err(Error::Refused(reason)) } else { Ok(number) }
}

pub(super) fn array<const N: usize>(from: &mut impl Read) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn put_string(to: &mut impl Write, string: &[u8]) -> Result<(), Error> {
    put_number(to, string.len() as u64)?;
    Ok(to.write_all(string)?)
}

/// A string of at most `max` bytes; no more memory is taken than that.
pub(super) fn string(from: &mut impl Read, max: usize, reason: &'static str) -> Result<Vec<u8>, Error> {
    let length = number_to(from, max as u64, reason)?;
    let mut bytes = vec![0; usize::try_from(length).expect("at most max")];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Signed numbers near zero stay short.
pub(super) fn fold_sign(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

pub(super) fn unfold_sign(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_pinned_and_have_one_encoding() {
        let mut bytes = Vec::new();
        for value in [0, 127, 128, u64::MAX] {
            put_number(&mut bytes, value).expect("written");
        }
        assert_eq!(bytes, [0, 127, 128, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        for bad in [&[128, 0][..], &[255; 10], &[128], &[255, 255, 255, 255, 255, 255, 255, 255, 255, 2]] {
            assert!(number(&mut &bad[..]).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back(value: u64, signed: i64) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, value).expect("written");
            prop_assert_eq!(number(&mut &bytes[..]).expect("read"), value);
            prop_assert_eq!(unfold_sign(fold_sign(signed)), signed);
        }
    }
}
