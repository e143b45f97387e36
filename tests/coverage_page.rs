//! `docs/spec-coverage.md` is what the tests say of themselves: which sentence of the design each shows. UPDATE=1 writes it
//! anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The code that each file of tests is about.
const MODULES: &[(&str, &str)] = &[
    ("spec_anew", "src/core/gang/restart.rs"),
    ("spec_audit", "src/core/audit"),
    ("spec_bad_input", "src/shim, src/core"),
    ("spec_bound", "src/core/model/bound.rs"),
    ("spec_called_off", "src/core/gang/swap.rs"),
    ("spec_completion", "src/core/gang/life.rs, src/core/model/lifecycle.rs"),
    ("spec_deadlines", "src/core/model/countdown.rs, src/core/gang/timeout.rs"),
    ("spec_dialects", "src/shim/dialect, src/shim/show.rs, src/core/order"),
    ("spec_edits", "src/core/facts/groups.rs"),
    ("spec_endings", "src/core/gang/timeout.rs, src/core/model/kept.rs"),
    ("spec_events", "src/controller/announce.rs"),
    ("spec_facts", "src/core/facts, src/core/gang/heed.rs"),
    ("spec_gang", "src/core/gang"),
    ("spec_gang_groups", "src/core/gang/judge.rs, src/core/model/group.rs"),
    ("spec_gate", "src/core/gang/gate.rs"),
    ("spec_head", "src/core/order/heads.rs"),
    ("spec_interrupted", "src/core/gang/recover.rs, src/core/gang/replace.rs"),
    ("spec_kept", "src/core/model/kept.rs, src/core/gang/kept.rs"),
    ("spec_koordinator", "src/shim/dialect, src/controller/declare.rs"),
    ("spec_koordinator_timeout", "src/controller/timed_out.rs, src/shim/dialect/koordinator.rs"),
    ("spec_limits", "src/core/model/queue/share.rs"),
    ("spec_loss", "src/core/facts/pods.rs"),
    ("spec_lost_again", "src/core/gang/reserve.rs"),
    ("spec_modes", "src/core/gang/reserve.rs, src/core/place/plan.rs"),
    ("spec_namespaces", "src/core/model/namespaces.rs, src/core/facts/namespaces.rs"),
    ("spec_native", "src/shim/dialect/kubernetes.rs, src/controller/declare.rs"),
    ("spec_order", "src/core/order"),
    ("spec_ordinary", "src/core/model/membership.rs"),
    ("spec_originators", "src/core/gang/judge.rs"),
    ("spec_pod_group_edits", "src/controller/declare.rs"),
    ("spec_pod_groups", "src/shim/dialect/pod_group.rs, src/controller/declare.rs"),
    ("spec_policies", "src/core/order/merge.rs, src/core/model/queue/standing.rs, src/core/model/starting.rs"),
    ("spec_queues", "src/core/model/queue.rs"),
    ("spec_recovery", "src/core/gang/recover.rs, src/core/gang/absorb.rs"),
    ("spec_reserve", "src/core/gang/reserve.rs"),
    ("spec_restart", "src/core/gang/recover.rs"),
    ("spec_room", "src/core/place"),
    ("spec_rounds", "src/core/gang/rounds.rs, src/core/model/rounds.rs"),
    ("spec_said", "src/core/show"),
    ("spec_seats", "src/core/model/seat.rs"),
    ("spec_seeds", "src/core, src/shim"),
    ("spec_submission", "src/core/gang/judge.rs"),
    ("spec_swap", "src/core/gang/replace.rs"),
    ("spec_timeouts", "src/core/gang/timeout.rs"),
    ("spec_total", "src/core/gang/along.rs, src/core/model/along.rs"),
    ("spec_volcano", "src/shim/dialect/volcano.rs, src/controller/declare.rs"),
    ("spec_yunikorn", "src/shim/dialect, src/controller/declare.rs"),
];

/// What is not as a seed has it, and why.
const OTHERWISE: &str = "\
| the seed says | here | why |
|---|---|---|
| the messages of shim and core are a protocol between two processes | calls within one process | one state machine, and no copy of it that could disagree (design 02, 2.2) |
| each message is answered in the order of the seed | a timeout is written into status before the first deletion | ADR 23 |
| the next cycle of a gang waits until all of its pods were tried | it comes when what failed has changed | ADR 18 |
| a gang that completed and gets more pods goes on | a gang restarts as a gang | ADR 24 |
| a release without an allocation key releases all of an application | deleting the TaskGroup releases every placeholder of it | nothing in Kubernetes says the first; pods are released one by one as they go |
| the fields of AddApplicationRequest, AllocationAsk, Allocation and AllocationRelease are protobuf | values of Rust between shim and core; on pods labels and annotations | no second process reads them |
| the core answers the shim's release with one of the same type | nothing is answered | a pod that is gone needs no word; the books are changed in the same step |
| PREEMPTED_BY_SCHEDULER releases pods | no release has that type | there is no preemption yet |
| a placeholder timeout kills the application | so with style Hard; with Soft, the default, its pods are placed one by one | 01, 1.7: YuniKorn does so today |
| a placeholder timeout ends a reservation that is partly allocated | it ends one that nobody came for: a gang holds all of its seats or none | 01, 1.3: no hold and wait |
| each pod generates a placeholder, the first pod too | so with `placeholderFor: all`; by default members that exist take seats directly, and pods outside task groups always | 01, 1.3: no call for what need not be held |
| the annotation `gang.scheduling.koordinator.sh/timeout` stays on a pod for ever | it is taken off when the gang goes on, since its TaskGroup was changed | 01, 1.7, ADR 42 |
| a NonStrict gang accumulates quota pod by pod | its whole ask must fit the queue before any seat is held; only nodes are accumulated | ADR 39: a deadlock over quota has no use |
";

