//! How answers are printed: tables, JSON, YAML; colour only where it is wanted.

use std::io::{self, IsTerminal, Write};

use comfy_table::{Table, presets};
use serde::Serialize;

use crate::runtime::text::{escape, escape_json, escape_lines};

/// Writes to standard output. A reader that has gone away (`| head`) is no error.
pub(super) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a note to standard error, if there is one.
pub(super) fn complain(note: &str) {
    if !note.is_empty() {
        drop(io::stderr().lock().write_all(format!("{}\n", note.trim_end()).as_bytes()));
    }
}

/// Whether colours are wanted: standard output is a terminal and NO_COLOR is not set (no-color.org).
pub(super) fn colours() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How a line of a table is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// Nothing to do.
    Plain,
    /// Waits.
    Waiting,
    /// Somebody must act.
    Problem,
}

impl Tone {
    const fn sequence(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Waiting => "\x1b[33m",
            Self::Problem => "\x1b[31m",
        }
    }
}

/// A table as kubectl prints them: columns two spaces apart, no lines. Every cell is escaped, so that each row is one
/// line; colours are put around whole lines, so that they never count as width.
pub(super) fn table(header: &[&str], rows: &[(Tone, Vec<String>)], colours: bool) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.to_vec());
    for (_, cells) in rows {
        table.add_row(cells.iter().map(|cell| escape(cell).into_owned()).collect::<Vec<_>>());
    }
    // The first line is the header; it goes without colour.
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let tones = std::iter::once(Tone::Plain).chain(rows.iter().map(|(tone, _)| *tone));
    table.lines().zip(tones).map(|(line, tone)| paint(line.trim_end(), tone, colours) + "\n").collect()
}

fn paint(line: &str, tone: Tone, colours: bool) -> String {
    match (colours, tone.sequence()) {
        (true, start) if !start.is_empty() => format!("{start}{line}\x1b[0m"),
        _ => line.to_owned(),
    }
}

/// A value as JSON, safe for a terminal and the same document for a parser.
pub(super) fn json(value: &impl Serialize) -> String {
    match serde_json::to_string_pretty(value) {
        Ok(text) => format!("{}\n", escape_json(&text)),
        // Our own answers have string keys only, which is all that can go wrong.
        Err(error) => format!("{{\"error\": {:?}}}\n", error.to_string()),
    }
}

/// A value as YAML, safe for a terminal: control characters are quoted by the serializer; invisible characters, which
/// it lets through, are shown as `\u{202e}`.
pub(super) fn yaml(value: &impl Serialize) -> String {
    // A block scalar would carry tabs and the like as they are, where escaping them would change the text.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    match serde_saphyr::to_string_with_options(value, options) {
        Ok(text) => escape_lines(&text).into_owned(),
        Err(error) => format!("# {}\n", escape(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_by_what_is_seen() {
        let rows = vec![
            (Tone::Plain, vec!["a".to_owned(), "größe".to_owned(), "1".to_owned()]),
            (Tone::Problem, vec!["longer".to_owned(), "b\nc".to_owned(), String::new()]),
        ];
        let expected = "NAME    WHAT   N\na       größe  1\nlonger  b\\nc\n";
        assert_eq!(table(&["NAME", "WHAT", "N"], &rows, false), expected);
        let coloured = table(&["NAME", "WHAT", "N"], &rows, true);
        assert!(coloured.ends_with("\n\x1b[31mlonger  b\\nc\x1b[0m\n"), "{coloured:?}");
    }

    #[test]
    fn structured_output_carries_the_text_but_no_control_character() {
        let evil = serde_json::json!({"message": "a\u{9b}2J\u{1b}[31m\nb\u{202e}"});
        for text in [json(&evil), yaml(&evil)] {
            assert!(text.chars().all(|c| c == '\n' || !crate::runtime::text::is_unsafe(c)), "{text:?}");
        }
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json(&evil)).unwrap(), evil);
        let harmless = serde_json::json!({"message": "a\u{9b}b: c\n\td", "n": "1", "yes": "no"});
        assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&yaml(&harmless)).unwrap(), harmless);
    }
}
