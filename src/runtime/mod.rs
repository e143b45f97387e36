//! The shell: the only place with a Kubernetes client, tokio, clocks and environment. Command line, HTTP, metrics.

mod ahead;
pub mod args;
pub mod cli;
pub mod client;
pub mod clock;
pub mod driver;
pub mod execute;
pub mod http;
mod item;
pub mod lease;
pub mod metrics;
pub mod run;
pub mod settings;
pub mod shell;
pub mod telemetry;
pub mod text;
mod transport;
pub mod watch;
