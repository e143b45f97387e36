//! The end-to-end suite: Gangline against a real API server, controllers and pretended nodes.
//!
//!     cargo run --example lab -- tools        # once: builds the control plane's programs
//!     cargo test --test e2e                   # everything
//!     cargo test --test e2e -- gang           # tests whose name contains "gang"
//!     E2E_KUBECONFIG=… cargo test --test e2e  # on a cluster that is there; says what it leaves out
//!
//! Environment: `E2E_KWOK=1` if kwok plays nodes on that cluster, `E2E_REAL=1` if its nodes run containers, hold the images
//! that tests need and have nothing else to do (`scripts/kind`), `E2E_KEEP=1` to keep what the tests make there,
//! `E2E_GANGLINE=…` to test another program than the one just built (a release build, an older version).
#![allow(clippy::print_stdout, reason = "a test harness of its own: it prints what it found")]

mod access;
mod api;
mod beside;
mod bounds;
mod breakage;
mod chart;
mod conformance;
mod control_plane;
mod crash;
mod encodings;
mod faults;
mod fit;
mod gangs;
#[allow(dead_code, reason = "the vocabulary of tests; not every word is in use at all times")]
mod harness;
mod install;
mod limits;
mod losses;
mod real;
mod replicas;
mod rights;
mod schemas;
#[allow(dead_code, unreachable_pub, reason = "shared with the lab; each uses its part")]
mod support;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The Spark operator calls this program by that name.
    if std::env::args_os().next().is_some_and(|name| Path::new(&name).file_name() == Some("spark-submit".as_ref())) {
        return gangs::spark_submit();
    }
    let suite = [
        control_plane::tests(),
        api::tests(),
        schemas::tests(),
        encodings::tests(),
        conformance::tests(),
        fit::tests(),
        gangs::tests(),
        chart::tests(),
        install::tests(),
        losses::tests(),
        real::tests(),
        faults::tests(),
        rights::tests(),
        access::tests(),
        limits::tests(),
        crash::tests(),
        replicas::tests(),
    ];
    let mut suite: Vec<_> = suite.into_iter().flatten().collect();
    let page = beside::test(&suite);
    suite.push(page);
    harness::runner::run(suite)
}
