//! Errors whose own words repeat those of their cause: whoever shows an error goes through its causes
//! (`src/runtime/text.rs`), so that a reader would see them twice.

/// The lines of a file on which such an error is declared, in the form that `thiserror` reads.
pub(super) fn repeat_their_cause(text: &str) -> Vec<usize> {
    let declared = text.match_indices("#[error(").filter_map(|(at, open)| {
        let (words, rest) = text[at + open.len()..].split_once(")]")?;
        let cause = cause(declaration(rest))?;
        let line = text[..at].matches('\n').count() + 1;
        says(words, &cause).then_some(line)
    });
    declared.collect()
}

/// What follows the words: a variant with its fields, or the whole of an error that is no enum.
fn declaration(rest: &str) -> &str {
    let mut depth = 0;
    let end = rest.find(|one| {
        depth += i32::from(matches!(one, '(' | '{' | '[')) - i32::from(matches!(one, ')' | '}' | ']'));
        depth < 0 || depth == 0 && matches!(one, ',' | ';' | '}')
    });
    &rest[..end.unwrap_or(rest.len())]
}

/// The name or number of the field that is the cause.
fn cause(declaration: &str) -> Option<String> {
    let fields = declaration.split_once(['(', '{'])?.1;
    let marked = ["#[source]", "#[from]"].iter().find_map(|mark| fields.find(mark).map(|at| (at, at + mark.len())));
    let Some((at, end)) = marked else {
        let is_named = fields.split(',').any(|field| field.trim().trim_start_matches("pub ").starts_with("source:"));
        return is_named.then(|| "source".to_owned());
    };
    let name = fields[end..].split([',', ')', '}']).next().and_then(|field| field.split_once(": "));
    Some(name.map_or_else(|| fields[..at].matches(',').count().to_string(), |(name, _)| name.trim().to_owned()))
}

/// Whether words have a field in them: `{0}`, `{source}`, or one of the values after them.
fn says(words: &str, field: &str) -> bool {
    let is_end = |after: &str| !after.starts_with(|one: char| one.is_alphanumeric() || one == '_');
    ["{", ".", "= "].iter().any(|before| words.split(&format!("{before}{field}")).skip(1).any(is_end))
}

#[test]
fn an_error_that_repeats_its_cause_is_found() {
    for (declared, is_found) in [
        ("#[error(\"it failed\")] A(#[source] E),", false),
        ("#[error(\"it failed: {0}\")] A(#[source] E),", true),
        ("#[error(\"it failed: {0}\")] A(String), B(#[from] E)", false),
        ("#[error(\"{}: {}\", .0.display(), .1)] A(PathBuf, #[from] E),", true),
        ("#[error(\"{}\", .0.display())] A(PathBuf, #[source] E),", false),
        ("#[error(\"{file}: {source}\")] A { file: String, source: E },", true),
        ("#[error(\"{file}\")] A { file: String, source: E },", false),
        ("#[error(\"{file}: {cause}\")] A { #[source] cause: E, file: String },", true),
        ("#[error(\"{causes}\")] A { #[source] cause: E, causes: String },", false),
        ("#[error(\"{source}\")]\npub struct A { source: E }", true),
        ("#[error(transparent)] A(#[from] E),", false),
    ] {
        assert_eq!(!repeat_their_cause(declared).is_empty(), is_found, "{declared}");
    }
    assert_eq!(repeat_their_cause("//! A file.\n\n    #[error(\"{0}\")]\n    A(#[from] E),\n"), [3]);
}
