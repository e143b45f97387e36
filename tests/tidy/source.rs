//! Rust source cut into what the checks look at: tokens and paths without comments and strings, and the comments alone.

/// A word, a number, `::` or one sign, with its line (from 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// Its text.
    pub(super) text: &'a str,
    /// Its line.
    pub(super) line: usize,
}

/// A path as it is written, `use` trees resolved: `use a::{b, c::*}` is `a::b` and `a::c::*`. A lone word is a path too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// Its parts.
    pub(super) parts: Vec<String>,
    /// Its line.
    pub(super) line: usize,
}

/// Splits text into code and comments of equally many lines; strings and characters are blanked in both.
pub(super) fn split(text: &str) -> (String, String) {
    let chars: Vec<char> = text.chars().collect();
    let (mut code, mut comments) = (String::new(), String::new());
    let mut at = 0;
    while at < chars.len() {
        let (end, is_comment, is_code) = piece(&chars, at);
        for c in &chars[at..end] {
            let blank = if *c == '\n' { '\n' } else { ' ' };
            code.push(if is_code { *c } else { blank });
            comments.push(if is_comment { *c } else { blank });
        }
        at = end;
    }
    (code, comments)
}

/// Where the piece that begins here ends, and whether it is a comment or code.
fn piece(chars: &[char], at: usize) -> (usize, bool, bool) {
    let is = |offset: usize, c: char| chars.get(at + offset) == Some(&c);
    let in_word = at > 0 && is_word(chars[at - 1]) && !matches!(chars[at - 1], 'b' | 'c');
    match chars[at] {
        '/' if is(1, '/') => (line_end(chars, at), true, false),
        '/' if is(1, '*') => (block_end(chars, at), true, false),
        '"' => (quote_end(chars, at + 1, '"'), false, false),
        'r' if !in_word && raw_hashes(chars, at + 1).is_some() => (raw_end(chars, at + 1), false, false),
        // A character, or else a lifetime.
        '\'' if is(1, '\\') => (quote_end(chars, at + 1, '\''), false, false),
        '\'' if is(2, '\'') => (at + 3, false, false),
        _ => (at + 1, false, true),
    }
}

fn line_end(chars: &[char], at: usize) -> usize {
    chars[at..].iter().position(|c| *c == '\n').map_or(chars.len(), |length| at + length)
}

fn block_end(chars: &[char], at: usize) -> usize {
    let (mut depth, mut here) = (0, at);
    while here + 1 < chars.len() {
        match (chars[here], chars[here + 1]) {
            ('/', '*') => (depth, here) = (depth + 1, here + 2),
            ('*', '/') => (depth, here) = (depth - 1, here + 2),
            _ => here += 1,
        }
        if depth == 0 {
            return here;
        }
    }
    chars.len()
}

fn quote_end(chars: &[char], from: usize, quote: char) -> usize {
    let mut here = from;
    while here < chars.len() && chars[here] != quote {
        here += if chars[here] == '\\' { 2 } else { 1 };
    }
    (here + 1).min(chars.len())
}

/// How many `#` precede the quote of a raw string; none if it is no raw string.
fn raw_hashes(chars: &[char], from: usize) -> Option<usize> {
    let hashes = chars[from..].iter().take_while(|c| **c == '#').count();
    (chars.get(from + hashes) == Some(&'"')).then_some(hashes)
}

fn raw_end(chars: &[char], from: usize) -> usize {
    let hashes = raw_hashes(chars, from).unwrap_or(0);
    let mut here = from + hashes + 1;
    while here < chars.len() {
        if chars[here] == '"' && chars[here + 1..].iter().take_while(|c| **c == '#').count() >= hashes {
            return here + 1 + hashes;
        }
        here += 1;
    }
    chars.len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The tokens of code that [`split`] gave.
pub(super) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                c => c.len_utf8(),
            };
            tokens.push(Token { text: &rest[..length], line: number + 1 });
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// Every path in the tokens.
pub(super) fn paths(tokens: &[Token<'_>]) -> Vec<Path> {
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let next = tokens.get(at + 1).map_or("", |token| token.text);
        if tokens[at].text == "use" && next != "<" {
            at = use_tree(tokens, at + 1, &[], &mut paths);
        } else if tokens[at].text.starts_with(is_word) {
            let (path, end) = plain_path(tokens, at);
            paths.push(path);
            at = end;
        } else {
            at += 1;
        }
    }
    paths
}

/// `a::b::c` from here, and where it ends.
fn plain_path(tokens: &[Token<'_>], at: usize) -> (Path, usize) {
    let mut parts = vec![tokens[at].text.to_owned()];
    let mut end = at + 1;
    while let [colons, word, ..] = &tokens[end..]
        && colons.text == "::"
        && word.text.starts_with(is_word)
    {
        parts.push(word.text.to_owned());
        end += 2;
    }
    (Path { parts, line: tokens[at].line }, end)
}

/// Collects the paths of one tree of a `use`; returns where it ends.
fn use_tree(tokens: &[Token<'_>], mut at: usize, above: &[String], paths: &mut Vec<Path>) -> usize {
    let mut parts = above.to_vec();
    while let Some(token) = tokens.get(at) {
        match token.text {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token.text != "}") {
                    at = use_tree(tokens, at, &parts, paths);
                    at += usize::from(tokens.get(at).is_some_and(|token| token.text == ","));
                }
                return at + 1;
            }
            "as" => at += 2,
            "," | "}" | ";" => break,
            word => {
                parts.push(word.to_owned());
                at += 1;
            }
        }
    }
    parts.retain(|part| part != "self");
    let line = tokens.get(at.saturating_sub(1)).map_or(0, |token| token.line);
    paths.push(Path { parts, line });
    at
}

/// Name, first line and number of lines of every function.
pub(super) fn functions<'a>(tokens: &[Token<'a>]) -> Vec<(&'a str, usize, usize)> {
    let mut functions = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        let named = pair[0].text == "fn" && pair[1].text.starts_with(is_word);
        if let Some(last) = named.then(|| body_end(&tokens[at..])).flatten() {
            functions.push((pair[1].text, pair[0].line, last - pair[0].line + 1));
        }
    }
    functions
}

/// Line on which the body of the function that begins here ends; none if it has no body.
fn body_end(tokens: &[Token<'_>]) -> Option<usize> {
    let (mut round, mut curly) = (0, 0);
    for token in tokens {
        match token.text {
            "(" | "[" => round += 1,
            ")" | "]" => round -= 1,
            ";" if round == 0 && curly == 0 => return None,
            "{" => curly += 1,
            "}" => curly -= 1,
            _ => continue,
        }
        if token.text == "}" && curly == 0 {
            return Some(token.line);
        }
    }
    None
}
