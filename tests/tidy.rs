//! Rules of the repository that the compiler cannot check: what each layer may know, and the size and state of files.
//!
//! The checker itself is tested below with planted violations.

mod errors;
mod source;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use proc_macro2::{TokenStream, TokenTree};

/// A directory or file under `src/`, which other layers it may use, and what it must never mention.
struct Layer {
    name: &'static str,
    may_use: &'static [&'static str],
    never: &'static [&'static [&'static str]],
}

/// Nothing that waits, reads a clock or the environment, locks, prints, or comes in a random order.
const PURE: &[&str] = &[
    "tokio",
    "futures",
    "async",
    "await",
    "Instant",
    "SystemTime",
    "UNIX_EPOCH",
    "std::time",
    "Timestamp::now",
    "Zoned::now",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "thread_local",
    "Mutex",
    "RwLock",
    "Condvar",
    "HashMap",
    "HashSet",
    "RandomState",
    "rand",
    "getrandom",
    "println",
    "eprintln",
];
/// The client, in whatever way it is reached.
const CLIENT: &[&str] =
    &["kube::Client", "kube::Api", "kube::client", "kube::api", "kube::runtime", "kube_client", "kube_runtime"];
/// The core knows nothing of Kubernetes, serialises nothing, and computes exactly.
const FOREIGN_TO_CORE: &[&str] =
    &["kube", "k8s_openapi", "jiff", "http", "serde", "serde_json", "schemars", "f32", "f64"];
/// What would be logic among the kinds.
const LOGIC: &[&str] = &["if", "match", "while", "loop"];

/// core ← shim ← controller ← runtime ← main; sim beside runtime, for two commands; api knows nobody; nobody knows runtime.
const LAYERS: &[Layer] = &[
    Layer { name: "core", may_use: &[], never: &[PURE, FOREIGN_TO_CORE] },
    Layer { name: "api", may_use: &[], never: &[PURE, CLIENT, LOGIC] },
    Layer { name: "shim", may_use: &["core", "api"], never: &[PURE, CLIENT] },
    Layer { name: "controller", may_use: &["core", "api", "shim"], never: &[PURE, CLIENT] },
    Layer { name: "sim", may_use: &["core", "api", "shim", "controller"], never: &[PURE, CLIENT] },
    Layer { name: "runtime", may_use: &["core", "api", "shim", "controller"], never: &[] },
    Layer { name: "lib.rs", may_use: &["core", "api", "shim", "controller", "sim", "runtime"], never: &[] },
    Layer { name: "main.rs", may_use: &["core", "api", "shim", "controller", "sim", "runtime"], never: &[] },
];

/// The commands that play: the scheduler itself knows no simulation.
const PLAY: &[&str] = &["src/runtime/cli/simulate/", "src/runtime/cli/validate/"];

/// Where something forbidden is what the file is for.
const EXCEPTIONS: &[(&str, &str)] =
    &[("src/core/base/arena.rs", "HashMap"), ("src/api/schema.rs", "if"), ("src/api/schema.rs", "match")];

/// Longest file under `src/`, its tests not counted; about three times the usual one.
const MAX_FILE: usize = 600;
/// Longest function; the tables of a unit test are not counted.
const MAX_FUNCTION: usize = 70;
/// Files that are longer, with their length: a change may shorten this list, never lengthen it.
const LONGER: &[(&str, usize)] = &[];

#[test]
fn the_repository_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for dir in ["src", "tests", "e2e", "benches"] {
        collect(root, &root.join(dir), &mut files);
    }
    assert!(files.iter().any(|file| file == "src/core/base/arena.rs"), "the walk found {files:?}");
    let problems: Vec<String> = files
        .iter()
        .flat_map(|file| check(file, &fs::read_to_string(root.join(file)).expect("a source file is UTF-8")))
        .collect();
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// CI knows of a run no more than the status with which it ends. A step that cannot be run on this machine ends with 77.
#[test]
fn a_step_that_fails_fails_the_run() {
    let run = |status: i32| step("format", &format!("echo first; echo why\nexit {status}\n"));
    assert_eq!([run(0).0, run(1).0], [Some(0), Some(1)]);
    let (status, said) = run(77);
    assert_eq!(status, Some(0));
    assert!(said.contains("format: why\n") && said.ends_with("0 passed, 0 failed, 1 skipped\n"), "{said}");
}

