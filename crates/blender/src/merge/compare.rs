//! How two pictures of the same frame differ: not at all between equal engines on processors, a little between devices.
use super::Picture;

/// How one channel differs.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelDifference {
    /// Its name.
    pub channel: String,
    /// The largest difference of a value.
    pub max: f32,
    /// The root of the mean square of all differences.
    pub rms: f32,
}

/// How two pictures differ.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// In no bit.
    None,
    /// In their size or the names of their channels, so that nothing more can be said.
    Shape,
    /// In values; one entry for each channel, equal ones included.
    Values(Vec<ChannelDifference>),
}

impl Difference {
    /// Whether no value differs by more than `max`, and no channel by more than `rms` on the whole. For checks between
    /// devices: a few pixels may differ much where light is caught by chance, the picture as a whole may not.
    pub fn is_within(&self, max: f32, rms: f32) -> bool {
        match self {
            Self::None => true,
            Self::Shape => false,
            Self::Values(channels) => channels.iter().all(|channel| channel.max <= max && channel.rms <= rms),
        }
    }
}

/// Compares. A value that is no number differs infinitely from every other.
pub fn compare(one: &Picture, other: &Picture) -> Difference {
    let sizes_differ = (one.width(), one.height()) != (other.width(), other.height());
    if sizes_differ || !one.channels().keys().eq(other.channels().keys()) {
        return Difference::Shape;
    }
    let mut equal = true;
    let mut differences = Vec::new();
    for ((name, ours), theirs) in one.channels().iter().zip(other.channels().values()) {
        equal &= ours.iter().zip(theirs).all(|(a, b)| a.to_bits() == b.to_bits());
        differences.push(channel(name, ours, theirs));
    }
    if equal { Difference::None } else { Difference::Values(differences) }
}

fn channel(name: &str, ours: &[f32], theirs: &[f32]) -> ChannelDifference {
    let mut max = 0.0f64;
    let mut squares = 0.0f64;
    for (a, b) in ours.iter().zip(theirs) {
        let apart = if a.to_bits() == b.to_bits() { 0.0 } else { (f64::from(*a) - f64::from(*b)).abs() };
        let apart = if apart.is_nan() { f64::INFINITY } else { apart };
        max = max.max(apart);
        squares += apart * apart;
    }
    let rms = (squares / ours.len().max(1) as f64).sqrt();
    ChannelDifference { channel: name.into(), max: max as f32, rms: rms as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(values: [f32; 4]) -> Picture {
        Picture::new(2, 2, [("V.Combined.R".into(), values.into())].into())
    }

    #[test]
    fn equal_bits_are_no_difference_and_a_changed_sign_of_zero_is_one() {
        let one = picture([0.0, 1.0, f32::NAN, 0.5]);
        assert_eq!(compare(&one, &one.clone()), Difference::None);
        let other = compare(&one, &picture([-0.0, 1.0, f32::NAN, 0.5]));
        assert_ne!(other, Difference::None);
        assert!(other.is_within(0.0, 0.0), "but by nothing that could be seen");
    }

    #[test]
    fn one_bright_pixel_is_told_by_the_largest_and_the_mean() {
        let apart = compare(&picture([0.0; 4]), &picture([0.0, 0.0, 0.0, 0.5]));
        assert!(apart.is_within(0.5, 0.25));
        assert!(!apart.is_within(0.4, 0.25));
        assert!(!apart.is_within(0.5, 0.2));
    }

    #[test]
    fn what_is_no_number_is_within_nothing() {
        assert!(!compare(&picture([0.0; 4]), &picture([f32::NAN, 0.0, 0.0, 0.0])).is_within(1e30, 1e30));
    }

    #[test]
    fn pictures_of_other_shapes_are_not_compared() {
        let wide = Picture::new(4, 1, [("V.Combined.R".into(), vec![0.0; 4])].into());
        assert_eq!(compare(&picture([0.0; 4]), &wide), Difference::Shape);
        let green = Picture::new(2, 2, [("V.Combined.G".into(), vec![0.0; 4])].into());
        assert_eq!(compare(&picture([0.0; 4]), &green), Difference::Shape);
    }
}
