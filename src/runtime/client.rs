//! How the client of the API server is set up for scheduling.

use std::time::Duration;

/// A server on the same network answers a connection in milliseconds; a pod on a dead node has none at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest silence of a connection: above a watch's own 55 s (`watch::WATCH_SECONDS`), below what F22 allows.
const READ_TIMEOUT: Duration = Duration::from_secs(65);
/// Our requests fit into a few packets: a write that takes longer has nobody at the other end.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);

/// The configuration with which every call is sent once and no connection stays silently dead.
///
/// kube retries 429, 503 and 504 of every method up to 15 times by default, Binding POSTs too: a 504 that took effect
/// would come back as a 409. What is repeated is the outbox's decision alone.
#[must_use]
pub fn configure(mut config: kube::Config) -> kube::Config {
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    config.write_timeout = Some(WRITE_TIMEOUT);
    // Otherwise the time a connection lay idle in the pool would count against its next answer.
    config.reset_reader_on_write = true;
    config
}
