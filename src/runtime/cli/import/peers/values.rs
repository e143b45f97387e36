//! Values of the chart, of what configurations of schedulers say, and what of it has no value.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::arguments::Argument;
use super::profiles::{DEFAULT_SCHEDULER, GANGS, Gangs, Profile, Setup};
use super::{Made, Object};
use crate::api::names;
use crate::core::model::countdown::Deadline;
use crate::runtime::cli::import::report::{Fate, Report};
use crate::runtime::cli::import::values::put;
use crate::runtime::cli::source::Place;
use crate::shim::dialect::WAIT_TIMEOUT_SECONDS;
use crate::shim::dialect::pod_group::System;
use crate::shim::group_check::range_of;

/// The words of a dialect that is on where nothing is said of it.
const YUNIKORN: &str = "yunikorn";

/// Adds what these configurations say, and the systems that they are of. The answer is how many seconds a gang waits that does not
/// say it.
pub(super) fn add(setups: &[(&Object, Setup)], systems: &mut BTreeSet<System>, made: &mut Made<'_>) -> u32 {
    let (mut names, mut waits) = (vec![names::SCHEDULER], Waits::default());
    for (object, setup) in setups {
        for field in &setup.fields {
            let of = object.place(field.at, "of all profiles");
            made.report.look_up(&format!("scheduler.{}", field.text), &of, "");
        }
        for profile in &setup.profiles {
            let of = Of { object, profile };
            match &profile.gangs {
                Some(gangs) => {
                    systems.insert(gangs.system);
                    names.extend(of.name(made.report).filter(|name| !names.contains(name)));
                    of.tell_plugins(made.report);
                    of.tell_arguments(gangs, &mut waits, made.report);
                }
                None => {
                    made.report.look_up("profile", &of.at(profile.at), "");
                }
            }
        }
    }
    if names.len() > 1 {
        put(made.values, "config.schedulerNames", json!(names));
    }
    if let Some(seconds) = waits.counts {
        put(made.values, "config.defaultWaitTimeout", format!("{seconds}s").into());
    }
    let counts = waits.counts.unwrap_or(WAIT_TIMEOUT_SECONDS);
    for of in &waits.unset {
        made.report.look_up("CoschedulingArgs.permitWaitingTimeSeconds.unset", of, &format!("→ {counts}s"));
    }
    counts
}

/// Has the words of these systems understood, beside those that are anyway. What that does to others in the cluster is told.
pub(super) fn speak(systems: &BTreeSet<System>, made: &mut Made<'_>) {
    let word = |system: &System| match system {
        System::Koordinator => "koordinator",
        System::Coscheduling => "coscheduling",
        System::Volcano => "volcano",
        System::Kubernetes => "kubernetes",
    };
    for system in systems.iter().filter(|system| system.lets_in()) {
        made.report.look_up("PodGroup.status.phase", "config.dialects", word(system));
    }
    // YuniKorn's configuration may have switched its own words off.
    let is_off = made.values["config"].get("dialects").is_some();
    let own = Some(YUNIKORN).filter(|_| !is_off);
    if !systems.is_empty() {
        let words: Vec<&str> = own.into_iter().chain(systems.iter().map(word)).collect();
        put(made.values, "config.dialects", json!(words));
    }
}

/// How long gangs wait that do not say it: one time for all.
#[derive(Debug, Default)]
struct Waits {
    counts: Option<u32>,
    /// Profiles that do not say it.
    unset: Vec<String>,
}

impl Waits {
    /// Takes what one profile says. The first one counts.
    fn take(&mut self, seconds: u64, word: &str, of: &str, report: &mut Report) {
        let (least, most) = range_of(Deadline::Wait);
        let taken = u32::try_from(seconds).map_or(most, |seconds| seconds.clamp(least, most));
        if u64::from(taken) != seconds {
            let note = format!("it is {taken}s, since it must be from {least}s to {most}s");
            report.add(Fate::Different, word, &note, of, &format!("{seconds}s"));
        }
        let counts = *self.counts.get_or_insert(taken);
        if counts != taken {
            let note = format!("one time counts for all profiles: the first, {counts}s");
            report.add(Fate::Lost, word, &note, of, &format!("{taken}s"));
        }
    }
}

/// A profile, of which something is told.
struct Of<'a> {
    object: &'a Object,
    profile: &'a Profile,
}

impl<'a> Of<'a> {
    fn at(&self, at: Place) -> String {
        self.object.place(at, &format!("profile {}", self.profile.name.text))
    }

    /// The name that is served here too, if it can be.
    fn name(&self, report: &mut Report) -> Option<&'a str> {
        let name = &self.profile.name;
        let is_default = name.text == DEFAULT_SCHEDULER;
        let word = if is_default { "profile.schedulerName.default-scheduler" } else { "profile.schedulerName" };
        report.look_up(word, &self.at(name.at), &name.text).map(|_| &*name.text)
    }

    /// Each plugin once, where it stands first.
    fn tell_plugins(&self, report: &mut Report) {
        let Profile { enabled, disabled, configured, percentage, .. } = self.profile;
        let configured = configured.iter().map(|configured| &configured.name);
        let mut plugins = BTreeMap::new();
        for plugin in enabled.iter().chain(configured) {
            plugins.entry(format!("plugin.{}", plugin.text)).or_insert(plugin.at);
        }
        for plugin in disabled.iter().filter(|plugin| plugin.text != "*") {
            plugins.entry(format!("plugin.disabled.{}", plugin.text)).or_insert(plugin.at);
        }
        plugins.extend(percentage.map(|at| ("scheduler.percentageOfNodesToScore".to_owned(), at)));
        for (word, at) in plugins {
            report.look_up(&word, &self.at(at), "");
        }
    }

    fn tell_arguments(&self, gangs: &Gangs, waits: &mut Waits, report: &mut Report) {
        let at = self.profile.at;
        if !gangs.enabled {
            let note = "it is told something and enabled nowhere, so that there are no gangs with it; here there are";
            report.add(Fate::Different, &format!("plugin.{GANGS}"), note, &self.at(at), "");
        }
        for Argument { at, name, text, wait_seconds } in &gangs.arguments {
            let (word, of) = (format!("CoschedulingArgs.{name}"), self.at(*at));
            report.look_up(&word, &of, text);
            if let Some(seconds) = wait_seconds {
                waits.take(*seconds, &word, &of, report);
            }
        }
        let says_wait = gangs.arguments.iter().any(|argument| argument.wait_seconds.is_some());
        if gangs.system == System::Coscheduling && !says_wait {
            waits.unset.push(self.at(at));
        }
    }
}
