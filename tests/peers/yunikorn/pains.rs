//! The defects P1 to P37 of YuniKorn, and what makes each impossible here.

use crate::peers::table::Row;
use crate::peers::table::Verdict::{Better, Different, Missing, NotApplicable};

pub(super) const ROWS: &[Row] = &[
    Row::of(
        "P1",
        "a pending placeholder is deleted, and the pods of its task group wait for ever",
        Better(
            "a seat is open, pending, held or taken, and a member takes one that is there; nothing is derived from counters",
        ),
        &[
            "spec_loss::no_loss_pends_a_member_for_ever",
            "scenarios/pending-placeholder-deleted.txt",
            "e2e/gangs/yunikorn_scenarios::pending_deleted",
        ],
    ),
    Row::of(
        "P2",
        "one placeholder that is preempted starts half of a gang",
        Better(
            "one state machine; the start is decided when every seat is settled, and called off if one is lost before a pod is bound",
        ),
        &[
            "scenarios/bound-placeholder-preempted.txt",
            "spec_called_off::no_member_is_bound_alone_where_a_seat_was_lost_before_the_first_was_bound",
            "e2e/gangs/yunikorn_failures::evicted",
        ],
    ),
    Row::of(
        "P3",
        "after a restart a gang that runs reserves again, and with Hard its running pods fail",
        Better("each Binding marks its pod; what has a node is charged before anything is decided, and never fails"),
        &[
            "spec_recovery::a_started_gang_gets_no_placeholders",
            "spec_recovery::who_runs_does_not_fail_for_what_status_says",
            "scenarios/restarted-after-every-swap-hard.txt",
            "rivals/running-gang-reserves-again.patch",
            "e2e/gangs/yunikorn_failures::restarted",
        ],
    ),
    Row::of(
        "P4",
        "admission makes placeholders larger, the gang never runs, and a timeout deletes pods that run",
        Better("seats are counted, not summed up; a timeout acts on placeholders alone"),
        &[
            "scenarios/placeholders-changed-by-admission.txt",
            "spec_timeouts::after_the_start_leftovers_are_released",
            "e2e/gangs/yunikorn_scenarios::limit_range",
            "rivals/timeout-takes-what-runs.patch",
        ],
    ),
    Row::of(
        "P5",
        "a placeholder that is refused, or JSON that is wrong, makes a gang (Hard too) none",
        Better(
            "a refused placeholder is tried again and nothing is held meanwhile; a wrong declaration is refused on the pod",
        ),
        &[
            "scenarios/creation-refused-hard.txt",
            "spec_yunikorn::a_wrong_declaration_is_refused_on_the_pod_and_nothing_is_made_of_it",
            "rivals/refusal-starts-the-gang.patch",
            "e2e/gangs/yunikorn_failures::third_fails",
        ],
    ),
    Row::of(
        "P6",
        "a node dies in a swap to another node, and the process with it",
        Better("a confirmation in any state is a legal fact; no event panics"),
        &[
            "yunikorn/partition::a_confirmation_after_the_target_was_lost_is_a_legal_word",
            "spec_completion::what_is_late_unknown_or_repeated_changes_nothing",
            "e2e/gangs/yunikorn_failures::target_goes",
        ],
    ),
    Row::of(
        "P7",
        "a timeout of a task group that is not known ends the process",
        Better("a seat belongs to its group by id and roles are an enum: there is no name to look up"),
        &["spec_timeouts::soft_places_pods_one_by_one", "spec_deadlines::each_deadline_is_shown_while_it_runs"],
    ),
    Row::of(
        "P8",
        "two gangs hold a part each of a quota or of the nodes, and neither starts",
        Better("seats are planned all or none, and the quota is charged when a plan commits"),
        &[
            "scenarios/two-gangs-of-sixty-percent.txt",
            "scenarios/two-gangs-of-sixty-percent-of-a-quota.txt",
            "spec_reserve::two_gangs_never_wait_for_each_others_seats",
            "e2e/gangs/yunikorn_scenarios::two_of_sixty",
        ],
    ),
    Row::of(
        "P9",
        "placeholders fill the quota, and their own originator has no room",
        Better("an originator is part of rejection, gate and plan"),
        &[
            "spec_originators::an_originator_counts_at_the_gate",
            "scenarios/quota-of-the-gang-without-its-driver.txt",
            "e2e/gangs/yunikorn_scenarios::without_originator",
        ],
    ),
    Row::of(
        "P10",
        "one pod that is too large ends the reservation of its whole task group",
        Better("it waits for the difference alone, and an event names the resource"),
        &[
            "spec_swap::a_larger_member_does_not_hold_up_the_others",
            "scenarios/larger-than-its-seat.txt",
            "e2e/gangs/yunikorn_scenarios::larger",
        ],
    ),
    Row::of(
        "P11",
        "placeholders that are lost are not made again",
        Better("an open seat is planned again in the same step, with pauses for who loses them again and again"),
        &[
            "spec_loss::a_held_placeholder_that_goes_is_planned_again",
            "spec_lost_again::a_seat_that_is_lost_once_in_a_while_is_planned_again_at_once",
            "yunikorn/end_to_end::all_bound_placeholders_are_deleted",
        ],
    ),
    Row::of(
        "P12",
        "a gang that fits nowhere waits for ever",
        Better(
            "it holds nothing and says what it lacks; a TaskGroup may bound how long it waits at the gate, or with nodes for some of its pods, which YuniKorn's words do not say; one none of whose pods finds a node waits without a bound",
        ),
        &[
            "spec_timeouts::who_does_not_pass_the_gate_in_time_is_rejected",
            "spec_timeouts::who_finds_nodes_for_some_only_is_rejected_in_time",
            "scenarios/never-fits.txt",
        ],
    ),
    Row::of(
        "P13",
        "a seat is given up for a pod whose volumes or devices do not fit that node",
        Missing(
            "claimed volumes and devices are refused by name, before anything is held, so no seat is lost for them; what is given is looked at before a seat is given up",
        ),
        &[
            "spec_swap::a_seat_is_not_given_up_for_a_member_that_cannot_use_it",
            "scenarios/member-with-what-we-do-not-give.txt",
            "src/shim/constraints::what_cannot_be_honoured_is_named_and_what_is_soft_is_not",
        ],
    ),
    Row::of(
        "P14",
        "required anti-affinity and spread of the pods themselves conflict with their placeholders",
        Missing("both are refused by name, before anything is held"),
        &[
            "src/shim/constraints::what_cannot_be_honoured_is_named_and_what_is_soft_is_not",
            "spec_reserve::an_unsupported_pod_is_no_member",
            "e2e/gangs/yunikorn_failures::apart",
        ],
    ),
    Row::of(
        "P15",
        "placeholders that were made just before a failure stay",
        Better("names are deterministic, and what is found and belongs to no seat is deleted"),
        &[
            "spec_reserve::a_placeholder_that_was_called_off_too_late",
            "spec_recovery::strays_are_deleted_once_task_groups_are_listed",
            "rivals/late-creation-stays.patch",
        ],
    ),
    Row::of(
        "P16",
        "an application id that has ended cannot be used again",
        Better("each life has its number in status; who comes after an end begins a new one, after a pause that grows"),
        &[
            "spec_timeouts::a_killed_application_lives_again_after_a_pause",
            "spec_completion::a_completed_id_can_be_submitted_by_a_new_object",
            "spec_endings::an_owner_that_never_gives_up_gets_few_lives",
            "e2e/gangs/yunikorn_failures::made_anew",
        ],
    ),
    Row::of(
        "P17",
        "preemption takes single pods of a gang, and frees room for a part of one",
        Missing("Gangline preempts nothing yet"),
        &[],
    ),
    Row::of(
        "P18",
        "limits of users and groups are not looked at when a gang is let in",
        Better(
            "the gate looks at the limits of its user and group as at the queues of its path, and at namespace quotas",
        ),
        &[
            "spec_limits::a_user_has_no_more_than_its_limit",
            "spec_limits::what_no_limit_could_ever_hold_is_refused",
            "spec_gate::an_ancestors_quota_counts",
            "controller_queues::the_quotas_of_a_namespace_limit_its_own_gangs",
        ],
    ),
    Row::of(
        "P19",
        "an old ask reserves whole nodes for hours",
        Better(
            "a pod or gang that waits reserves no node; the first in line may be overtaken no more, within a bound, in its quota",
        ),
        &[
            "spec_gate::a_gang_that_waits_for_nodes_keeps_nothing_from_those_behind",
            "spec_head::the_first_in_line_is_overtaken_so_long_and_no_longer",
        ],
    ),
    Row::of(
        "P20",
        "preemption waits for a lock that it holds",
        NotApplicable("the core has no lock and one owner, which `tests/tidy.rs` checks"),
        &["tidy::the_repository_is_tidy"],
    ),
    Row::of(
        "P21",
        "one slow Binding stops pod events and scheduling",
        Better("calls leave by the outbox, many at once, and their answers come as facts"),
        &[
            "src/controller/outbox/tests::no_more_than_the_window_and_one_per_object",
            "src/controller/outbox/window::whatever_hangs_binds_have_room",
        ],
    ),
    Row::of(
        "P22",
        "a map is read and written by two threads at once",
        NotApplicable("safe Rust does not compile that, and the core has no thread"),
        &["tidy::the_repository_is_tidy"],
    ),
    Row::of(
        "P23",
        "a gang starts slowly: polls, placeholders one after the other, a swap a cycle",
        Better(
            "no placeholder for members that exist; what can be done is done in the step in which it becomes possible, all swaps at once",
        ),
        &[
            "spec_swap::all_swaps_are_in_flight_at_once",
            "spec_gang::missing_with_every_member_there_needs_no_placeholder",
        ],
    ),
    Row::of(
        "P24",
        "timeouts are shortened, lost or frozen by restarts and ages",
        Better("a deadline is a time in status while what it bounds lasts"),
        &[
            "spec_deadlines::each_deadline_goes_on_over_a_restart",
            "spec_deadlines::each_deadline_changes_while_it_runs",
            "rivals/timeout-counts-from-the-first-pod.patch",
        ],
    ),
    Row::of(
        "P25",
        "more seats than pods are held until the timeout",
        Different(
            "also here, until the placeholder timeout, if placeholders are asked for; a `Direct` gang holds none",
        ),
        &[
            "spec_timeouts::after_the_start_leftovers_are_released",
            "spec_gang::direct_binds_all_members_once_enough_exist",
        ],
    ),
    Row::of(
        "P26",
        "a gang that is in a queue stays when its queue becomes Fair",
        Better("it is judged again when the queue changes"),
        &[
            "yunikorn/partition::a_gang_whose_queue_becomes_fair_is_judged_again",
            "spec_policies::a_fair_queue_takes_no_gang",
            "spec_policies::a_policy_is_inherited_and_changes_live",
        ],
    ),
    Row::of(
        "P27",
        "a gang that loses pods after its start runs on below `minMember`, and nothing says so",
        Better(
            "PartiallyLost is said, the room is kept for the next pod, and a gang of which nothing runs starts whole",
        ),
        &[
            "spec_kept::the_seat_of_a_lost_member_is_kept",
            "spec_loss::a_member_lost_between_the_bindings",
            "spec_anew::a_restart_inside_the_hold_starts_whole_in_its_own_room",
        ],
    ),
    Row::of(
        "P28",
        "pods that declare other task groups, or belong to unknown ones, are not told",
        Better(
            "who declares otherwise has an event, who names an unknown group is placed as an ordinary pod, with an event",
        ),
        &[
            "spec_yunikorn::of_pods_that_declare_it_differently_one_is_heeded_and_the_other_told",
            "yunikorn/partition::a_member_goes_by_its_seat_and_never_by_an_unknown_group",
        ],
    ),
    Row::of(
        "P29",
        "nothing shows how a gang stands",
        Better(
            "a TaskGroup has status, conditions and events, a pod its condition, and there are metrics and `gangline why`",
        ),
        &[
            "controller::decisions_and_seats_are_counted",
            "spec_said::the_task_group_that_is_short_is_named",
            "reasons.rs",
        ],
    ),
    Row::of(
        "P30",
        "a placeholder that is resized is booked as a pod, and its application never ends",
        Better("a seat knows its size and its kind, and the audit computes all sums anew after every step of a test"),
        &["spec_gate::placeholders_larger_than_announced_do_not_flap", "spec_audit::each_mistake_in_the_books_is_told"],
    ),
    Row::of(
        "P31",
        "DRA is not reserved, and preferred affinity is ignored",
        Missing("claims of devices are refused by name; preferences are ignored, as there (ADR 8)"),
        &["src/shim/constraints::what_cannot_be_honoured_is_named_and_what_is_soft_is_not"],
    ),
    Row::of(
        "P32",
        "one replica, and all that it knows is lost with it",
        Better("replicas elect a leader, and all state is read of objects"),
        &[
            "lease::one_leads_and_the_other_follows_it",
            "spec_recovery::a_restart_in_any_phase_ends_where_it_would_have_ended",
            "crash_matrix::a_crash_at_any_write_changes_nothing_in_the_end",
        ],
    ),
    Row::of(
        "P33",
        "a pod or node that is not known is taken for a success",
        Better(
            "a Binding is charged in the decision, and what its answer says is a fact about a pod that is known or nothing",
        ),
        &[
            "spec_seats::a_binding_for_a_node_that_is_gone_is_planned_again_at_once",
            "spec_completion::what_is_late_unknown_or_repeated_changes_nothing",
            "rivals/binds-to-a-lost-node.patch",
        ],
    ),
    Row::of(
        "P34",
        "metrics are called milliseconds and are seconds",
        Better("names and units are checked by a test"),
        &[
            "src/runtime/metrics/tests::names_and_helps_keep_the_rules",
            "src/runtime/metrics/tests::amounts_are_in_base_units",
        ],
    ),
    Row::of(
        "P35",
        "an edit of style, timeout or quota does not reach a gang that is there",
        Better("timeouts at any time, the rest before the start; a quota as soon as it is seen"),
        &[
            "spec_edits::a_timeout_can_be_changed_at_any_time",
            "spec_edits::an_accepted_application_is_judged_by_its_new_spec",
            "spec_queues::any_limit_on_the_path_is_live",
        ],
    ),
    Row::of(
        "P36",
        "placeholders of an older release are taken for pods",
        Better("a placeholder of YuniKorn is refused by its annotation; ours are recognised by what never changes"),
        &[
            "src/shim/dialect/yunikorn/tests::a_queue_is_heeded_without_an_application_and_a_placeholder_of_yunikorn_is_nothing",
            "src/shim/placeholder::names_are_stable_for_ever",
        ],
    ),
    Row::of(
        "P37",
        "Resuming waits for placeholders that nobody deletes",
        Better(
            "creations that are on their way are called off, or deleted when they come late; pods go on with the last placeholder",
        ),
        &[
            "spec_timeouts::soft_waits_for_the_last_placeholder",
            "spec_timeouts::pending_placeholders_go_first",
            "rivals/late-creation-stays.patch",
        ],
    ),
];
