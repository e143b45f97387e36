//! `docs/reasons.md` and `docs/states.md` are what the code says. UPDATE=1 writes them anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use gangline::core::base::ids::{AskId, ClassId, GangId};
use gangline::core::base::resources::Excess;
use gangline::core::codes::{Code, Needs};
use gangline::core::model::lifecycle::{AppEvent, AppState};
use gangline::core::model::queue::{First, Kept, QuotaExcess};
use gangline::core::reason::{
    AskReason, ForeignMarker, Loss, Objection, Proof, Reason, Refusal, RejectReason, SpecError, Unsupported,
};
use gangline::core::time::Wall;

fn excess() -> QuotaExcess {
    let excess = Excess { resource: "cpu".into(), asked: 2, left: 1, max: 3 };
    QuotaExcess { queue: "root.q".into(), excess, kept: None }
}

fn refusal() -> Refusal {
    Refusal { code: 403, message: "no".into() }
}

fn class() -> ClassId {
    ClassId { index: 0, generation: 0 }
}

fn rejects() -> Vec<RejectReason> {
    let error = SpecError { field: "spec.minMember".into(), problem: "must be at least 1".into() };
    let QuotaExcess { queue, excess, kept } = excess();
    vec![
        RejectReason::InvalidSpec { group: "g".into(), error },
        RejectReason::GangGroupMismatch { group: "g".into(), field: "queue" },
        RejectReason::QueueNotFound(queue.clone()),
        RejectReason::QueueNotLeaf(queue.clone()),
        RejectReason::QueueDraining(queue.clone()),
        RejectReason::QueueStopped(queue.clone()),
        RejectReason::GangInFairQueue(queue.clone()),
        RejectReason::QueueNotOpen { queue: queue.clone(), namespace: "ns".into(), by: "root".into() },
        RejectReason::ParentQueueNotOpen { queue: queue.clone(), namespace: "ns".into() },
        RejectReason::QueueNameTooLong { queue: queue.clone(), namespace: "ns".into() },
        RejectReason::AskTooLarge,
        RejectReason::TooManyPlaceholders { asked: 2, max: 1 },
        RejectReason::ExceedsMaxQuota(Box::new(QuotaExcess { queue, excess: excess.clone(), kept })),
        RejectReason::NamespaceQuotaTooSmall { namespace: "ns".into(), excess: excess.clone(), members_fit: true },
        RejectReason::NamespaceQuotaTooSmall { namespace: "ns".into(), excess, members_fit: false },
    ]
}

fn first() -> First {
    First { application: "ns/a".into(), queue: "root.q".into(), since: Wall(0) }
}

fn behind(fit: u32) -> Reason {
    let refused = QuotaExcess { kept: Some(Kept { gangs: 1, amount: 1, first: None }), ..excess() };
    Reason::WaitingBehind { fit, need: 2, refused }
}

fn waits() -> Vec<Reason> {
    vec![
        Reason::WaitingForTaskGroups { missing: vec!["b".into()], listed: 2 },
        Reason::WaitingForQueues { queue: "root.q".into() },
        Reason::WaitingForNamespace { namespace: "ns".into() },
        Reason::WaitingForFirstPod,
        Reason::MembersRefused { group: None, count: 2 },
        Reason::WaitingForMembers { group: "g".into(), have: 1, need: 2 },
        Reason::WaitingForQuota(excess()),
        Reason::WaitingForQuota(QuotaExcess { kept: Some(Kept { gangs: 1, amount: 1, first: None }), ..excess() }),
        Reason::WaitingForQuota(QuotaExcess {
            kept: Some(Kept { gangs: 1, amount: 1, first: Some(first()) }),
            ..excess()
        }),
        Reason::RoundWaitsForQuota(excess()),
        Reason::WaitingForFirst(first()),
        Reason::WaitingForPlaceholders { namespace: "ns".into(), asked: 2, max: 3 },
        Reason::WaitingForApplications { queue: "root.q".into(), max: 1 },
        Reason::WaitingForStart { queue: "root.q".into(), application: "ns/a".into() },
        Reason::Settling,
        Reason::CreatingPlaceholders { have: 1, need: 2 },
        Reason::WaitingForCapacity { fit: 1, need: 2, proof: Proof::Searched },
        Reason::WaitingForCapacity { fit: 1, need: 2, proof: Proof::GaveUp { steps: 9 } },
        behind(1),
        Reason::BindingPlaceholders { have: 1, need: 2 },
        Reason::Held,
        Reason::PlaceholdersLeaving { count: 1 },
        Reason::PlaceholderRejected(refusal()),
        Reason::PlaceholderRejected(Refusal { code: 500, ..refusal() }),
        Reason::PlaceholdersLost(Loss::Refused { node: "n".into(), reason: "OutOfcpu".into() }),
        Reason::PlaceholdersLost(Loss::Refused { node: "".into(), reason: "".into() }),
        Reason::PlaceholdersLost(Loss::Deleted),
        Reason::PlaceholdersLost(Loss::Changed),
        Reason::PlaceholdersLost(Loss::Ended),
        Reason::Pausing,
        Reason::JoinedLate { short: 1 },
        Reason::ReservationLost { short: 1 },
    ]
}

