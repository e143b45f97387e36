//! Text that is safe to show: control characters escaped, errors with their causes, durations as kubectl prints them.

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Whether a terminal might act on the character, or hide text with it: control characters of both ranges, line
/// separators, invisible characters and those that change the writing direction.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// One line that is safe to show: every unsafe character as `\n`, `\t` or `\u{9b}`.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_except(text, |_| false)
}

/// Lines that are safe to show: like [`escape`], but line ends stay. For text whose line ends are our own.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    escape_except(text, |character| character == '\n')
}

fn escape_except(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|character| is_unsafe(character) && !keep(character)) {
        return Cow::Borrowed(text);
    }
    let escape_one = |mut out: String, character: char| {
        match character {
            safe if !is_unsafe(safe) || keep(safe) => out.push(safe),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => out.push_str(&format!("\\u{{{:x}}}", u32::from(other))),
        }
        out
    };
    Cow::Owned(text.chars().fold(String::with_capacity(text.len() + 16), escape_one))
}

/// JSON text with what serde_json leaves in strings (DEL, the second control range, direction marks) as `\u009b`: the
/// same document for a parser, harmless for a terminal.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(|character| is_unsafe(character) && character != '\n') {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_unsafe(character) && character != '\n' {
            let mut units = [0; 2];
            character.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// An error with its causes in one line: `cannot use the kubeconfig: failed to read …`. Errors of ours say what failed and
/// leave why to their cause (`tests/tidy.rs`); many libraries repeat the cause in their own words, which are then enough.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |error| (*error).source()) {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
    }
    text
}

/// The time from `then` to `now` as kubectl prints ages: `45s`, `3m20s`, `12m`, `5h`, `3d`. Negative = `0s`.
pub fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second()).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let pair = |big: i64, unit: &str, small: i64, part: &str| match small {
        0 => format!("{big}{unit}"),
        _ => format!("{big}{unit}{small}{part}"),
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => pair(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => pair(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => pair(days, "d", hours % 24, "h"),
        () => format!("{days}d"),
    }
}

/// A length of time as people write it: `90s`, `1h 30m`. None of it is negative.
pub fn duration(text: &str) -> Option<Duration> {
    Duration::try_from(text.parse::<SignedDuration>().ok()?).ok()
}

/// `1 member`, `2 members`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_survives() {
        for (raw, shown) in [
            ("plain", "plain"),
            ("größe 中", "größe 中"),
            ("a\x1b[31mb", "a\\u{1b}[31mb"),
            ("a\u{9b}31mb\x7f", "a\\u{9b}31mb\\u{7f}"),
            ("one\ntwo\r\tthree", "one\\ntwo\\r\\tthree"),
            ("evil\u{202e}txt\u{200b}", "evil\\u{202e}txt\\u{200b}"),
        ] {
            assert_eq!(escape(raw), shown);
        }
        assert_eq!(escape_lines("a\nb\r"), "a\nb\\r");
    }

    #[test]
    fn json_stays_the_same_document() {
        let value = serde_json::json!({"message": "a\u{9b}b\u{7f}\u{202e}\u{e0041}\n\u{1b}"});
        let raw = serde_json::to_string_pretty(&value).unwrap();
        let safe = escape_json(&raw);
        assert!(safe.chars().all(|character| character == '\n' || !is_unsafe(character)), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }

    #[derive(Debug, thiserror::Error)]
    #[error("{words}")]
    struct Caused {
        words: &'static str,
        #[source]
        cause: Option<Box<Self>>,
    }

    #[test]
    fn an_error_is_told_with_each_cause_once() {
        let caused = |words, cause| Caused { words, cause: Some(Box::new(cause)) };
        let broken = || Caused { words: "broken pipe", cause: None };
        for (error, told) in [
            (broken(), "broken pipe"),
            (caused("cannot write", broken()), "cannot write: broken pipe"),
            (caused("no answer", caused("sending: broken pipe", broken())), "no answer: sending: broken pipe"),
        ] {
            assert_eq!(chain(&error), told);
        }
    }

    #[test]
    fn ages_read_as_kubectl_prints_them() {
        let start = Timestamp::from_second(1_000_000).unwrap();
        for (seconds, text) in [
            (-5, "0s"),
            (119, "119s"),
            (120, "2m"),
            (200, "3m20s"),
            (720, "12m"),
            (10_800, "3h"),
            (11_700, "3h15m"),
            (100_000, "27h"),
            (180_000, "2d2h"),
            (10 * 86400, "10d"),
        ] {
            assert_eq!(age(start, Timestamp::from_second(1_000_000 + seconds).unwrap()), text);
        }
    }
}
