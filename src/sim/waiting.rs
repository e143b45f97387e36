//! Pods that have no node in the end, and why: in the words that the scheduler has for it in the end.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use serde::Serialize;

use super::api::{Api, has_ended, is_gated};
use crate::api::names;
use crate::core::base::ids::{AskId, Key};
use crate::core::codes::Code;
use crate::core::event::Role;
use crate::core::reason::AskReason;
use crate::core::step::Scheduler;
use crate::shim::observation::Body;
use crate::shim::op::Kind;
use crate::shim::pod::label;

/// Pods that wait for the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// `namespace/name` of the TaskGroup that they are members of.
    pub gang: Option<String>,
    /// `namespace/name` of each, in order.
    pub pods: Vec<String>,
    /// The reason, as at the condition `PodScheduled`.
    pub reason: String,
    /// The sentence.
    pub message: String,
}

/// All that wait; members of gangs first, by gang.
pub(super) fn all(api: &Api, core: &Scheduler) -> Vec<Waiting> {
    let asks: BTreeMap<&Key, AskId> = core.books.asks.iter().map(|(id, ask)| (&ask.spec.key, id)).collect();
    let mut words = Words { core, last: None };
    let mut groups: BTreeMap<(bool, Option<String>, String, String), Vec<String>> = BTreeMap::new();
    for (key, body) in api.store.of_kind(Kind::Pod) {
        let Some(pod) = without_node(body) else { continue };
        let gang = label(pod, names::TASK_GROUP).map(|name| key.beside(&name.into()));
        let (reason, message) = words.of(pod, asks.get(key).copied(), gang.as_ref());
        let gang = gang.map(|gang| gang.to_string());
        groups.entry((gang.is_none(), gang, reason, message)).or_default().push(key.to_string());
    }
    let waiting = |((_, gang, reason, message), pods)| Waiting { gang, pods, reason, message };
    groups.into_iter().map(waiting).collect()
}

fn without_node(body: &Body) -> Option<&Pod> {
    let Body::Pod(pod) = body else { return None };
    let bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    (!bound && !has_ended(pod)).then_some(pod)
}

struct Words<'a> {
    core: &'a Scheduler,
    /// A sentence can take a look at every node: pods that wait for the same share it.
    last: Option<(AskReason, String)>,
}

impl Words<'_> {
    /// Code and sentence.
    fn of(&mut self, pod: &Pod, ask: Option<AskId>, gang: Option<&Key>) -> (String, String) {
        if let Some(reason) = ask.and_then(|ask| self.core.ask_reason(ask)) {
            return (reason.code().name().to_owned(), self.sentence(reason));
        }
        let spec = pod.spec.as_ref();
        let scheduler = spec.and_then(|spec| spec.scheduler_name.as_deref()).unwrap_or("default-scheduler");
        if ask.is_none_or(|ask| self.core.books.asks[ask].spec.role == Role::Foreign) {
            return ("NotOurs".to_owned(), format!("it names the scheduler {scheduler}, which is not played"));
        }
        if is_gated(pod) {
            return ("SchedulingGated".to_owned(), "its scheduling gates are not removed by anybody".to_owned());
        }
        // It goes on by itself, if its gang does.
        let group = gang.and_then(|gang| self.core.books.group_ids.get(gang)).copied();
        let report = group.and_then(|group| self.core.group_report(group));
        let message = group.map(|group| self.core.group_message(group));
        report.zip(message).map_or_else(
            || (Code::Submitted.name().to_owned(), "not planned yet".to_owned()),
            |(report, message)| (report.reason.name().to_owned(), message),
        )
    }

    fn sentence(&mut self, reason: AskReason) -> String {
        match &self.last {
            Some((last, sentence)) if *last == reason => sentence.clone(),
            Some(_) | None => {
                let sentence = self.core.ask_message(&reason);
                self.last = Some((reason, sentence.clone()));
                sentence
            }
        }
    }
}
