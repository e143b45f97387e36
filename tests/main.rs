//! Checks of the repository and of the pure layers together: no network, no clock, no control plane.

mod charts;
mod crds;
mod quantities;
mod spec_gang;
mod support;
mod tidy;