/// A test, and the sentence that it shows.
struct Shown {
    section: String,
    says: String,
    test: String,
}

/// The tests of a file with what their comments say. `As above` is of the section of the one before.
fn shown(text: &str) -> Vec<Shown> {
    let (mut all, mut comment, mut section) = (Vec::new(), Vec::new(), String::new());
    let mut is_test = false;
    for line in text.lines() {
        if let Some(said) = line.strip_prefix("/// ") {
            comment.push(said);
        } else if line == "#[test]" {
            is_test = true;
        } else if let (Some(name), true) = (line.strip_prefix("fn ").and_then(|rest| rest.split('(').next()), is_test) {
            let says = comment.join(" ");
            if !says.starts_with("As above") {
                section = section_of(&says);
            }
            all.push(Shown { section: section.clone(), says, test: name.to_owned() });
            (comment, is_test) = (Vec::new(), false);
        } else if !line.starts_with("#[") {
            (comment, is_test) = (Vec::new(), false);
        }
    }
    all
}

/// `01, 1.2.3` of `01, 1.2.3: "…"`; the seed of `Seed 000: …`; empty where no sentence is named.
fn section_of(says: &str) -> String {
    let mut words = says.split([' ', ':']);
    let (Some(first), Some(second)) = (words.next(), words.next()) else { return String::new() };
    let is_section = |word: &str| word.starts_with(|one: char| one.is_ascii_digit());
    match first.strip_suffix(',') {
        Some(part) if is_section(part) && is_section(second) => {
            format!("{part}, {}", second.trim_end_matches([',', '.']))
        }
        _ if first == "Seed" => format!("Seed {second}"),
        _ => String::new(),
    }
}

/// Sections in the order of their numbers.
fn order(section: &str) -> Vec<u32> {
    section.split([',', '.', ' ']).filter_map(|part| part.parse().ok()).collect()
}

fn page() -> String {
    let mut sections: BTreeMap<_, Vec<(String, Shown)>> = BTreeMap::new();
    for (file, _) in MODULES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{file}.rs"));
        for shown in shown(&fs::read_to_string(&path).expect("it is there")) {
            let place = (shown.section.is_empty(), order(&shown.section), shown.section.clone());
            sections.entry(place).or_default().push(((*file).to_owned(), shown));
        }
    }
    let count: usize = sections.values().map(Vec::len).sum();
    let mut page = format!(
        "# What the tests show\n\nGenerated from the comments of `tests/spec_*.rs` (UPDATE=1, `tests/coverage_page.rs`): the \
         sentence of the design that each of {count} tests shows, and the code that it is about. Scenarios, plays and the end to \
         end tests show more of the same.\n\n| tests | code |\n|---|---|\n"
    );
    for (file, module) in MODULES {
        writeln!(page, "| `tests/{file}.rs` | `{}` |", module.replace(", ", "`, `")).expect("it fits");
    }
    for ((.., section), all) in &sections {
        let title = if section.is_empty() { "No sentence of its own" } else { section };
        write!(page, "\n## {title}\n\n| says | test |\n|---|---|\n").expect("it fits");
        for (file, Shown { says, test, .. }) in all {
            writeln!(page, "| {} | `{file}::{test}` |", says.replace('|', "\\|")).expect("it fits");
        }
    }
    write!(page, "\n## Not as a seed has it\n\n{OTHERWISE}").expect("it fits");
    page
}

#[test]
fn the_page_of_sentences_is_what_the_tests_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/spec-coverage.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).expect("writable");
    }
    let is_current = fs::read_to_string(&path).unwrap_or_default() == page;
    assert!(is_current, "docs/spec-coverage.md: run the tests with UPDATE=1");
}

/// Every file of tests by sentence is in the table.
#[test]
fn every_file_of_sentences_is_read() {
    let dir = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")).expect("it is there");
    let files = dir.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut files: Vec<_> = files.filter_map(|file| file.strip_suffix(".rs").map(str::to_owned)).collect();
    files.retain(|file| file.starts_with("spec_"));
    files.sort();
    assert_eq!(files, MODULES.iter().map(|(file, _)| (*file).to_owned()).collect::<Vec<_>>());
}
