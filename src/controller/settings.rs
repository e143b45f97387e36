//! What an administrator sets.

use crate::core::base::ids::Text;
use crate::shim::dialect::Dialect;

/// Settings of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Values of `spec.schedulerName` that are served; placeholders bear the first.
    pub scheduler_names: Vec<Text>,
    /// Image of placeholders.
    pub placeholder_image: Text,
    /// Pods that a marker of another system makes a gang's are placed one by one.
    pub ignore_foreign_markers: bool,
    /// Other systems whose words on pods are understood.
    pub dialects: Vec<Dialect>,
    /// Seconds that a gang in such words waits, where these have a default for that and its pods do not say it.
    pub default_wait_timeout_seconds: u32,
    /// Admission writes who submitted an object, and nobody else can.
    pub submitters: bool,
    /// The most placeholders that a gang may ask for.
    pub max_placeholders: u32,
    /// Drawn once per process: call numbers and event names are unique over processes.
    pub instance: u64,
}
