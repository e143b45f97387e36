//! Durations as Go writes and reads them: `3600s`, `1h30m`, `1.5h`.

/// Nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;
/// Units by name, in nanoseconds.
const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    // Micro is another character than the Greek letter, and both are in use.
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
];
/// Digits of a fraction that count: with more, nanoseconds times their value would be beyond what can be held.
const FRACTION_MAX: usize = 18;

/// Whole seconds of a duration, rounded up; none if it is no duration, or less than nothing.
pub fn seconds(text: &str) -> Option<u64> {
    let nanos = u64::try_from(nanos(text)?).ok()?;
    Some(nanos.div_ceil(SECOND.unsigned_abs()))
}

/// Nanoseconds as Go's `time.ParseDuration` reads them; none where that is an error.
fn nanos(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "0" {
        return Some(0);
    }
    let (mut total, mut rest) = part(unsigned)?;
    while !rest.is_empty() {
        let (more, behind) = part(rest)?;
        (total, rest) = (total.checked_add(more)?, behind);
    }
    Some(if text.starts_with('-') { -total } else { total })
}

/// A number with its unit, in nanoseconds, and what is behind it.
fn part(text: &str) -> Option<(i64, &str)> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|one: char| one == '.' || one.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, behind) = rest.split_at(end);
    let (_, unit) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let whole = if whole.is_empty() { 0 } else { whole.parse::<i64>().ok()? };
    Some((whole.checked_mul(unit)?.checked_add(part_of(unit, fraction)?)?, behind))
}

/// So much of a unit as a decimal fraction says.
fn part_of(unit: i64, fraction: &str) -> Option<i64> {
    let fraction = &fraction[..fraction.len().min(FRACTION_MAX)];
    if fraction.is_empty() {
        return Some(0);
    }
    let value: i128 = fraction.parse().ok()?;
    i64::try_from(i128::from(unit) * value / 10_i128.pow(fraction.len() as u32)).ok()
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|one: char| !one.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of Go's own test (`time.TestParseDuration`), as far as seconds tell it, and its errors.
    #[test]
    fn a_duration_is_read_as_go_reads_it() {
        for (text, read) in [
            ("0", Some(0)),
            ("5s", Some(5 * SECOND)),
            ("1478s", Some(1_478 * SECOND)),
            ("-5s", Some(-5 * SECOND)),
            ("+5s", Some(5 * SECOND)),
            ("-0", Some(0)),
            ("5.0s", Some(5 * SECOND)),
            ("5.s", Some(5 * SECOND)),
            (".5s", Some(SECOND / 2)),
            ("1.00400s", Some(1_004_000_000)),
            ("100.00100s", Some(100_001_000_000)),
            ("10ns", Some(10)),
            ("12\u{b5}s", Some(12_000)),
            ("12\u{3bc}s", Some(12_000)),
            ("3h30m", Some(12_600 * SECOND)),
            ("10.5s4m", Some(250 * SECOND + SECOND / 2)),
            ("1h2m3s4ms5us6ns", Some(3_723_004_005_006)),
            ("39h9m14.425s", Some(140_954_425_000_000)),
            ("9223372036854775807ns", Some(i64::MAX)),
            ("", None),
            ("3", None),
            ("600", None),
            ("-", None),
            ("s", None),
            (".", None),
            (".s", None),
            ("+.s", None),
            ("1d", None),
            ("1 h", None),
            ("3000000h", None),
            ("9223372036854775808ns", None),
            ("1s ", None),
            ("\u{85}85s", None),
        ] {
            assert_eq!(nanos(text), read, "{text:?}");
        }
        assert_eq!(nanos(&"1s".repeat(1 << 19)), Some((1 << 19) * SECOND));
        assert_eq!(nanos(&"9".repeat(1 << 20)), None);
    }

    #[test]
    fn a_part_of_a_second_is_a_second() {
        for (text, whole) in [("1h30m", 5_400), ("500ms", 1), ("1.5s", 2), ("0s", 0), ("0.3333333333333333333h", 1_200)]
        {
            assert_eq!(seconds(text), Some(whole), "{text}");
        }
        assert_eq!((seconds("-1s"), seconds("600"), seconds("much")), (None, None, None));
    }
}
