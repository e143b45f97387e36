//! Free TCP ports on loopback.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use super::error::{Error, Result};

/// Below the range from which Linux takes ports of outgoing connections, so that a component can be restarted on its port.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A port that nothing listens on and that no one else in this process was given.
///
/// Another process may still take it before it is used; a component that finds its port taken is an error that names it.
pub fn free() -> Result<u16> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut given = GIVEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let start = somewhere();
    let candidates = (0..COUNT).map(|step| FIRST + (start + step) % COUNT);
    let port =
        candidates.into_iter().find(|port| !given.contains(port) && TcpListener::bind(("127.0.0.1", *port)).is_ok());
    let port = port.ok_or_else(|| Error::new("no free TCP port on 127.0.0.1"))?;
    given.insert(port);
    Ok(port)
}

/// A place to begin looking that differs between processes started at the same time.
fn somewhere() -> u16 {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
    let mixed =
        u64::from(nanos / 1000).wrapping_mul(2_654_435_761) ^ u64::from(std::process::id()).wrapping_mul(40_503);
    u16::try_from(mixed % u64::from(COUNT)).unwrap_or(0)
}
