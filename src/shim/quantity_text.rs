//! Reads the text of a quantity exactly as apimachinery does.

/// Nano-units in one unit.
pub(super) const UNIT: i128 = 1_000_000_000;
/// The most that a quantity with a binary suffix can be: 2^63-1 units, as in apimachinery.
const BINARY_MAX: i128 = i64::MAX as i128 * UNIT;

/// How a quantity was written and is written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
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

/// Nano-units and how they are written.
pub(super) fn parse(text: &str) -> Result<(i128, Format), ParseQuantityError> {
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
    Ok((if parts.negative { -amount } else { amount }, format))
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
