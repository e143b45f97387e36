//! Kubernetes quantities (`500m`, `4Gi`, `1e3`) as exact numbers: the API server's grammar, rounding and canonical form.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// Nano-units in one unit.
const UNIT: i128 = 1_000_000_000;
/// Nano-units in one milli-unit.
const MILLI: i128 = 1_000_000;
/// The most that a quantity with a binary suffix can be: 2^63-1 units, as in apimachinery.
const BINARY_MAX: i128 = i64::MAX as i128 * UNIT;

/// A quantity in nano-units. Finer ones are rounded away from zero, as apimachinery does ("if you want some
/// resources, you should get some"). What goes beyond `i128` (1.7e29 units) is the largest number there is; apimachinery
/// keeps such numbers exactly, but its own `Value()` overflows on them. Ordered and equal by amount alone.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// How a quantity was written and is written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `500m`, `2`, `3k`.
    DecimalSi,
    /// `4Gi`.
    BinarySi,
    /// `1e3`.
    DecimalExponent,
}

/// Why a text is no quantity; apimachinery's three errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// Not a number followed by a suffix.
    #[error("must be a number with an optional suffix, such as 500m, 2 or 4Gi")]
    Format,
    /// No digits where they are needed.
    #[error("has no digits")]
    Numeric,
    /// A suffix that does not exist.
    #[error("has a suffix that is none of n u m k M G T P E Ki Mi Gi Ti Pi Ei or an exponent such as e3")]
    Suffix,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0, format: Format::DecimalSi };
    /// More than anything has: what is charged for a request that cannot be read.
    pub const MAX: Self = Self { nanos: i128::MAX, format: Format::DecimalSi };

    /// Whole units, rounded away from zero; clamped to `i64`.
    pub fn value(self) -> i64 {
        clamp(divide_away(self.nanos, UNIT))
    }

    /// Milli-units, rounded away from zero; clamped to `i64`.
    pub fn milli_value(self) -> i64 {
        clamp(divide_away(self.nanos, MILLI))
    }

    /// Whether it is a whole number of units.
    pub fn is_whole(self) -> bool {
        self.nanos % UNIT == 0
    }

    /// Whether it is as large, or as far below nothing, as can be held: the true amount may be beyond.
    pub fn is_saturated(self) -> bool {
        self.nanos.saturating_abs() == i128::MAX
    }

    /// Whether it is less than nothing.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Whether it is nothing.
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// The sum; saturates. The format is the first one's unless that is zero, as in apimachinery.
    pub fn plus(self, other: Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_add(other.nanos), format }
    }

    fn canonical_format(self) -> Format {
        let small = self.nanos.unsigned_abs() < 1024 * UNIT.unsigned_abs();
        match self.format {
            Format::BinarySi if small || !self.is_whole() => Format::DecimalSi,
            Format::DecimalSi | Format::BinarySi | Format::DecimalExponent => self.format,
        }
    }
}

fn divide_away(nanos: i128, unit: i128) -> i128 {
    nanos / unit + if nanos % unit == 0 { 0 } else { nanos.signum() }
}

fn clamp(amount: i128) -> i64 {
    i64::try_from(amount).unwrap_or(if amount < 0 { i64::MIN } else { i64::MAX })
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// The parts of a quantity as `parseQuantityString` splits them.
struct Parts<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// Whether there is any digit, leading zeros included.
    digits: bool,
    suffix: &'a str,
}

/// What a suffix multiplies by.
enum Scale {
    /// A power of ten.
    Ten(i32, Format),
    /// A power of two.
    Two(u32),
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    /// As `resource.ParseQuantity` of apimachinery 0.36, its oddities included (`+`, `.` and `Ki` are 0).
    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        if text.is_empty() {
            return Err(ParseQuantityError::Format);
        }
        let parts = split(text)?;
        let (amount, format) = match scale(parts.suffix)? {
            Scale::Ten(exponent, format) => (decimal(&parts, exponent)?, format),
            // apimachinery reads short numbers on another path, which takes no digits for 0.
            Scale::Two(exponent) if !parts.digits && exponent >= 50 => return Err(ParseQuantityError::Numeric),
            Scale::Two(exponent) => binary(&parts, exponent),
        };
        Ok(Self { nanos: if parts.negative { -amount } else { amount }, format })
    }
}

fn split(text: &str) -> Result<Parts<'_>, ParseQuantityError> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (leading, rest) = span(unsigned, |byte| byte == b'0');
    let (whole, rest) = span(rest, |byte| byte.is_ascii_digit());
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => span(rest, |byte| byte.is_ascii_digit()),
        None => ("", rest),
    };
    let (_, exponent) = span(suffix, |byte| b"eEinumkKMGTP".contains(&byte));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseQuantityError::Format);
    }
    let digits = !(leading.is_empty() && whole.is_empty() && fraction.is_empty());
    let (whole, fraction) = (whole.as_bytes(), fraction.as_bytes());
    Ok(Parts { negative: text.starts_with('-'), whole, fraction, digits, suffix })
}

fn span(text: &str, inside: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|byte| !inside(byte)).unwrap_or(text.len());
    // `inside` accepts ASCII only, so `end` never lies within a character.
    text.split_at(end)
}

fn scale(suffix: &str) -> Result<Scale, ParseQuantityError> {
    let decimal = |exponent| Ok(Scale::Ten(exponent, Format::DecimalSi));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => Ok(Scale::Two(10)),
        "Mi" => Ok(Scale::Two(20)),
        "Gi" => Ok(Scale::Two(30)),
        "Ti" => Ok(Scale::Two(40)),
        "Pi" => Ok(Scale::Two(50)),
        "Ei" => Ok(Scale::Two(60)),
        _ => exponent(suffix),
    }
}

