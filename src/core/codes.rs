//! The codes of all reasons: the one table of what users meet on objects and events; `docs/reasons.md` is generated
//! from it.

use std::fmt;

/// What ends the state that a code tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: nobody waits.
    Nothing,
    /// Time: Gangline goes on by itself, or tries again.
    Time,
    /// Objects that are still to come: members, TaskGroups, the kind Queue.
    Arrivals,
    /// Others must end or give something back: quota, nodes, a seat, an application that is not over.
    Others,
    /// More nodes: a pod with this code is `Unschedulable`, and an autoscaler makes nodes for such pods (01, 1.3).
    Nodes,
    /// A change of a spec, a queue or a quota: without one it never ends.
    Change,
    /// A change of its spec, or other pods when those that it has are gone.
    Anew,
}

/// The type of an event, as Kubernetes has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// Nobody has to act.
    Normal,
    /// Somebody may have to act.
    Warning,
}

impl EventType {
    /// The word that users see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// What there is to know of a code.
struct Entry {
    name: &'static str,
    meaning: &'static str,
    needs: Needs,
    event_type: EventType,
}

/// Makes the codes of the rows below. A row is: the code, as users see it; what ends it; the type of a TaskGroup's
/// event with it; what it means and what helps.
macro_rules! codes {
    ($($code:ident, $needs:ident, $event_type:ident, $meaning:literal;)+) => {
        /// A code that users meet on TaskGroups, Queues, pods and events.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $meaning] $code,)+
        }

        impl Code {
            /// All of them, in the order of `docs/reasons.md`.
            pub const ALL: [Self; [$($meaning),+].len()] = [$(Self::$code),+];

            const fn entry(self) -> Entry {
                match self {
                    $(Self::$code => Entry {
                        name: stringify!($code),
                        meaning: $meaning,
                        needs: Needs::$needs,
                        event_type: EventType::$event_type,
                    },)+
                }
            }
        }
    };
}