/// A test that prints lines of its own is counted, what is skipped for one reason is one line, and a log that does not name
/// all tests is no good.
#[test]
fn every_test_of_a_run_is_counted() {
    let skipped = |name: &str| format!("test nodes: {name} ... ignored (there are none)\n");
    let log = format!("test one ... ok\ntest two   ... how\nfar it is\nok\n{}{}", skipped("three"), skipped("four"));
    let run = |ended: u8| {
        step("unit", &format!("cat <<'END'\n{log}test result: ok. {ended} passed; 0 failed; 2 ignored\nEND\n"))
    };
    let (status, said) = run(2);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("\n  unit: nodes: 2 tests (there are none)\n"), "{said}");
    assert!(said.ends_with("\n2 passed, 0 failed, 2 skipped\n"), "{said}");
    assert_eq!(run(3).0, Some(1));
}

/// The last lines of a run say how each failure begins, for those who are shown no more.
#[test]
fn a_run_ends_with_the_words_of_what_failed() {
    let words = "not within 60 s: all run\nseen:\na/b {}\n\nc/d {}\ne/f {}\n";
    let log = format!("test one ... FAILED\n\nfailures:\n\n---- one ----\n{words}\n\nfailures:\n    one\n");
    let (status, said) =
        step("unit", &format!("cat <<'END'\n{log}test result: FAILED. 0 passed; 1 failed; 0 ignored\nEND\nexit 101\n"));
    assert_eq!(status, Some(1), "{said}");
    let shown = "  unit: one\n    | not within 60 s: all run\n    | seen:\n    | a/b {}\n    | c/d {}\n\n0 passed";
    assert!(said.contains(shown), "{said}");
}

