//! Kubernetes quantities (`500m`, `4Gi`, `1e3`) as exact numbers: the API server's grammar, rounding and canonical
//! form.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

pub use super::quantity_text::ParseQuantityError;
use super::quantity_text::{Format, UNIT, parse};

/// Nano-units in one milli-unit.
const MILLI: i128 = 1_000_000;

/// A quantity in nano-units. Finer ones are rounded away from zero, as apimachinery does ("if you want some resources,
/// you should get some"). What goes beyond `i128` (1.7e29 units) is the largest number there is; apimachinery keeps
/// such numbers exactly, but its own `Value()` overflows on them. Ordered and equal by amount alone.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    format: Format,
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

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    /// As `resource.ParseQuantity` of apimachinery 0.36, its oddities included (`+`, `.` and `Ki` are 0).
    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        parse(text).map(|(nanos, format)| Self { nanos, format })
    }
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

    fn read(text: &str) -> Quantity {
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
            assert_eq!((read(text).value(), read(text).milli_value()), (value, milli), "{text}");
        }
    }

    #[test]
    fn nothing_is_not_less_than_nothing() {
        assert_eq!(["-1n", "0", "1n"].map(|text| read(text).is_negative()), [true, false, false]);
    }

    #[test]
    fn there_is_no_suffix_beyond_the_last() {
        let sum = |one: &str| (1..1024).fold(read(one), |sum, _| sum.plus(read(one)));
        assert_eq!((sum("1Ei").to_string(), sum("1E").to_string()), ("1024Ei".to_owned(), "1024E".to_owned()));
    }

    proptest! {
        #[test]
        fn the_canonical_form_reads_back(text in r"[+-]?[0-9]{0,20}(\.[0-9]{0,12})?(n|u|m||k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e-?[0-9]{1,2})") {
            if let Ok(quantity) = text.parse::<Quantity>() {
                let canonical = quantity.to_string();
                prop_assert_eq!(read(&canonical), quantity);
                // `31.25Ki` is written `32000`, which read again is a decimal and written `32k`, as in apimachinery;
                // that is the end of it.
                let again = read(&canonical).to_string();
                prop_assert_eq!(read(&again).to_string(), again);
            }
        }

        #[test]
        fn any_text_parses_or_is_refused(text in ".{0,40}") {
            prop_assert!(text.parse::<Quantity>().is_ok() || text.parse::<Quantity>().is_err());
        }

        #[test]
        fn order_is_the_order_of_numbers(left in any::<i32>(), right in any::<i32>()) {
            let (a, b) = (read(&format!("{left}m")), read(&format!("{right}m")));
            prop_assert_eq!(a.cmp(&b), left.cmp(&right));
            prop_assert_eq!(a.milli_value(), i64::from(left));
        }
    }
}
