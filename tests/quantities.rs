//! Our quantities against golden vectors of Kubernetes' own implementation (tests/golden/quantities.txt).

use std::cmp::Ordering;

use gangline::shim::quantity::{ParseQuantityError, Quantity};

const GOLDEN: &str = include_str!("golden/quantities.txt");

fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    GOLDEN.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn word(error: ParseQuantityError) -> &'static str {
    match error {
        ParseQuantityError::Format => "!format",
        ParseQuantityError::Numeric => "!numeric",
        ParseQuantityError::Suffix => "!suffix",
    }
}

#[test]
fn every_vector_reads_as_in_kubernetes() {
    for row in rows() {
        let quantity: Quantity = match row[0].parse() {
            Ok(quantity) => quantity,
            Err(error) => {
                assert_eq!(word(error), row[1], "{row:?}");
                continue;
            }
        };
        // What goes beyond our range is the largest number; what Kubernetes prints wrongly we print rightly.
        if !quantity.is_saturated() && !row[1].starts_with('~') {
            assert_eq!(quantity.to_string(), row[1], "{row:?}");
        }
        assert_eq!(quantity.value().to_string(), row[2], "{row:?}");
        assert_eq!(quantity.milli_value().to_string(), row[3], "{row:?}");
    }
}

#[test]
fn vectors_are_in_kubernetes_order() {
    let mut before: Option<Quantity> = None;
    for row in rows().filter(|row| row.len() > 2) {
        let quantity: Quantity = row[0].parse().unwrap();
        if let Some(before) = before {
            let equal = row[5] == "=" || quantity.is_saturated() && before.is_saturated();
            assert_eq!(before.cmp(&quantity), if equal { Ordering::Equal } else { Ordering::Less }, "{row:?}");
        }
        before = Some(quantity);
    }
}

#[test]
fn there_are_vectors() {
    assert!(rows().count() > 700);
}
