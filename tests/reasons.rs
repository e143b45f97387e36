//! `docs/reasons.md` and `docs/states.md` are what the code says. UPDATE=1 writes them anew.

use gangline::core::codes::Code;
use gangline::core::ids::{AskId, ClassId, GangId};
use gangline::core::lifecycle::{AppEvent, AppState};
use gangline::core::queue::{Kept, QuotaExcess};
use gangline::core::reason::{AskReason, Loss, Reason, Refusal, RejectReason, SpecError, Unsupported};
use gangline::core::resources::Excess;

fn excess() -> QuotaExcess {
    QuotaExcess { queue: "root.q".into(), excess: Excess { resource: "cpu".into(), asked: 2, left: 1 }, kept: None }
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
        RejectReason::AskTooLarge,
        RejectReason::ExceedsMaxQuota(QuotaExcess { queue, excess: excess.clone(), kept }),
        RejectReason::NamespaceQuotaTooSmall { namespace: "ns".into(), excess: excess.clone(), members_fit: true },
        RejectReason::NamespaceQuotaTooSmall { namespace: "ns".into(), excess, members_fit: false },
    ]
}

fn waits() -> Vec<Reason> {
    vec![
        Reason::WaitingForTaskGroups { missing: vec!["b".into()], listed: 2 },
        Reason::WaitingForQueues { queue: "root.q".into() },
        Reason::WaitingForMembers { group: "g".into(), have: 1, need: 2, unsupported: 0 },
        Reason::WaitingForMembers { group: "g".into(), have: 1, need: 2, unsupported: 1 },
        Reason::WaitingForQuota(excess()),
        Reason::WaitingForQuota(QuotaExcess { kept: Some(Kept { gangs: 1, amount: 1 }), ..excess() }),
        Reason::WaitingForApplications { queue: "root.q".into(), max: 1 },
        Reason::Settling,
        Reason::CreatingPlaceholders { have: 1, need: 2 },
        Reason::WaitingForCapacity { fit: 1, need: 2 },
        Reason::BindingPlaceholders { have: 1, need: 2 },
        Reason::Held { unsupported: 0 },
        Reason::Held { unsupported: 2 },
        Reason::PlaceholdersLeaving { count: 1 },
        Reason::PlaceholderRejected(refusal()),
        Reason::PlaceholderRejected(Refusal { code: 500, ..refusal() }),
        Reason::PlaceholdersLost(Loss::Refused { node: "n".into(), reason: "OutOfcpu".into() }),
        Reason::PlaceholdersLost(Loss::Refused { node: "".into(), reason: "".into() }),
        Reason::PlaceholdersLost(Loss::Deleted),
        Reason::PlaceholdersLost(Loss::Changed),
        Reason::PlaceholdersLost(Loss::Ended),
        Reason::ReservationLost { short: 1 },
    ]
}

fn of_pods() -> Vec<AskReason> {
    let placeholder = AskId { index: 0, generation: 0 };
    vec![
        AskReason::TaskGroupNotFound("g".into()),
        AskReason::ApplicationClosed("g".into()),
        AskReason::Unsupported(Unsupported { field: "spec.volumes".into() }),
        AskReason::QueueUnknown("root.q".into()),
        AskReason::Quota(excess()),
        AskReason::TooLarge(excess()),
        AskReason::Capacity(class()),
        AskReason::Wanted(GangId { index: 0, generation: 0 }),
        AskReason::SeatTooSmall { resource: "memory".into(), more: 1, placeholder },
        AskReason::PlaceholderKept(refusal()),
        AskReason::BindRefused(refusal()),
    ]
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
    let rows: String = Code::ALL.iter().map(|code| format!("| `{code}` | {} |\n", code.meaning())).collect();
    let page = format!(
        "# Reasons\n\nThe codes on conditions and status of TaskGroups and Queues, on the `PodScheduled` condition of \
         pods and in events. Generated from `src/core/codes.rs`.\n\nEvents about \
         pods have the reason `FailedScheduling`, as those of kube-scheduler do; their text begins with the code.\n\n| code | meaning |\n|---|---|\n{rows}"
    );
    compare("docs/reasons.md", &page);
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
        std::fs::write(&path, page).expect("the page can be written");
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == page, "{name}: run the tests with UPDATE=1");
}
