//! What the API server denies us: said once in the log, and shown until it is granted.

use std::collections::BTreeMap;

use super::outbox::Slot;
use super::target::Target;
use crate::core::ids::Text;
use crate::core::reason::Refusal;
use crate::shim::op::Kind;

/// A verb and a resource, as a rule of a role has them.
type Rule = (&'static str, &'static str);

/// Verbs and resources that are denied to us or fail again and again, with the server's words.
#[derive(Clone, Debug, Default)]
pub(super) struct Denied(BTreeMap<Rule, Refusal>);

impl Denied {
    /// A call was refused for good. A missing right is said; quotas and admission speak of one object, which shows it.
    pub(super) fn call_refused(&mut self, slot: Slot, key: &Target, refusal: &Refusal) {
        if is_missing_right(refusal.code, &refusal.message) {
            self.note(rule(slot, key), refusal.clone());
        }
    }

    /// A call waits for another try, for the third time or for long.
    pub(super) fn call_held_up(&mut self, slot: Slot, key: &Target, refusal: Refusal) {
        self.note(rule(slot, key), refusal);
    }

    /// A call was carried out.
    pub(super) fn call_works(&mut self, slot: Slot, key: &Target) {
        self.grant(rule(slot, key));
    }

    /// A list or watch broke; `message` begins with its verb.
    pub(super) fn watch_broke(&mut self, kind: Kind, code: u16, message: &Text) {
        if matches!(code, 401 | 403) {
            let verb = if message.starts_with("watch ") { "watch" } else { "list" };
            self.note((verb, kind.plural()), Refusal { code, message: message.clone() });
        }
    }

    /// A kind was listed, so that it is watched next.
    pub(super) fn watch_works(&mut self, kind: Kind) {
        self.grant(("list", kind.plural()));
        self.grant(("watch", kind.plural()));
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Rule, &Refusal)> {
        self.0.iter()
    }

    fn note(&mut self, rule: Rule, refusal: Refusal) {
        let (verb, resource) = rule;
        let (code, message) = (refusal.code, &refusal.message);
        match code {
            _ if self.0.contains_key(&rule) => {}
            401 | 403 => tracing::warn!(verb, resource, code, %message, "the API server denies a call"),
            _ => tracing::warn!(verb, resource, code, %message, "a call fails again and again; it is tried on"),
        }
        self.0.insert(rule, refusal);
    }

    fn grant(&mut self, rule: Rule) {
        if self.0.remove(&rule).is_some() {
            let (verb, resource) = rule;
            tracing::info!(verb, resource, "the call works again");
        }
    }
}

/// The words of the API server where the right is missing; it has no code of its own. For display only.
fn is_missing_right(code: u16, message: &str) -> bool {
    code == 401 || code == 403 && message.contains("forbidden: User ")
}

fn rule(slot: Slot, key: &Target) -> Rule {
    match (slot, key) {
        (Slot::Bind, _) => ("create", "pods/binding"),
        (Slot::Delete, _) => ("delete", "pods"),
        (Slot::Create, _) => ("create", "pods"),
        (Slot::Condition, _) => ("patch", "pods/status"),
        (Slot::Status, Target::Queue(_)) => ("patch", "queues/status"),
        (Slot::Status, _) => ("patch", "taskgroups/status"),
        (Slot::Event, _) => ("create", "events"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_is_told_from_a_quota() {
        let key = Target::Event(1);
        let refusal = |code, message: &str| Refusal { code, message: message.into() };
        for (code, message, noted) in [
            (403, "create pods: pods is forbidden: User \"u\" cannot create resource \"pods\"", true),
            (403, "create pods: pods \"a\" is forbidden: exceeded quota: q", false),
            (422, "invalid", false),
            (401, "Unauthorized", true),
        ] {
            let mut denied = Denied::default();
            denied.call_refused(Slot::Create, &key, &refusal(code, message));
            assert_eq!(denied.iter().map(|(rule, _)| *rule).next(), noted.then_some(("create", "pods")), "{message}");
            denied.call_works(Slot::Create, &key);
            assert_eq!(denied.iter().count(), 0);
        }
    }

    #[test]
    fn a_watch_is_denied_by_its_verb_until_its_kind_is_listed() {
        let mut denied = Denied::default();
        denied.watch_broke(Kind::Pod, 0, &"list pods: refused".into());
        denied.watch_broke(Kind::Pod, 403, &"list pods: forbidden".into());
        denied.watch_broke(Kind::Node, 403, &"watch nodes: forbidden".into());
        assert_eq!(denied.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), [("list", "pods"), ("watch", "nodes")]);
        denied.watch_works(Kind::Pod);
        denied.watch_works(Kind::Node);
        assert_eq!(denied.iter().count(), 0);
    }
}
