//! `docs/spec-coverage.md` is what the tests say of themselves: which sentence of the design each shows. UPDATE=1 writes it
//! anew.

use std::collections::{BTreeMap, BTreeSet};
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

/// Files with a test that shows a sentence of a seed; their other tests are not listed.
const OTHERS: &[(&str, &str)] = &[("tidy", "src")];

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
| gangs are plugins of kube-scheduler, which asks them about one pod after the other (QueueSort, PreFilter, PostFilter, Permit, Un-reserve) | a scheduler of its own, which plans a gang as a whole | 02, 2.1 and 2.2: plan reads, commit writes; what these points are to bring about is shown test by test above |
| `scheduleCycle` and `childrenScheduleRoundMap` count who was tried; `scheduleCycleValid` keeps the others from being tried | nothing is counted: all members are planned in one turn, and again when what failed has changed | 01, 1.3; ADR 18 |
| pods of a Strict gang wait at Permit, each with the node that it has found, and the others are put back into the active queue | nobody waits with a node: all find nodes in one plan, or nothing is held | 01, 1.3: no hold and wait |
| after a failover a gang of which any pod has been bound is satisfied | its start is completed first, before anything else; where that cannot be, it says `PartiallyLost` | 01, 1.6: that one member happened to be bound makes no gang whole |
| nobody waits longer than 15 minutes (known issue) | `waitTimeoutSeconds` may be a year | nothing stands still meanwhile: a deadline is noted, and shown in the status (01, 1.7) |
| a pod whose binding failed is rolled back | so after the start; until the start is complete its room is its own for the next try, and the others go on | 01, 1.3: others would take it, and the gang would run without that member |
| a gang is as old as its PodGroup | as its TaskGroup, which is made when the first pod names the PodGroup | ADR 38: nothing is made of what other schedulers may place |
| the examples write annotations as numbers and as a list | annotations are texts: `\"5\"`, and a list as JSON in one | an API server takes no others |
| the same unit, smoke and end-to-end tests pass before and after the cache is merged into the scheduler | there was no second copy to begin with; what YuniKorn's own tests assert is looked at one by one, in `docs/yunikorn-behaviours.md` | 02, 2.2: a fact lives in one place |
| messages between cache and scheduler go, those between shim and core stay | there are neither: facts go into one step, and decisions come out of it | ADR 1 |
| each object of the merged scheduler has its lock, taken late, in one direction, and never while objects are iterated over; end-to-end tests are to find deadlocks | one owner, no lock, and no order of locks | ADR 3 |
| the shim registers resource managers, and partitions that each have queues, applications and nodes | one cluster, one tree of queues | 01, 1.12: nothing in Kubernetes says the first |
| with a node its allocations are removed | its pods stay charged to their queue until they are gone | 01, 1.5: a pod is there until the API server says otherwise, and only then is it replaced |
";

/// A test, and the sentences that it shows.
struct Shown {
    sections: BTreeSet<String>,
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
            all.push(Shown { sections: sections_of(&section, &says), says, test: name.to_owned() });
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

/// The section of its first sentence, and each seed that is named in a later one.
fn sections_of(first: &str, says: &str) -> BTreeSet<String> {
    let words: Vec<&str> = says.split(' ').collect();
    let named = words.windows(2).filter(|pair| pair[0].eq_ignore_ascii_case("seed"));
    let seeds = named.filter_map(|pair| pair[1].get(..3)).filter(|number| number.parse::<u16>().is_ok());
    let mut sections: BTreeSet<String> = seeds.map(|number| format!("Seed {number}")).collect();
    if !first.is_empty() || sections.is_empty() {
        sections.insert(first.to_owned());
    }
    sections
}

/// The place of a section: seeds first, then the design by its numbers, and what names neither last.
fn place(section: &str) -> (bool, bool, Vec<u32>, String) {
    let numbers = section.split([',', '.', ' ']).filter_map(|part| part.parse().ok());
    (section.is_empty(), !section.starts_with("Seed"), numbers.collect(), section.to_owned())
}

fn page() -> String {
    let mut sections: BTreeMap<_, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for (file, _) in MODULES.iter().chain(OTHERS) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{file}.rs"));
        let is_listed = |shown: &Shown| MODULES.iter().any(|(of, _)| of == file) || !shown.sections.contains("");
        for shown in shown(&fs::read_to_string(&path).expect("it is there")).into_iter().filter(is_listed) {
            count += 1;
            let row = format!("| {} | `{file}::{}` |", shown.says.replace('|', "\\|"), shown.test);
            for section in &shown.sections {
                sections.entry(place(section)).or_default().push(row.clone());
            }
        }
    }
    let mut page = format!(
        "# What the tests show\n\nGenerated from the comments of `tests/spec_*.rs` (UPDATE=1, `tests/coverage_page.rs`): the \
         sentence of the design that each of {count} tests shows, and the code that it is about. Scenarios, plays and the end to \
         end tests show more of the same.\n\nA seed is a design of others from which this one was made: 000 and 001 are two \
         versions of YuniKorn's for gangs, 002 is Koordinator's, 004 YuniKorn's for the removal of its cache. A test that names \
         a seed beside the design is listed under both.\n\n| tests | code |\n|---|---|\n"
    );
    for (file, module) in MODULES.iter().chain(OTHERS) {
        writeln!(page, "| `tests/{file}.rs` | `{}` |", module.replace(", ", "`, `")).expect("it fits");
    }
    for ((.., section), rows) in &sections {
        let title = if section.is_empty() { "No sentence of its own" } else { section };
        write!(page, "\n## {title}\n\n| says | test |\n|---|---|\n{}\n", rows.join("\n")).expect("it fits");
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