/// How `scripts/test` ends when this is what cargo does in a step, and what it says.
fn step(name: &str, cargo: &str) -> (Option<i32>, String) {
    let bin = tempfile::tempdir().expect("a directory");
    let program = bin.path().join("cargo");
    fs::write(&program, format!("#!/bin/sh\n{cargo}")).expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = format!("{}:{}", bin.path().display(), std::env::var("PATH").expect("there is one"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/test");
    let output = Command::new(script).arg(name).env("PATH", path).output().expect("it runs");
    (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
}

/// Paths of all Rust files below a directory, relative to the root, in order.
fn collect(root: &Path, dir: &Path, files: &mut Vec<String>) {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut entries: Vec<_> = entries.map(|entry| entry.expect("a directory can be read").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path.strip_prefix(root).expect("it is below the root");
            files.push(relative.to_string_lossy().into_owned());
        }
    }
}

/// Everything wrong with one file, as `path:line: what`.
fn check(path: &str, text: &str) -> Vec<String> {
    let tokens: TokenStream = text.parse().unwrap_or_else(|problem| panic!("{path}: {problem}"));
    let levels = source::levels(tokens.clone());
    let mut problems = head(text);
    problems.extend(unfinished(&source::without_strings(text, &levels)));
    levels.iter().for_each(|level| problems.extend(silenced(level)));
    problems.extend(too_long(path, text, &levels));
    if let Some(inside) = path.strip_prefix("src/") {
        let mut paths = Vec::new();
        source::paths(tokens, &[], &mut paths);
        problems.extend(layer_rules(path, inside, &paths));
        let twice = errors::repeat_their_cause(text).into_iter();
        problems.extend(twice.map(|line| (line, "the error repeats its cause, which is shown anyway".to_owned())));
    }
    problems.sort();
    problems.dedup();
    problems.into_iter().map(|(line, what)| format!("{path}:{line}: {what}")).collect()
}

type Problem = (usize, String);

fn head(text: &str) -> Vec<Problem> {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let sentence = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    if sentence.ends_with(['.', '?', ':']) || sentence.contains(". ") || sentence.contains("? ") {
        return Vec::new();
    }
    vec![(1, "the file does not begin with a //! sentence that says what it is for".to_owned())]
}

/// Words that say so, outside strings.
fn unfinished(text: &str) -> Vec<Problem> {
    let unfinished = |line: &str| ["TODO", "FIXME", "XXX"].into_iter().find(|word| line.contains(word));
    let lines = text.lines().enumerate().filter_map(|(number, line)| Some((number + 1, unfinished(line)?)));
    lines.map(|(line, word)| (line, format!("{word}: finish it, or file it where work is planned"))).collect()
}

/// Tests that are not run, lints that are silenced for no reason, code that is to be written.
fn silenced(level: &[TokenTree]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for pair in level.windows(2).filter(|pair| source::is_sign(&pair[1], '!')) {
        if let word @ ("todo" | "unimplemented") = &*pair[0].to_string() {
            problems.push((source::line(&pair[0]), format!("{word}!")));
        }
    }
    for attribute in source::attributes(level) {
        let (line, levels) = (attribute.span().start().line, source::levels(attribute.stream()));
        if levels[0].first().is_some_and(|word| word.to_string() == "ignore") {
            problems.push((line, "an ignored test is no test".to_owned()));
        }
        let has = |word: &str| levels.iter().flatten().any(|token| token.to_string() == word);
        if (has("allow") || has("expect")) && !has("reason") {
            problems.push((line, "a lint is silenced without `reason =`".to_owned()));
        }
    }
    problems
}

fn too_long(path: &str, text: &str, levels: &[Vec<TokenTree>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let before_tests = text.lines().take_while(|line| line.trim() != "#[cfg(test)]").count();
    for (name, line, lines) in levels.iter().flat_map(|level| source::functions(level)) {
        if line <= before_tests && lines > MAX_FUNCTION {
            problems.push((line, format!("fn {name} has {lines} lines; {MAX_FUNCTION} at most")));
        }
    }
    let known = LONGER.iter().find(|(longer, _)| *longer == path).map(|(_, lines)| *lines);
    let max = known.unwrap_or(MAX_FILE);
    if path.starts_with("src/") && before_tests > max {
        problems.push((1, format!("the file has {before_tests} lines before its tests; {max} at most")));
    }
    problems
}

fn layer_rules(path: &str, inside: &str, paths: &[source::Path]) -> Vec<Problem> {
    let module: Vec<&str> = inside.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
    let Some(layer) = LAYERS.iter().find(|layer| layer.name.trim_end_matches(".rs") == module[0]) else {
        return vec![(1, format!("src/{} is no layer: give it its rules in LAYERS", module[0]))];
    };
    let mut problems = Vec::new();
    for found in paths {
        let parts: Vec<&str> = found.parts.iter().map(String::as_str).collect();
        for word in layer.never.concat() {
            if mentions(&parts, word) && !EXCEPTIONS.contains(&(path, word)) {
                problems.push((found.line, format!("{} never mentions {word}", layer.name)));
            }
        }
        let target = inside_crate(&module, &parts).filter(|target| LAYERS.iter().any(|layer| layer.name == *target));
        let plays = PLAY.iter().any(|command| path.starts_with(command));
        let may_use = |target: &str| layer.may_use.contains(&target) || target == "sim" && plays;
        if let Some(target) = target.filter(|target| *target != layer.name && !may_use(target)) {
            problems.push((found.line, format!("{} does not know {target}", layer.name)));
        }
    }
    problems
}

/// Whether a path has these parts in a row, or imports everything from the place that holds them.
fn mentions(parts: &[&str], word: &str) -> bool {
    let wanted: Vec<&str> = word.split("::").collect();
    let everything = parts
        .strip_suffix(&["*"])
        .is_some_and(|parts| (1..wanted.len()).any(|length| parts.ends_with(&wanted[..length])));
    everything || parts.windows(wanted.len()).any(|window| window == wanted)
}

/// The top-level module of this crate that a path in `module` leads to.
fn inside_crate<'a>(module: &[&'a str], parts: &[&'a str]) -> Option<&'a str> {
    match parts {
        ["crate" | "gangline", target, ..] => Some(target),
        ["super", ..] => {
            let up = parts.iter().take_while(|part| **part == "super").count();
            let start = module.len().saturating_sub(up);
            if start == 0 { parts.get(up).copied() } else { Some(module[0]) }
        }
        _ => None,
    }
}

/// Checks a file of one planted line after a proper head; the expected text is part of the only problem, or nothing.
fn plant(path: &str, line: &str, expected: Option<&str>) {
    let problems = check(path, &format!("//! A planted file.\n{line}\n"));
    match expected {
        Some(expected) => {
            assert_eq!(problems.len(), 1, "{path}: {line}: {problems:?}");
            assert!(problems[0].contains(expected), "{path}: {line}: {problems:?} should name {expected}");
            assert!(problems[0].starts_with(&format!("{path}:2: ")), "{problems:?} should name line 2");
        }
        None => assert!(problems.is_empty(), "{path}: {line}: {problems:?}"),
    }
}

/// Seed 004 "Background": "A further point is the complexity that the two structure brings to the code": what decides cannot reach
/// what translates, and has no second copy of it to keep up with. "Direction of lock", "Holding A.lock and acquire B's lock": where
/// things are decided nothing locks.
#[test]
fn a_layer_that_knows_too_much_is_found() {
    for (path, line, expected) in [
        ("src/core/x.rs", "use std::time::Duration;", "std::time"),
        ("src/core/x.rs", "use std::{fmt, time::{self}};", "std::time"),
        ("src/core/x.rs", "fn f() { Instant::now(); }", "Instant"),
        ("src/core/x.rs", "use std::collections::{BTreeMap, HashMap as Map};", "HashMap"),
        ("src/core/x.rs", "use k8s_openapi::api::core::v1::Pod;", "k8s_openapi"),
        ("src/core/x.rs", "fn f(x: f64) {}", "f64"),
        ("src/core/x.rs", "use crate::shim::op::Op;", "core does not know shim"),
        ("src/core/x.rs", "use crate::{core::base::ids::Key, api::names};", "core does not know api"),
        ("src/core/plan/x.rs", "use super::super::super::shim;", "core does not know shim"),
        ("src/shim/x.rs", "use kube::{Api, Resource};", "kube::Api"),
        ("src/shim/x.rs", "fn f() -> kube::Client { g() }", "kube::Client"),
        ("src/shim/x.rs", "fn f() { jiff::Timestamp::now(); }", "Timestamp::now"),
        ("src/shim/mod.rs", "use super::runtime::watch;", "shim does not know runtime"),
        ("src/controller/x.rs", "async fn f() {}", "async"),
        ("src/controller/x.rs", "use std::sync::{Arc, Mutex};", "Mutex"),
        ("src/controller/x.rs", "fn f() { crate::runtime::run() }", "controller does not know runtime"),
        ("src/api/x.rs", "fn f(x: bool) -> u8 { if x { 1 } else { 2 } }", "api never mentions if"),
        ("src/api/x.rs", "use crate::core::base::ids::Key;", "api does not know core"),
        ("src/sim/x.rs", "use crate::runtime::args;", "sim does not know runtime"),
        ("src/runtime/x.rs", "use crate::sim::server;", "runtime does not know sim"),
    ] {
        plant(path, line, Some(expected));
    }
    assert!(
        !check("src/core/x.rs", "//! A planted file.\nuse std::*;\n").is_empty(),
        "std::time comes with everything"
    );
    let elsewhere = check("src/cache/x.rs", "//! A planted file.\n");
    assert!(elsewhere[0].contains("is no layer"), "{elsewhere:?}");
}

#[test]
fn what_is_said_but_not_done_is_no_violation() {
    for (path, line) in [
        ("src/core/x.rs", "/// Not a HashMap; see std::time and tokio."),
        ("src/core/x.rs", "/* Mutex /* f64 */ println */"),
        ("src/core/x.rs", r##"const X: &str = "Instant \" HashMap"; const Y: &str = r#"a " tokio"#;"##),
        ("src/core/x.rs", r"fn f<'a>(c: &'a char) -> bool { *c == '\'' || *c == '/' }"),
        ("src/core/x.rs", "use super::ids::Key; use crate::core::time::Now; use core::fmt;"),
        ("src/core/base/arena.rs", "use std::collections::HashMap;"),
        ("src/core/x.rs", "fn operand(rand_index: u8, r#if: u8) {}"),
        ("src/shim/x.rs", "use kube::Resource; use crate::core::base::ids::Key;"),
        ("src/runtime/x.rs", "use std::time::Instant; use kube::Client;"),
        ("src/runtime/cli/simulate/x.rs", "use crate::sim::play::Play;"),
        ("src/runtime/cli/validate/x.rs", "use crate::sim::schema;"),
        ("tests/x.rs", "use std::time::Instant;"),
    ] {
        plant(path, line, None);
    }
}

#[test]
fn what_is_unfinished_or_silenced_is_found() {
    for (line, expected) in [
        ("// TODO later", "TODO"),
        ("fn f() { g(); /* FIXME */ }", "FIXME"),
        ("fn f() { todo!() }", "todo!"),
        ("fn f() { unimplemented!(); }", "unimplemented!"),
        ("#[ignore] fn f() {}", "ignored"),
        ("#[ignore = \"slow\"] fn f() {}", "ignored"),
        ("#[allow(dead_code)] fn f() {}", "reason"),
        ("#![allow(clippy::all)]", "reason"),
        ("#[cfg_attr(test, expect(dead_code))] fn f() {}", "reason"),
    ] {
        plant("tests/x.rs", line, Some(expected));
    }
    plant("tests/x.rs", "#[allow(dead_code, reason = \"used [elsewhere]\")] fn f() {}", None);
    plant("tests/x.rs", "const X: &str = \"TODO todo!()\";", None);
    assert_eq!(check("tests/x.rs", "fn main() {}\n").len(), 1);
    assert_eq!(check("tests/x.rs", "//! No sentence\n").len(), 1);
    assert!(check("tests/x.rs", "//! A sentence over\n//! two lines.\n//!\n//! more\n").is_empty());
}

#[test]
fn what_is_too_long_is_found() {
    let body = "    g();\n".repeat(MAX_FUNCTION - 2);
    plant("e2e/x.rs", &format!("fn f(x: [u8; 2]) {{\n{body}}}"), None);
    plant("e2e/x.rs", &format!("fn f(x: [u8; 2]) {{\n    g();\n{body}}}"), Some("fn f has 71 lines"));
    plant("src/core/x.rs", &format!("#[cfg(test)]\nmod tests {{ fn f() {{\n    g();\n{body}}}\n}}"), None);
    plant("src/core/x.rs", "trait T { fn f(&self); }", None);

    let long = |tests: &str, lines: usize| format!("//! A planted file.\n{tests}{}", "\n".repeat(lines));
    assert!(check("src/core/x.rs", &long("", MAX_FILE - 1)).is_empty());
    assert!(check("src/core/x.rs", &long("", MAX_FILE))[0].contains("601 lines before its tests"));
    assert!(check("src/core/x.rs", &long("#[cfg(test)]\nmod tests {}\n", MAX_FILE)).is_empty());
    assert!(LONGER.iter().all(|(_, lines)| *lines > MAX_FILE), "a file that became short enough is off the list");
}
