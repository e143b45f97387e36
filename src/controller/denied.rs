//! What the API server denies us, fails at, or does in part: said once in the log, and shown until it works.

use std::collections::BTreeMap;

use super::APPLY_KINDS;
use super::outbox::Why;
use crate::core::base::ids::Text;
use crate::core::reason::Refusal;
use crate::shim::op::{Kind, Rule};

/// Calls that are denied to us, fail again and again or are carried out in part, with the words for people.
#[derive(Clone, Debug, Default)]
pub(super) struct Denied(BTreeMap<Rule, Refusal>);

impl Denied {
    /// A call was refused for good. Only a missing right is noted here: a refusal by a quota or by admission is about
    /// one object, and is shown on that object.
    pub(super) fn call_refused(&mut self, why: &Why) {
        if why.is_missing_right() {
            self.note(why.rule, why.refusal.clone());
        }
    }

    /// A call waits for another try, after several failures or for long.
    pub(super) fn call_held_up(&mut self, why: &Why) {
        self.note(why.rule, why.refusal.clone());
    }

    /// A call that needs this right was carried out.
    pub(super) fn call_works(&mut self, rule: Rule) {
        self.grant(rule);
    }

    /// A call that needs this right was refused for another reason. The API server looks at rights first, so the right
    /// is there.
    pub(super) fn call_permitted(&mut self, rule: Rule) {
        if self.0.get(&rule).is_some_and(|known| matches!(known.code, 401 | 403)) {
            self.grant(rule);
        }
    }

    /// A status was kept in part.
    pub(super) fn call_pruned(&mut self, rule: Rule) {
        let message =
            format!("the cluster's definition of this kind is older and drops fields; apply it: {APPLY_KINDS}");
        self.note(rule, Refusal { code: 200, message: message.into() });
    }

    /// A list or watch broke; `message` begins with its verb.
    pub(super) fn watch_broke(&mut self, kind: Kind, code: u16, message: &Text) {
        if matches!(code, 401 | 403) {
            let verb = if message.starts_with("watch ") { "watch" } else { "list" };
            self.note((kind.plural(), verb), Refusal { code, message: message.clone() });
        }
    }

    /// A kind was listed, so that it is watched next.
    pub(super) fn watch_works(&mut self, kind: Kind) {
        self.grant((kind.plural(), "list"));
        self.grant((kind.plural(), "watch"));
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Rule, &Refusal)> {
        self.0.iter()
    }

    fn note(&mut self, rule: Rule, refusal: Refusal) {
        let (resource, verb) = rule;
        let (code, message) = (refusal.code, &refusal.message);
        match code {
            _ if self.0.get(&rule).is_some_and(|known| known.code == code) => {}
            200 => tracing::warn!(verb, resource, problem = %message, "a status is kept in part"),
            401 | 403 => tracing::warn!(verb, resource, code, problem = %message, "the API server denies a call"),
            _ => {
                tracing::warn!(verb, resource, code, problem = %message, "a call fails again and again; it is tried on")
            }
        }
        self.0.insert(rule, refusal);
    }

    fn grant(&mut self, rule: Rule) {
        if self.0.remove(&rule).is_some() {
            let (resource, verb) = rule;
            tracing::info!(verb, resource, "the call works again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_is_told_from_a_quota() {
        let why = |code, message: &str| {
            let refusal = Refusal { code, message: message.into() };
            Why { rule: ("pods", "create"), refusal }
        };
        for (code, message, noted) in [
            (403, "create pods: pods is forbidden: User \"u\" cannot create resource \"pods\"", true),
            (403, "create pods: pods \"a\" is forbidden: exceeded quota: q", false),
            (422, "invalid", false),
            (401, "Unauthorized", true),
        ] {
            let mut denied = Denied::default();
            denied.call_refused(&why(code, message));
            assert_eq!(denied.iter().map(|(rule, _)| *rule).next(), noted.then_some(("pods", "create")), "{message}");
            denied.call_works(("pods", "create"));
            assert_eq!(denied.iter().count(), 0);
        }
    }

    #[test]
    fn a_kind_that_is_older_is_shown_until_a_status_is_kept_whole() {
        let mut denied = Denied::default();
        denied.call_pruned(("queues/status", "patch"));
        assert!(denied.iter().all(|(_, why)| why.message.contains(APPLY_KINDS)));
        assert_eq!(denied.iter().count(), 1);
        denied.call_works(("queues/status", "patch"));
        assert_eq!(denied.iter().count(), 0);
    }

    #[test]
    fn a_watch_is_denied_by_its_verb_until_its_kind_is_listed() {
        let mut denied = Denied::default();
        denied.watch_broke(Kind::Pod, 0, &"list pods: refused".into());
        denied.watch_broke(Kind::Pod, 403, &"list pods: forbidden".into());
        denied.watch_broke(Kind::Node, 403, &"watch nodes: forbidden".into());
        assert_eq!(denied.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), [("nodes", "watch"), ("pods", "list")]);
        denied.watch_works(Kind::Pod);
        denied.watch_works(Kind::Node);
        assert_eq!(denied.iter().count(), 0);
    }
}
