//! When statuses are written: another reason at once, numbers seldom, and nothing again and again.

use super::Controller;
use super::target::Target;
use crate::core::base::ids::AskId;
use crate::core::time::{Millis, Mono};

/// Numbers of a status are written at most this often per object (design 03, 3.7).
pub(super) const NUMBERS_EVERY_MS: Millis = 30_000;
/// A stage that passes by itself or may pass soon, or a number, is written only if it lasts this long: a gang that just
/// starts, is swapped or restarts in its room costs no writes for what it shows on the way.
const PROGRESS_MS: Millis = 2_000;
/// After such a stage was written, the next such stage waits this long: a large gang goes slowly through all of them,
/// and would cost a write for each.
const PROGRESS_EVERY_MS: Millis = 10_000;
/// So many changes of an object's reason are written at once. A gang has about five of them until it runs.
const NEWS_AT_ONCE: u64 = 10;
/// After those, one is written in so long: what keeps changing to and fro, since members come and go, costs no write for
/// each time.
const NEWS_EVERY_MS: Millis = 10_000;

/// A status that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) at: Mono,
    /// Whether it told of a stage that passes by itself.
    passing: bool,
    /// When a status that differed in nothing but numbers was last sent.
    numbers: Option<Mono>,
    /// When the next turn to write another reason would be, if none came early. Of a Queue nobody asks for it.
    turns: Mono,
}

impl Controller {
    /// How long the numbers of a status wait. After a change of reason they follow soon, so that nobody reads old
    /// numbers beside a new reason, and after that they are written seldom. Numbers of a stage that passes by itself
    /// wait longer, since the next stage brings others.
    pub(super) fn until_numbers(&self, target: &Target, progress: bool) -> Millis {
        let Some(last) = self.written.get(target) else { return 0 };
        let since = if progress { Some(last.at) } else { last.numbers };
        let rest = since.map_or(0, |at| NUMBERS_EVERY_MS.saturating_sub(self.now.mono.since(at)));
        rest.max(PROGRESS_MS)
    }

    /// How long a stage that passes by itself waits, since it may have passed by then. `goes_on`: what was written tells of an end,
    /// and the application has begun anew or goes on, so that none of it is so any more.
    pub(super) fn until_progress(&self, target: &Target, goes_on: bool) -> Millis {
        let last = self.written.get(target).filter(|last| last.passing && !goes_on);
        let rest = last.map_or(0, |last| PROGRESS_EVERY_MS.saturating_sub(self.now.mono.since(last.at)));
        rest.max(PROGRESS_MS)
    }

    /// How long another reason waits: not at all, unless there were many of late.
    pub(super) fn until_news(&self, target: &Target) -> Millis {
        let turns = self.written.get(target).map_or(Mono(0), |last| last.turns);
        turns.since(self.now.mono.after((NEWS_AT_ONCE - 1) * NEWS_EVERY_MS))
    }

    /// The same for a pod that says what its gang says: as its task group, or the first of its application.
    pub(super) fn until_news_of_gang(&self, ask: AskId) -> Millis {
        let books = &self.core.books;
        let group = books.asks.get(ask).and_then(|ask| {
            let first = || books.apps.get(ask.app?)?.groups.first().copied();
            books.groups.get(ask.group.or_else(first)?)
        });
        group.map_or(0, |group| self.until_news(&Target::Group(group.key.clone())))
    }

    /// A status is sent.
    pub(super) fn note_written(&mut self, target: Target, passing: bool, is_news: bool) {
        let (at, last) = (self.now.mono, self.written.get(&target));
        let (numbers, turns) = last.map_or((None, Mono(0)), |last| (last.numbers, last.turns));
        let written = if is_news {
            // What was written without a turn of its own makes the next one wait no longer than for one turn.
            let turns = turns.max(at).after(NEWS_EVERY_MS).min(at.after(NEWS_AT_ONCE * NEWS_EVERY_MS));
            Written { at, passing, numbers, turns }
        } else {
            Written { at, passing, numbers: Some(at), turns }
        };
        self.written.insert(target, written);
    }
}