codes! {
    Submitted, Time, Normal, "The application is known and will be looked at in the next pass.";
    InvalidSpec, Change, Warning, "A spec is wrong. Every error is listed with its field; correct the object.";
    GangGroupMismatch, Change, Warning, "TaskGroups of one gang disagree about a field that they must share.";
    QueueNotFound, Change, Warning,
        "The queue is not defined, or its Queue has no valid place in the tree (see its Active condition).";
    QueueNotLeaf, Change, Warning, "The queue has queues below it; name one of those.";
    QueueDraining, Change, Warning,
        "The queue is not defined any more; what runs goes on under its last limits, nothing new is accepted.";
    QueueStopped, Change, Warning,
        "The queue, or one above it, is stopped and takes no new applications; what has started goes on.";
    GangInFairQueue, Change, Warning,
        "The sortPolicy of the queue is Fair, which puts single pods in order: a gang needs a queue with FIFO or StateAware.";
    QueueNotOpen, Change, Warning,
        "The queue, or one above, is for namespaces that its namespaceSelector chooses, or for one namespace; name another queue \
         or none, or have the namespace labelled. The message says which queue it is.";
    QueueNameTooLong, Change, Warning,
        "The namespace is to have a queue of its own, and the name of that would have more than 63 characters; name another \
         queue.";
    AskTooLarge, Change, Warning, "The sum of minMember x minResource is beyond what can be counted.";
    TooManyPlaceholders, Change, Warning,
        "The gang asks for more placeholders than --max-placeholders; with reservation Direct none are made.";
    ExceedsMaxQuota, Change, Warning,
        "The whole gang, or an ordinary pod, exceeds the max of its queue or of a queue above, or a limit there of its user or \
         group: it could never start.";
    NamespaceQuotaTooSmall, Change, Warning,
        "The namespace's ResourceQuota cannot hold the placeholders, the pods outside the task groups that start with them, and \
         one member at once.";
    AdmissionTimeout, Anew, Warning,
        "The gang did not pass the gate within admissionTimeoutSeconds; the message says what it waited for. It is looked at \
         again when its spec is changed, or its pods are gone and others come.";
    WaitTimeout, Anew, Warning,
        "Not all of the gang found nodes within waitTimeoutSeconds after some did. It is looked at again when its spec is \
         changed, or its pods are gone and others come. Or a pod says of itself that its gang timed out \
         (gang.scheduling.koordinator.sh/timeout): delete it and submit it again, or remove the annotation.";
    ApplicationClosed, Others, Warning,
        "The application goes on without this TaskGroup, which it does not list or which differs from it.";
    TaskGroupNotFound, Arrivals, Warning,
        "The pod names a TaskGroup that does not exist in its namespace; it is parked.";
    WaitingForTaskGroups, Arrivals, Warning, "TaskGroups that the gangGroup lists, or that pods of the application declare, do not exist yet, or do not list the same. Or one is edited first, since the PodGroup of which it was made has been.";
    WaitingForQueues, Arrivals, Warning,
        "The cluster does not serve the kind Queue (yet), so that a queue cannot be looked up.";
    WaitingForNamespace, Arrivals, Warning,
        "The Namespace has not been seen yet, and queues choose namespaces by their labels.";
    WaitingForFirstPod, Arrivals, Normal,
        "No pod of the application exists yet; nothing is reserved for it (placeholderFor: missing).";
    MembersRefused, Change, Warning,
        "Pods that start with the gang use what this version does not honour, and there are too few others; nothing is \
         held until they are gone or changed. The message names one of them.";
    WaitingForMembers, Arrivals, Warning,
        "Fewer members exist than start together, or every seat is held and no member came yet.";
    WaitingForQuota, Others, Warning, "The queue, one above, or a limit there of its user or group, has too little left now.";
    WaitingForApplications, Others, Warning, "The queue, one above, or a user or group there that is limited, already runs maxApplications applications.";
    WaitingForStart, Others, Warning,
        "The sortPolicy of the queue is StateAware, and another gang of it has passed the gate and not started. The message \
         names it.";
    WaitingForPlaceholders, Others, Warning,
        "Gangs of the namespace that have not started yet ask for ten times --max-placeholders together; this one reserves \
         when one of them has started or given back.";
    WaitingForFirst, Others, Warning,
        "Another gang is first in line in the queue, and was overtaken as often or as long as headOfLine of the queue lets \
         it be: no application behind it starts before it does. The message names it.";
    CreatingPlaceholders, Time, Normal, "Placeholders are being created.";
    PlaceholderRejected, Time, Warning, "The API server refused a placeholder; nothing is held until the next attempt.";
    PlaceholderFailed, Time, Warning,
        "The API server failed over a placeholder; nothing is held until the next attempt.";
    PlaceholdersLost, Time, Warning,
        "Two placeholders of a seat were refused by nodes or deleted by somebody within two minutes; nothing is \
         held until the next attempt.";
    WaitingForCapacity, Others, Warning,
        "The seats do not find nodes together; the message says how many do and what the others lack.";
    WaitingBehind, Others, Warning,
        "The seats do not find nodes together, nor does the quota hold the gang beside those before it that wait for \
         nodes, too. It makes no placeholders, and starts as soon as the nodes have room for all of it.";
    BindingPlaceholders, Time, Normal, "Every seat has a node; placeholders are being bound.";
    PlaceholdersLeaving, Others, Warning,
        "Placeholders that were given up are still there: a finalizer, their node, or a refused deletion holds \
         them. Their seats, or the next incarnation, wait for that.";
    WaitingForNextLife, Time, Warning,
        "The application timed out before it started, perhaps several times in a row, and new pods came under its ID: its next \
         life begins after a pause, longer each time.";
    Pausing, Time, Normal,
        "What was held was given back, and the reason has passed; nothing is held until the next attempt.";
    JoinedLate, Time, Warning,
        "Pods outside the task groups came while seats were held, and found no node; nothing is held until the next \
         attempt.";
    ReservationLost, Time, Warning, "Seats were lost and found no other node; nothing is held until the next attempt.";
    Accepted, Nothing, Normal, "Of the condition Accepted: the application was taken into its queue.";
    QuotaReserved, Nothing, Normal, "Of the condition QuotaReserved: the whole gang fits the quota.";
    Placed, Nothing, Normal, "Of the condition Placed: every member of the gang was bound.";
    TemplateLacks, Nothing, Warning,
        "Of an event: a member of a TaskGroup with placeholders for all has a seat of its own, since no placeholder of the \
         placeholderTemplate can stand in for it. The message says what the template lacks.";
    Starting, Arrivals, Normal,
        "The gang has started; its members are being bound or have yet to come to their held seats.";
    Running, Nothing, Normal, "Every seat had a member.";
    PartiallyLost, Arrivals, Warning,
        "The gang has started, and some of its seats have no member; members that come take them.";
    SeatsKept, Arrivals, Warning,
        "Members of the gang were lost, or placeholders after its start, and their room is kept for those that come in their place \
         (seatHoldSeconds; for members that never came placeholderTimeoutSeconds).";
    Resuming, Time, Warning,
        "The placeholder timeout ended before the gang started (style Soft): its placeholders leave, and then its pods are \
         placed one by one.";
    PlaceholderTimeout, Nothing, Warning,
        "The placeholder timeout ended. Before the start, style Hard: the application is Killed and its pods failed; style \
         Soft: its pods are placed one by one. After the start: seats without a member were given back. The message says \
         which.";
    WaitingForCompletion, Time, Normal,
        "Nothing runs and nothing is pending; the application completes at its deadline.";
    Completed, Nothing, Normal, "The application is complete. New pods under its ID begin a new incarnation.";
    SomeFailed, Nothing, Warning,
        "The application is complete, and not all members of this TaskGroup that are needed succeeded: the message says \
         how they failed. New pods under its ID begin a new incarnation.";
    Unschedulable, Nodes, Warning, "The pod passed every quota and fits no node now: more nodes would help.";
    UnsupportedConstraint, Change, Warning,
        "The pod uses a constraint that this version does not honour; the message names the field.";
    DialectNotSupported, Change, Warning,
        "The pod has a marker that makes it a member of a gang of another system (KAI, Kueue, a Job of Volcano's; YuniKorn, \
         Koordinator, scheduler-plugins, Volcano or Kubernetes itself where dialects leave them out), which is not understood. The message names the marker: make a TaskGroup of the gang and label \
         its pods, or start Gangline with --ignore-foreign-markers, so that such pods are placed one by one.";
    InvalidDeclaration, Change, Warning,
        "The pod's labels or annotations in the words of another system (YuniKorn, Koordinator), or the PodGroup that it names, are wrong; \
         the message lists the errors, each with its place, as far as 1000 characters go. The pod gets no node, and no TaskGroup is made of \
         what is declared, until they are right. A PodGroup's errors are told in an event of the first pod that names it, those of one of Volcano's also in \
         one of its own.";
    DeclarationAdjusted, Nothing, Warning,
        "Of an event of a pod: what it says in the words of another system is read otherwise than it is written, as that system \
         does, another pod says it differently, its application does not have the task group that it names, or the TaskGroup is there with another spec and counts; the message says what.";
    DeclarationRefused, Time, Warning,
        "Of an event of a pod: the API server refuses the TaskGroup that is made of what the pod declares; it is tried again.";
    SeatHeld, Others, Warning,
        "A node is held for the pod (mode NonStrict), and others of its gang have none yet. It is bound when the gang can start, or \
         gives the node back after waitTimeoutSeconds. The message says what the gang waits for.";
    SeatTooSmall, Others, Warning, "The pod needs more than the seat kept for it, and the difference is not free.";
    PlaceholderKept, Time, Warning,
        "The API server, or admission, refuses to delete the placeholder whose seat the pod is to take; it is \
         tried again.";
    BindRefused, Time, Warning, "The API server refused the Binding; it is tried again.";
    Active, Nothing, Normal, "The queue has a valid place in the tree.";
}

