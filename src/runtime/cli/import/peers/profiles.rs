//! A `KubeSchedulerConfiguration` as kube-scheduler reads it: strictly. It says whose pods are placed with which plugins; gangs are
//! those of the plugin Coscheduling.

use std::collections::BTreeSet;

use super::SCHEDULER;
use super::arguments::{self, Argument};
use crate::runtime::cli::import::config::{Reader, Said};
use crate::runtime::cli::source::{Entry, Node, Place};
use crate::shim::dialect::pod_group::System;
use crate::shim::syntax::is_dns_subdomain;

/// The plugin by which there are gangs. Both systems call it so.
pub(super) const GANGS: &str = "Coscheduling";
/// The scheduler of pods that name none.
pub(super) const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// Versions of the kind that have profiles, and the fields below.
const VERSIONS: [&str; 4] = [
    "kubescheduler.config.k8s.io/v1",
    "kubescheduler.config.k8s.io/v1beta3",
    "kubescheduler.config.k8s.io/v1beta2",
    "kubescheduler.config.k8s.io/v1beta1",
];
/// Fields beside the profiles, in any of these versions.
const FIELDS: [&str; 12] = [
    "parallelism",
    "leaderElection",
    "clientConnection",
    "healthzBindAddress",
    "metricsBindAddress",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "extenders",
    "delayCacheUntilActive",
];
/// Where plugins are enabled.
const POINTS: [&str; 13] = [
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "multiPoint",
];
/// Plugins that Koordinator has and scheduler-plugins has not.
const OF_KOORDINATOR: [&str; 8] = [
    "DeviceShare",
    "ElasticQuota",
    "LoadAwareScheduling",
    "NodeNUMAResource",
    "NodeResourcesFitPlus",
    "Reservation",
    "ScarceResourceAvoidance",
    "DefaultPreBind",
];
/// Koordinator's scheduler, as its chart names it.
const KOORDINATOR_SCHEDULER: &str = "koord-scheduler";

/// What a configuration says.
#[derive(Debug, Default)]
pub(super) struct Setup {
    /// Fields beside the profiles.
    pub(super) fields: Vec<Said>,
    pub(super) profiles: Vec<Profile>,
}

/// A scheduler name, and how its pods are placed.
#[derive(Debug, Default)]
pub(super) struct Profile {
    pub(super) at: Place,
    pub(super) name: Said,
    /// Where `percentageOfNodesToScore` stands, if it does.
    pub(super) percentage: Option<Place>,
    /// At any point; a plugin may be there several times.
    pub(super) enabled: Vec<Said>,
    pub(super) disabled: Vec<Said>,
    pub(super) configured: Vec<Configured>,
    /// The gangs of its pods, if there are any.
    pub(super) gangs: Option<Gangs>,
}

/// What a plugin is told.
#[derive(Debug, Default)]
pub(super) struct Configured {
    pub(super) name: Said,
    pub(super) arguments: Vec<Entry>,
}

/// How gangs are placed.
#[derive(Debug)]
pub(super) struct Gangs {
    pub(super) system: System,
    /// Whether the plugin is enabled, and not only told something.
    pub(super) enabled: bool,
    pub(super) arguments: Vec<Argument>,
}

/// Reads a configuration.
pub(super) fn read(node: &Node, api_version: &str, reader: &mut Reader) -> Setup {
    let mut setup = Setup::default();
    if !VERSIONS.contains(&api_version) {
        let problem = format!("apiVersion {api_version:?} of {SCHEDULER} is not read: {} are", VERSIONS.join(", "));
        reader.wrong(node.place_of("apiVersion"), problem);
        return setup;
    }
    reader.fields(node, SCHEDULER, |reader, entry| {
        match &*entry.key {
            "apiVersion" | "kind" => {}
            "profiles" => setup.profiles = reader.list(&entry.value, profile),
            key if FIELDS.contains(&key) => setup.fields.push(Said { at: entry.at, text: entry.key.clone() }),
            _ => return false,
        }
        true
    });
    check(&setup.profiles, reader);
    setup.profiles.iter_mut().for_each(|profile| profile.gangs = gangs(profile, reader));
    if setup.profiles.iter().all(|profile| profile.gangs.is_none()) {
        let problem = format!("no profile enables {GANGS}: neither Koordinator nor scheduler-plugins has gangs here");
        reader.wrong(node.place_of("profiles"), problem);
    }
    setup
}