fn of_pods() -> Vec<AskReason> {
    let placeholder = AskId { index: 0, generation: 0 };
    vec![
        AskReason::TaskGroupNotFound { group: "g".into(), declared_by: None },
        AskReason::TaskGroupNotFound {
            group: "g".into(),
            declared_by: Some("PodGroup g of scheduling.x-k8s.io".into()),
        },
        AskReason::ApplicationClosed("g".into()),
        AskReason::Refused(Box::new(Objection::Unsupported(Unsupported { field: "spec.volumes".into() }))),
        AskReason::Refused(Box::new(Objection::OtherDialect(ForeignMarker {
            system: "S",
            marker: "the label l".into(),
            remedy: "do",
        }))),
        AskReason::Refused(Box::new(Objection::Misdeclared {
            system: "S",
            problems: vec![SpecError { field: "the annotation a".into(), problem: "is wrong".into() }],
        })),
        AskReason::Refused(Box::new(Objection::GivenUp("a/timeout"))),
        AskReason::QueueUnknown("root.q".into()),
        AskReason::NamespaceUnknown("ns".into()),
        AskReason::Quota(excess()),
        AskReason::BehindFirst(first()),
        AskReason::TooLarge(excess()),
        AskReason::Capacity(class()),
        AskReason::Wanted(GangId { index: 0, generation: 0 }),
        AskReason::SeatHeld(GangId { index: 0, generation: 0 }),
        AskReason::SeatTooSmall { resource: "memory".into(), more: 1, placeholder },
        AskReason::PlaceholderKept(refusal()),
        AskReason::BindRefused(refusal()),
    ]
}

/// What is refused stays so until somebody changes something; what is accepted, and waits, needs nobody to do that.
#[test]
fn a_refusal_is_final_and_a_wait_is_not() {
    for reason in rejects() {
        let of_pod = AskReason::Rejected { code: reason.code(), text: reason.to_string() };
        let codes = [reason.code(), of_pod.code(), AskReason::Queue(reason).code()];
        assert!(codes.iter().all(|code| code.is_final()), "{codes:?}");
    }
    for reason in waits() {
        let (code, of_pod) = (reason.code(), AskReason::Gang(GangId { index: 0, generation: 0 }, reason).code());
        // Members that nothing can place are as a refusal of them.
        let is_final = code == Code::MembersRefused;
        assert!(code.is_final() == is_final && !code.is_unschedulable() && code == of_pod, "{code}");
    }
    let of_pods = of_pods();
    let of =
        |is: fn(Code) -> bool| -> Vec<Code> { of_pods.iter().map(AskReason::code).filter(|code| is(*code)).collect() };
    let refused = [Code::UnsupportedConstraint, Code::DialectNotSupported, Code::InvalidDeclaration, Code::WaitTimeout];
    assert_eq!(of(Code::is_final), [&refused[..], &[Code::ExceedsMaxQuota]].concat());
    assert_eq!(of(Code::is_unschedulable), [Code::Unschedulable; 2], "no node has room, alone or with its gang");
}

/// A code that nothing says would be explained to nobody.
#[test]
fn every_code_is_said_somewhere() {
    let mut said = BTreeSet::new();
    each_line(&mut |_, line| {
        let names = line.split("Code::").skip(1).map(|rest| rest.split(|end: char| !end.is_alphanumeric()).next());
        said.extend(names.flatten().filter_map(Code::from_name));
    });
    assert_eq!(said.into_iter().collect::<Vec<_>>(), Code::ALL);
}

