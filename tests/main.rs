//! Checks of shipped files, and of the pure layers against data.

mod crds;
mod quantities;
mod requests;