/// `e3`, `E-3`. apimachinery cuts the exponent to 32 bits without a look, and so do we.
fn exponent(suffix: &str) -> Result<Scale, ParseQuantityError> {
    let digits = suffix.strip_prefix(['e', 'E']).ok_or(ParseQuantityError::Suffix)?;
    let exponent: i64 = digits.parse().map_err(|_| ParseQuantityError::Suffix)?;
    Ok(Scale::Ten(exponent as i32, Format::DecimalExponent))
}

/// Nano-units of `whole.fraction * 10^exponent`, rounded up; saturates.
fn decimal(parts: &Parts<'_>, exponent: i32) -> Result<i128, ParseQuantityError> {
    let places = i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX);
    let shift = i64::from(exponent.wrapping_sub(places)) + 9;
    // As above.
    if !parts.digits && shift < 0 {
        return Err(ParseQuantityError::Numeric);
    }
    let digits = || parts.whole.iter().chain(parts.fraction);
    let len = parts.whole.len() + parts.fraction.len();
    let kept = len - usize::try_from(-shift).unwrap_or(0).min(len);
    let inexact = digits().skip(kept).any(|digit| *digit != b'0');
    let amount = number(digits().take(kept)).saturating_add(i128::from(inexact));
    Ok(times_ten(amount, shift))
}

fn number<'a>(digits: impl Iterator<Item = &'a u8>) -> i128 {
    digits.fold(0, |amount: i128, digit| amount.saturating_mul(10).saturating_add(i128::from(digit - b'0')))
}

fn times_ten(amount: i128, power: i64) -> i128 {
    if amount == 0 || power <= 0 {
        return amount;
    }
    let factor = u32::try_from(power).ok().and_then(|power| 10_i128.checked_pow(power));
    factor.map_or(i128::MAX, |factor| amount.saturating_mul(factor))
}

/// Nano-units of `whole.fraction * 2^exponent`, rounded up and capped; a number below 1 is written as a decimal again.
fn binary(parts: &Parts<'_>, exponent: u32) -> (i128, Format) {
    let factor = UNIT << exponent;
    let (mut part, mut inexact) = (0, false);
    // From the last digit to the first: floor((floor(x) + n) / 10) = floor((x + n) / 10) for whole n.
    for digit in parts.fraction.iter().rev() {
        part += i128::from(digit - b'0') * factor;
        inexact |= part % 10 != 0;
        part /= 10;
    }
    let whole = number(parts.whole.iter()).saturating_mul(factor);
    let amount = whole.saturating_add(part + i128::from(inexact)).min(BINARY_MAX);
    (amount, if (1..UNIT).contains(&amount) { Format::DecimalSi } else { Format::BinarySi })
}

impl fmt::Display for Quantity {
    /// The canonical form: no fraction, the largest suffix that loses nothing. Where apimachinery prints a decimal
    /// beyond `E` without any suffix (`1000E` becomes `1`), we print an exponent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        match self.canonical_format() {
            Format::DecimalSi => write_decimal(f, self.nanos, true),
            Format::DecimalExponent => write_decimal(f, self.nanos, false),
            Format::BinarySi => write_binary(f, self.nanos / UNIT),
        }
    }
}

fn write_decimal(f: &mut fmt::Formatter<'_>, nanos: i128, named: bool) -> fmt::Result {
    const SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    let (mut mantissa, mut thousands) = (nanos, 0);
    while mantissa % 1000 == 0 {
        mantissa /= 1000;
        thousands += 1;
    }
    match SUFFIXES.get(thousands) {
        Some(suffix) if named || suffix.is_empty() => write!(f, "{mantissa}{suffix}"),
        Some(_) | None => write!(f, "{mantissa}e{}", 3 * clamp(thousands as i128) - 9),
    }
}

fn write_binary(f: &mut fmt::Formatter<'_>, units: i128) -> fmt::Result {
    const SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let (mut mantissa, mut suffix) = (units, 0);
    while mantissa % 1024 == 0 && suffix + 1 < SUFFIXES.len() {
        mantissa /= 1024;
        suffix += 1;
    }
    write!(f, "{mantissa}{}", SUFFIXES[suffix])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Quantity {
        text.parse().unwrap()
    }

    #[test]
    fn amounts_round_up_and_saturate() {
        for (text, value, milli) in [
            ("1e2147483647", i64::MAX, i64::MAX),
            ("1e-2147483648", 1, 1),
            ("1.5", 2, 1500),
            ("0.1m", 1, 1),
            ("-1.5", -2, -1500),
            ("9223372036854775807Ei", i64::MAX, i64::MAX),
            ("1e300", i64::MAX, i64::MAX),
            ("-1e300", i64::MIN, i64::MIN),
        ] {
            assert_eq!((parse(text).value(), parse(text).milli_value()), (value, milli), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_canonical_form_reads_back(text in r"[+-]?[0-9]{0,20}(\.[0-9]{0,12})?(n|u|m||k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e-?[0-9]{1,2})") {
            if let Ok(quantity) = text.parse::<Quantity>() {
                let canonical = quantity.to_string();
                prop_assert_eq!(parse(&canonical), quantity);
                prop_assert_eq!(parse(&canonical).to_string(), canonical);
            }
        }

        #[test]
        fn any_text_parses_or_is_refused(text in ".{0,40}") {
            prop_assert!(text.parse::<Quantity>().is_ok() || text.parse::<Quantity>().is_err());
        }

        #[test]
        fn order_is_the_order_of_numbers(left in any::<i32>(), right in any::<i32>()) {
            let (a, b) = (parse(&format!("{left}m")), parse(&format!("{right}m")));
            prop_assert_eq!(a.cmp(&b), left.cmp(&right));
            prop_assert_eq!(a.milli_value(), i64::from(left));
        }
    }
}
