//! What a Queue says of users and groups (design 01, 1.2.3).

use std::collections::BTreeSet;

use super::{LIMITS, read_amounts};
use crate::api::queue::SubmitterLimit as Said;
use crate::core::base::ids::Text;
use crate::core::event::SubmitterLimit;
use crate::shim::spec_errors::Errors;
use crate::shim::submitter;

/// Most limits of one queue.
const MOST: usize = 32;
/// Most users, or groups, of one limit.
const NAMES_MOST: usize = 64;

pub(super) fn read(said: &[Said], errors: &mut Errors) -> Vec<SubmitterLimit> {
    errors.unless(said.len() <= MOST, LIMITS, format!("must be at most {MOST}, are {}", said.len()));
    let (mut users, mut groups) = (BTreeSet::new(), BTreeSet::new());
    let limits = said.iter().take(MOST).enumerate().map(|(number, limit)| {
        let at = format!("{LIMITS}[{number}]");
        errors.unless(!limit.users.is_empty() || !limit.groups.is_empty(), &at, "names neither users nor groups");
        let limits_something = !limit.max.is_empty() || limit.max_applications.is_some();
        errors.unless(limits_something, &at, "limits nothing: it has neither max nor maxApplications");
        SubmitterLimit {
            users: names(&format!("{at}.users"), &limit.users, &mut users, errors),
            groups: names(&format!("{at}.groups"), &limit.groups, &mut groups, errors),
            max: read_amounts(&format!("{at}.max"), &limit.max, errors),
            max_applications: limit.max_applications,
        }
    });
    limits.collect()
}

/// Names of users or groups, each once in a queue: which of two limits counts would be hard to tell.
fn names(field: &str, said: &[String], known: &mut BTreeSet<Text>, errors: &mut Errors) -> Vec<Text> {
    errors.unless(said.len() <= NAMES_MOST, field, format!("must be at most {NAMES_MOST}, are {}", said.len()));
    let mut names = Vec::new();
    for name in said.iter().take(NAMES_MOST).map(|name| submitter::name(name)) {
        errors.unless(!name.is_empty(), field, "has an empty name");
        errors.unless(known.insert(name.clone()), field, format!("names {name}, whom this queue names already"));
        names.push(name);
    }
    names
}