fn profile(reader: &mut Reader, node: &Node) -> Profile {
    let name = Said { at: node.at, text: DEFAULT_SCHEDULER.to_owned() };
    let mut profile = Profile { at: node.at, name, ..Profile::default() };
    reader.fields(node, "a profile", |reader, entry| {
        let value = &entry.value;
        match &*entry.key {
            "schedulerName" => profile.name = reader.text(value),
            "percentageOfNodesToScore" => profile.percentage = Some(entry.at),
            "plugins" => plugins(reader, value, &mut profile),
            "pluginConfig" => profile.configured = reader.list(value, configured),
            _ => return false,
        }
        true
    });
    profile
}

fn plugins(reader: &mut Reader, node: &Node, profile: &mut Profile) {
    reader.fields(node, "plugins", |reader, point| {
        reader.fields(&point.value, "the plugins of an extension point", |reader, entry| {
            match &*entry.key {
                "enabled" => profile.enabled.extend(reader.list(&entry.value, plugin)),
                "disabled" => profile.disabled.extend(reader.list(&entry.value, plugin)),
                _ => return false,
            }
            true
        });
        POINTS.contains(&&*point.key)
    });
}

fn plugin(reader: &mut Reader, node: &Node) -> Said {
    let mut name = Said { at: node.at, text: String::new() };
    reader.fields(node, "a plugin", |reader, entry| {
        match &*entry.key {
            "name" => name = reader.text(&entry.value),
            "weight" => _ = reader.number(&entry.value),
            _ => return false,
        }
        true
    });
    must_be_named(&name, node, reader);
    name
}

fn configured(reader: &mut Reader, node: &Node) -> Configured {
    let mut configured = Configured::default();
    reader.fields(node, "an item of pluginConfig", |reader, entry| {
        match &*entry.key {
            "name" => configured.name = reader.text(&entry.value),
            "args" => reader.fields(&entry.value, "args", |_, argument| {
                configured.arguments.push(argument.clone());
                true
            }),
            _ => return false,
        }
        true
    });
    must_be_named(&configured.name, node, reader);
    configured
}

fn must_be_named(name: &Said, node: &Node, reader: &mut Reader) {
    if name.text.is_empty() {
        reader.wrong(node.at, "must have a name: that of a plugin");
    }
}

/// Names that are none, or are there twice.
fn check(profiles: &[Profile], reader: &mut Reader) {
    let mut names = BTreeSet::new();
    for profile in profiles {
        let name = &profile.name;
        if !is_dns_subdomain(&name.text) {
            reader.wrong(name.at, format!("{:?} is no name of a scheduler: it must be a DNS subdomain", name.text));
        }
        if !names.insert(&name.text) {
            reader.wrong(name.at, format!("there is a profile {} here already", name.text));
        }
        let mut plugins = BTreeSet::new();
        for Configured { name, .. } in &profile.configured {
            if !plugins.insert(&name.text) {
                reader.wrong(name.at, format!("plugin {} is told something here already", name.text));
            }
        }
    }
}

/// The gangs of a profile. Whose they are its arguments tell, or else the plugins beside them.
fn gangs(profile: &Profile, reader: &mut Reader) -> Option<Gangs> {
    let enabled = profile.enabled.iter().any(|plugin| plugin.text == GANGS);
    let told = profile.configured.iter().find(|configured| configured.name.text == GANGS);
    if !enabled && told.is_none() {
        return None;
    }
    let entries = told.map(|told| &*told.arguments).unwrap_or_default();
    let system = arguments::system(entries)
        .unwrap_or_else(|| if is_koordinator(profile) { System::Koordinator } else { System::Coscheduling });
    Some(Gangs { system, enabled, arguments: arguments::read(system, entries, reader) })
}

fn is_koordinator(profile: &Profile) -> bool {
    let configured = profile.configured.iter().map(|configured| &configured.name);
    let mut plugins = profile.enabled.iter().chain(configured);
    profile.name.text == KOORDINATOR_SCHEDULER || plugins.any(|plugin| OF_KOORDINATOR.contains(&&*plugin.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::cli::import::equivalents;

    #[test]
    fn the_table_of_equivalents_has_every_field_and_plugin() {
        let fields = FIELDS.iter().map(|field| format!("scheduler.{field}"));
        let known = OF_KOORDINATOR
            .iter()
            .filter(|plugin| !["NodeResourcesFitPlus", "ScarceResourceAvoidance"].contains(plugin));
        for word in fields.chain(known.map(|plugin| format!("plugin.{plugin}"))) {
            assert_eq!(equivalents::of(&word).word, word);
        }
    }
}
