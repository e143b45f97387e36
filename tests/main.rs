//! Checks of the repository and of the pure layers together: no network, no clock, no control plane.

#[cfg(feature = "runtime")]
mod charts;
#[cfg(feature = "runtime")]
mod crds;
mod quantities;
mod requests;
mod spec_gang;
mod support;
mod tidy;
