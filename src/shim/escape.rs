//! Makes foreign text fit to be shown: bounded, without control characters and without marks that reorder text.

use std::fmt::Write;

use crate::core::base::ids::Text;

/// Longest message that is kept, in characters: a line that people read, far below the limits of conditions and events.
pub const MAX_MESSAGE: usize = 512;

/// At most [`MAX_MESSAGE`] characters of a text, then `…`; every character that does not show itself (controls
/// including ESC and newline, line separators, bidirectional marks, the byte order mark) is escaped as `\u{1b}`.
pub fn message(text: &str) -> Text {
    bounded(text, MAX_MESSAGE)
}

/// As [`message`], with a bound in characters.
pub fn bounded(text: &str, max: usize) -> Text {
    let mut shown = String::with_capacity(text.len().min(max));
    for (count, character) in text.chars().enumerate() {
        if count == max {
            shown.push('…');
            break;
        }
        push(&mut shown, character);
    }
    shown.into()
}

fn push(shown: &mut String, character: char) {
    match character {
        '\n' => shown.push_str("\\n"),
        '\t' => shown.push_str("\\t"),
        hidden if is_hidden(hidden) => {
            // Writing to a String cannot fail.
            write!(shown, "\\u{{{:x}}}", u32::from(hidden)).ok();
        }
        visible => shown.push(visible),
    }
}

/// Controls, and the format characters that reorder or hide text (Unicode's bidirectional controls, separators, zero
/// widths, tags).
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_moves_the_cursor_or_the_reading_order_is_left() {
        for (text, shown) in [
            ("plain ünïcode ✓", "plain ünïcode ✓"),
            ("a\nb\tc\r", "a\\nb\\tc\\u{d}"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("\u{202e}evil\u{2066}", "\\u{202e}evil\\u{2066}"),
            ("\0\u{9b}\u{2028}", "\\u{0}\\u{9b}\\u{2028}"),
        ] {
            assert_eq!(&*message(text), shown);
        }
        assert_eq!(&*bounded("abcdef", 3), "abc…");
        assert_eq!(&*bounded("abc", 3), "abc");
    }
}
