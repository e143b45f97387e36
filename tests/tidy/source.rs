//! What the checks look at in Rust source: its tokens as `proc-macro2` cuts them, paths, functions, attributes, comments.

use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream, TokenTree};

/// A path as it is written, trees resolved: `use a::{b, c::*}` is `a::b` and `a::c::*`. A lone word is a path too.
#[derive(Clone, Default)]
pub(super) struct Path {
    /// Its parts.
    pub(super) parts: Vec<String>,
    /// The line of the last one, from 1.
    pub(super) line: usize,
}

/// Tokens of a file, level by level: those of a group are a level of their own, after the one that it is in.
pub(super) fn levels(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let level: Vec<TokenTree> = tokens.into_iter().collect();
    let inner: Vec<_> = level.iter().filter_map(group).flat_map(|group| levels(group.stream())).collect();
    [level].into_iter().chain(inner).collect()
}

fn group(token: &TokenTree) -> Option<&Group> {
    if let TokenTree::Group(group) = token { Some(group) } else { None }
}

fn literal(token: &TokenTree) -> Option<&Literal> {
    if let TokenTree::Literal(literal) = token { Some(literal) } else { None }
}

fn word(token: &TokenTree) -> Option<&Ident> {
    if let TokenTree::Ident(word) = token { Some(word) } else { None }
}

pub(super) fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

pub(super) fn line(token: &TokenTree) -> usize {
    token.span().start().line
}

/// Adds every path in the tokens, each after what stands `above` it in a tree.
pub(super) fn paths(tokens: TokenStream, above: &[String], found: &mut Vec<Path>) {
    let (mut path, mut colons) = (Path::default(), 0);
    for token in tokens {
        let goes_on = colons == 2 && path.parts.len() > above.len();
        colons = if is_sign(&token, ':') { colons + 1 } else { 0 };
        match &token {
            _ if colons > 0 => continue,
            TokenTree::Group(group) if goes_on => {
                paths(group.stream(), &std::mem::take(&mut path.parts), found);
                continue;
            }
            TokenTree::Group(group) => paths(group.stream(), &[], found),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        if !goes_on {
            found.push(std::mem::replace(&mut path, Path { parts: above.to_vec(), line: line(&token) }));
        }
        if word(&token).is_some() || goes_on {
            path.parts.push(token.to_string());
        }
    }
    found.push(path);
    found.retain(|path| !path.parts.is_empty());
}

/// Name, first line and number of lines of every function with a body that begins on a level.
pub(super) fn functions(level: &[TokenTree]) -> impl Iterator<Item = (String, usize, usize)> {
    level.windows(2).enumerate().filter_map(|(at, pair)| {
        let name = word(&pair[1]).filter(|_| pair[0].to_string() == "fn")?;
        let is_body = |token: &&TokenTree| group(token).is_some_and(|group| group.delimiter() == Delimiter::Brace);
        let last = level[at..].iter().find(|token| is_sign(token, ';') || is_body(token)).filter(is_body)?;
        let first = line(&pair[0]);
        Some((name.to_string(), first, last.span().end().line - first + 1))
    })
}

/// The attributes of a level: what stands between their brackets.
pub(super) fn attributes(level: &[TokenTree]) -> impl Iterator<Item = &Group> {
    let signs = level.iter().enumerate().filter(|(_, token)| is_sign(token, '#'));
    signs.filter_map(|(at, _)| level[at + 1..].iter().find(|token| !is_sign(token, '!')).and_then(group))
}

/// The text with nothing in its strings: what is left of words in it is code or comments.
pub(super) fn without_strings(text: &str, levels: &[Vec<TokenTree>]) -> String {
    let mut left = text.as_bytes().to_vec();
    let literals = levels.iter().flatten().filter_map(literal).map(|literal| literal.span().byte_range());
    // Comments that document are literals to the compiler.
    for range in literals.filter(|range| !text[range.clone()].starts_with('/')) {
        left[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8(left).expect("blanks are text")
}