impl Code {
    /// The word that users see.
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// What it means and what helps.
    pub const fn meaning(self) -> &'static str {
        self.entry().meaning
    }

    /// What ends it.
    pub const fn needs(self) -> Needs {
        self.entry().needs
    }

    /// The type of an event of a TaskGroup with it.
    pub const fn event_type(self) -> EventType {
        self.entry().event_type
    }

    /// Whether it lasts until somebody changes a spec, a queue or a quota, or makes other pods.
    pub fn is_final(self) -> bool {
        matches!(self.needs(), Needs::Change | Needs::Anew)
    }

    /// Whether an autoscaler is to make nodes for a pod with it.
    pub fn is_unschedulable(self) -> bool {
        self.needs() == Needs::Nodes
    }

    /// Reads what an object says; `None` if no reason is called so.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_object_says_is_read_back() {
        assert_eq!(Code::ALL.map(|code| Code::from_name(code.name())), Code::ALL.map(Some));
        assert_eq!(["", "running", "Rejected"].map(Code::from_name), [None; 3]);
    }

    /// 01, 1.3: autoscalers look for this one word, so that no other reason may call for nodes, and this one must.
    #[test]
    fn nodes_are_called_for_in_the_one_word_that_autoscalers_know() {
        for code in Code::ALL {
            assert_eq!(code.is_unschedulable(), code.name() == "Unschedulable", "{code}");
        }
    }
}
