//! The mark that a Binding leaves on its pod, as text: `queue=root.data task-group=executors incarnation=UID.1 seat=3
//! started=true`.
//!
//! One annotation for all of it: the API server accounts for every key of its own in every Binding (managed fields),
//! and four keys cost it a twelfth of what the whole Binding does (docs/adr/0012).

use super::pod::{incarnation, parse_incarnation};
use super::syntax;
use crate::core::base::ids::Text;
use crate::core::event::Mark;

const QUEUE: &str = "queue";
const TASK_GROUP: &str = "task-group";
const APPLICATION: &str = "application";
const INCARNATION: &str = "incarnation";
const SEAT: &str = "seat";
const STARTED: &str = "started";

/// Longest text that is looked at. A queue, a name, a UID and numbers are 400 characters at most; an annotation may
/// have 256 KiB.
const MAX_TEXT: usize = 1_024;

/// A mark as the value of `gangline.dev/binding`. What it does not have is absent.
pub fn write(mark: &Mark) -> String {
    let mut text = format!("{QUEUE}={}", mark.queue);
    for (word, name) in [(TASK_GROUP, &mark.task_group), (APPLICATION, &mark.application)] {
        name.iter().for_each(|name| text.push_str(&format!(" {word}={name}")));
    }
    if let Some(uid) = &mark.group {
        text.push_str(&format!(" {INCARNATION}={}", incarnation(uid, mark.incarnation)));
    }
    if let Some(seat) = mark.seat {
        text.push_str(&format!(" {SEAT}={seat}"));
    }
    if mark.started {
        text.push_str(&format!(" {STARTED}=true"));
    }
    text
}

/// Inverse of [`write()`]. `None` if the queue is missing, if anything in it is malformed or said twice, or if it is
/// longer than any mark. Words that this version does not know are a newer one's and are passed over, so that going
/// back to this version loses no mark.
pub fn read(text: &str) -> Option<Mark> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let words: Vec<(&str, &str)> = text.split(' ').map(|word| word.split_once('=')).collect::<Option<_>>()?;
    let once = |name: &str| {
        let mut values = words.iter().filter(|(key, _)| *key == name).map(|(_, value)| *value);
        let first = values.next();
        values.next().is_none().then_some(first)
    };
    let queue = once(QUEUE)?.filter(|queue| syntax::is_queue_path(queue))?;
    let name = |word: &str| match once(word)? {
        None => Some(None),
        Some(name) => (!name.is_empty() && syntax::is_label_value(name)).then(|| Some(Text::from(name))),
    };
    let (task_group, application) = (name(TASK_GROUP)?, name(APPLICATION)?);
    let (group, incarnation) = match once(INCARNATION)? {
        Some(text) => parse_incarnation(text).map(|(uid, counter)| (Some(uid), counter))?,
        None => (None, 0),
    };
    let seat = once(SEAT)?.map(str::parse).transpose().ok()?;
    let started = match once(STARTED)? {
        None => false,
        Some("true") => true,
        Some(_) => return None,
    };
    Some(Mark { task_group, application, group, incarnation, seat, started, queue: queue.into() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::base::ids::Uid;

    const WHOLE: &str = "queue=root.a task-group=g incarnation=6f1b.2 seat=3 started=true";

    fn whole() -> Mark {
        Mark {
            task_group: Some("g".into()),
            group: Some(Uid::new("6f1b")),
            incarnation: 2,
            seat: Some(3),
            started: true,
            queue: "root.a".into(),
            ..Mark::default()
        }
    }

    fn singleton() -> Mark {
        Mark { queue: "root.default".into(), ..Mark::default() }
    }

    #[test]
    fn a_mark_is_words_with_values() {
        assert_eq!(write(&whole()), WHOLE);
        assert_eq!(write(&singleton()), "queue=root.default");
        assert_eq!(read("queue=root.default"), Some(singleton()));
        let driver = Mark { application: Some("a".into()), ..singleton() };
        assert_eq!(write(&driver), "queue=root.default application=a");
    }

    #[test]
    fn a_mark_is_read_whole_or_not_at_all() {
        assert_eq!(read(WHOLE), Some(whole()));
        for malformed in [
            "",
            "seat=3 started=true",
            "queue=elsewhere",
            "queue=root.a seat",
            "queue=root.a  seat=3",
            "queue=root.a queue=root.b",
            "queue=root.a incarnation=6f1b",
            "queue=root.a incarnation=.1",
            "queue=root.a incarnation=6f1b.0",
            "queue=root.a incarnation=6f1b.4294967296",
            "queue=root.a task-group=",
            "queue=root.a application=a/b",
            "queue=root.a seat=-1",
            "queue=root.a seat=",
            "queue=root.a seat=1 seat=1",
            "queue=root.a started=yes",
            "queue=root.a\nstarted=true",
        ] {
            assert_eq!(read(malformed), None, "{malformed:?}");
        }
        let padded = |length: usize| format!("{WHOLE} x={}", "y".repeat(length - WHOLE.len() - " x=".len()));
        assert_eq!(read(&padded(MAX_TEXT)), Some(whole()));
        assert_eq!(read(&padded(MAX_TEXT + 1)), None, "longer than any mark");
    }

    #[test]
    fn words_of_a_newer_version_are_passed_over() {
        assert_eq!(read(&format!("{WHOLE} reserved-since=2026-01-01T00:00:00Z")), Some(whole()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            group in proptest::option::of(("[a-f0-9]{1,8}(-[a-f0-9]{1,4}){0,4}", 1..=u32::MAX)),
            seat in proptest::option::of(any::<u32>()),
            started in any::<bool>(),
            queue in "root(\\.[a-z][a-z0-9]{0,7}){0,3}",
            names in proptest::array::uniform2(proptest::option::of("[A-Za-z0-9]([-A-Za-z0-9_.]{0,8}[A-Za-z0-9])?")),
        ) {
            let [task_group, application] = names.map(|name| name.map(Text::from));
            let (group, incarnation) = group.map_or((None, 0), |(uid, counter)| (Some(Uid::new(uid.as_str())), counter));
            let mark = Mark { task_group, application, group, incarnation, seat, started, queue: queue.as_str().into() };
            prop_assert_eq!(read(&write(&mark)), Some(mark));
        }

        #[test]
        fn any_text_is_a_mark_or_none(text in "\\PC{0,80}") {
            let _ = read(&text);
        }
    }
}
