//! The codes of all reasons with what they mean: what `docs/reasons.md` is made of.

/// Every code that users meet on TaskGroups, Queues, pods and events, with what it means and what helps.
/// `docs/reasons.md` is made of it.
pub const CODES: [(&str, &str); 38] = [
    ("Submitted", "The application is known and will be looked at in the next pass."),
    ("InvalidSpec", "A spec is wrong. Every error is listed with its field; correct the object."),
    ("GangGroupMismatch", "TaskGroups of one gang disagree about a field that they must share."),
    (
        "QueueNotFound",
        "The queue is not defined, or its Queue has no valid place in the tree (see its Active condition).",
    ),
    ("QueueNotLeaf", "The queue has queues below it; name one of those."),
    (
        "QueueDraining",
        "The queue is not defined any more; what runs goes on under its last limits, nothing new is accepted.",
    ),
    ("AskTooLarge", "The sum of minMember x minResource is beyond what can be counted."),
    (
        "ExceedsMaxQuota",
        "The whole gang, or an ordinary pod, exceeds the max of its queue or of a queue above: it could never start.",
    ),
    ("NamespaceQuotaTooSmall", "The namespace's ResourceQuota cannot hold the placeholders and one member at once."),
    (
        "ApplicationClosed",
        "The application goes on without this TaskGroup, which it does not list or which differs from it.",
    ),
    ("TaskGroupNotFound", "The pod names a TaskGroup that does not exist in its namespace; it is parked."),
    ("WaitingForTaskGroups", "TaskGroups that the gangGroup lists do not exist yet."),
    ("WaitingForQueues", "The cluster does not serve the kind Queue (yet), so that a queue cannot be looked up."),
    ("WaitingForMembers", "Fewer members exist than start together, or every seat is held and no member came yet."),
    ("WaitingForQuota", "The queue, or one above, has too little left now."),
    ("WaitingForApplications", "The queue, or one above, already runs maxApplications applications."),
    ("CreatingPlaceholders", "Placeholders are being created."),
    ("PlaceholderRejected", "The API server refused a placeholder; nothing is held until the next attempt."),
    ("PlaceholderFailed", "The API server failed over a placeholder; nothing is held until the next attempt."),
    (
        "PlaceholdersLost",
        "Two placeholders of a seat were refused by nodes or deleted by somebody within two minutes; nothing is held until the next \
         attempt.",
    ),
    (
        "WaitingForCapacity",
        "The seats do not find nodes together; the message says how many do and what the others lack.",
    ),
    ("BindingPlaceholders", "Every seat has a node; placeholders are being bound."),
    (
        "PlaceholdersLeaving",
        "Placeholders that were given up are still there: a finalizer, their node, or a refused deletion holds them. Their \
         seats, or the next incarnation, wait for that.",
    ),
    ("ReservationLost", "Seats were lost and found no other node; nothing is held until the next attempt."),
    ("Accepted", "Of the condition Accepted: the application is in its queue."),
    ("QuotaReserved", "Of the condition QuotaReserved: the whole gang fits the quota."),
    ("Placed", "Of the condition Placed: every member of the gang was bound."),
    ("Starting", "The gang has started; its members are being bound or have yet to come to their held seats."),
    ("Running", "Every seat had a member."),
    (
        "PartiallyLost",
        "The gang has started, and some of its seats have no member and nothing holds them; members that come take them.",
    ),
    ("WaitingForCompletion", "Nothing runs and nothing is pending; the application completes at its deadline."),
    ("Completed", "The application is complete. New pods under its ID begin a new incarnation."),
    ("Unschedulable", "The pod passed every quota and fits no node now: more nodes would help."),
    (
        "UnsupportedConstraint",
        "The pod uses a constraint that this version does not honour; the message names the field.",
    ),
    ("SeatTooSmall", "The pod needs more than the seat kept for it, and the difference is not free."),
    (
        "PlaceholderKept",
        "The API server, or admission, refuses to delete the placeholder whose seat the pod is to take; it is tried again.",
    ),
    ("BindRefused", "The API server refused the Binding; it is tried again."),
    ("Active", "The queue has a valid place in the tree."),
];