/// A code that is written as a word can be mistyped. Some words are those of states and conditions too.
#[test]
fn no_code_is_written_as_a_word() {
    let others: Vec<&str> = AppState::ALL.map(AppState::name).into_iter().chain(CONDITIONS).collect();
    each_line(&mut |path, line| {
        let mut words = line.split('"').skip(1).step_by(2);
        let word = words.find(|word| Code::from_name(word).is_some() && !others.contains(word));
        assert_eq!(word, None, "{}: {line}", path.display());
    });
}

/// Conditions that are called as a code is.
const CONDITIONS: [&str; 3] = ["Active", "Placed", "QuotaReserved"];

/// Looks at every line of the product's code: not at comments, nor at what is there for tests alone.
fn each_line(look: &mut impl FnMut(&Path, &str)) {
    let mut dirs = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(dir) = dirs.pop() {
        let above = [dir.join("mod.rs"), dir.with_extension("rs")].map(|file| fs::read_to_string(file).ok());
        let above = above.into_iter().flatten().collect::<String>();
        let is_test = |path: &Path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            above.contains(&format!("#[cfg(test)]\nmod {name};"))
        };
        let entries = fs::read_dir(&dir).expect("a directory").map(|entry| entry.expect("it can be read").path());
        for path in entries.filter(|path| !is_test(path)) {
            if path.is_dir() {
                dirs.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source file is UTF-8");
            let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            code.lines().filter(|line| !line.trim_start().starts_with("//")).for_each(|line| look(&path, line));
        }
    }
}

#[test]
fn every_sentence_has_its_counts_and_no_debug_text() {
    let sentences = (rejects().into_iter().map(|reason| reason.to_string()))
        .chain(waits().into_iter().map(|reason| reason.to_string()))
        .chain(of_pods().into_iter().map(|reason| reason.to_string()));
    for sentence in sentences {
        assert!(!sentence.contains("Some(") && !sentence.contains('{') && !sentence.ends_with('.'), "{sentence}");
    }
}

#[test]
fn who_failed_is_not_said_to_have_refused() {
    let failed = |code| {
        let reason = Reason::PlaceholderRejected(Refusal { code, ..refusal() });
        (reason.code() == Code::PlaceholderFailed, reason.to_string().contains("failed to create"))
    };
    assert_eq!([403, 499, 500, 503].map(failed), [(false, false), (false, false), (true, true), (true, true)]);
}

#[test]
fn the_page_is_what_the_code_says() {
    let row = |code: Code| format!("| `{code}` | {} | {} |\n", code.meaning(), words(code.needs()));
    let rows: String = Code::ALL.map(row).concat();
    let page = format!(
        "# Reasons\n\nThe codes on conditions and status of TaskGroups and Queues, on the `PodScheduled` condition of \
         pods and in events. Generated from `src/core/codes.rs`.\n\nEvents about \
         pods have the reason `FailedScheduling`, as those of kube-scheduler do; their text begins with the code.\n\n| code | meaning | what ends it |\n|---|---|---|\n{rows}"
    );
    compare("docs/reasons.md", &page);
}

const fn words(needs: Needs) -> &'static str {
    match needs {
        Needs::Nothing => "-",
        Needs::Time => "it passes, or is tried again",
        Needs::Arrivals => "members, TaskGroups or Queues that are yet to come",
        Needs::Others => "others that end, or give room back",
        Needs::Nodes => "nodes: an autoscaler makes some for it",
        Needs::Change => "only a change of a spec, a queue or a quota",
        Needs::Anew => "a change of its spec, or other pods when its own are gone",
    }
}

#[test]
fn the_diagram_is_what_the_code_says() {
    let mut arrows = String::new();
    for state in AppState::ALL {
        for event in AppEvent::ALL {
            if let Some(next) = state.next(event) {
                arrows.push_str(&format!("    {state} --> {next}: {event:?}\n"));
            }
        }
    }
    let page = format!(
        "# States of an application\n\nGenerated from `src/core/model/lifecycle.rs`, the one transition table.\n\n\
         ```mermaid\nstateDiagram-v2\n    [*] --> New\n{arrows}```\n"
    );
    compare("docs/states.md", &page);
}

fn compare(name: &str, page: &str) {
    let path = format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, page).expect("the page can be written");
    }
    assert!(fs::read_to_string(&path).unwrap_or_default() == page, "{name}: run the tests with UPDATE=1");
}
