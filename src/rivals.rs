//! Bugs of other schedulers, put back in on purpose: whether the simulation finds them shows whether it bites.
//!
//! Each has one patch point in the product, which asks `has`. Without debug assertions, as in every release build,
//! that is a constant, and the patch points are gone.
//!
//! Which bug is in is the one thing in this crate that a thread holds. Patch points lie in functions that share no
//! value, and a parameter through all of them would be product code for the sake of its tests; plays run side by side,
//! so that a static would put the bug of one play into another. What decides stays pure: a play has no bug, or one from
//! its beginning to its end, like its plan.

#[cfg(debug_assertions)]
use std::cell::Cell;

/// What is broken. Whose bug it is, and what it did there, says `tests/rivals.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Decisions begin with the first list.
    ActsOnHalfAPicture,
    /// A node that is seen after its pods has nothing on it.
    NodesLookFree,
    /// Pods of other schedulers take no room.
    ForeignPodsMissing,
    /// A cordoned node takes pods.
    CordonIsMissed,
    /// What a list does not show is still there.
    ListBuriesNobody,
    /// Of the quotas on a path the lowest counts alone.
    OnlyTheLeafCounts,
    /// What a new process finds beyond its quota is not counted.
    QuotaAtRecovery,
    /// A new process begins anew with what has completed.
    ReadmitsTheFinished,
    /// A new process does not see that a gang had started.
    RunningGangReservesAgain,
    /// A new process gives up the placeholders that it finds.
    FoundPlaceholdersGo,
    /// Members of a TaskGroup that is gone count for the next of its name.
    EarlierLifeCounts,
    /// What a TaskGroup asked for first holds until its end.
    OldSpecStays,
    /// Members of a gang that waits are pods like any other.
    MembersBindAlone,
    /// A gang starts with a part of its seats.
    HalfAGangStarts,
    /// A gang starts as it is when one of its placeholders is refused.
    RefusalStartsTheGang,
    /// A gang that lost a seat holds the others and waits.
    HoldsAndWaits,
    /// A member that fits no seat takes all of them from its gang.
    LargeMemberDropsTheSeats,
    /// A placeholder that is gone is still to come.
    LostPlaceholderIsAwaited,
    /// A placeholder that comes too late stays.
    LateCreationStays,
    /// A creation without an answer is repeated under another name.
    CreatesOnceMore,
    /// A placeholder that is gone is still counted.
    CounterDrifts,
    /// A member that took its seat is not counted in its queue.
    SwapIsNotCounted,
    /// A swap ends on its node, whether that is there or not.
    SwapsOntoALostNode,
    /// A Binding that waits is sent all the same when its node goes.
    BindsToALostNode,
    /// A Binding without an answer counts as refused.
    AssumedPodExpires,
    /// A Binding that fails changes nothing.
    FailedBindIsForgotten,
    /// What is not to be bound any more stays charged.
    FailedBindKeepsItsRoom,
    /// A member whose Binding fails runs.
    SaidToRun,
    /// A pod that has ended stays charged.
    EndedStaysCharged,
    /// A gang is over when nothing of it runs, whoever waits.
    EndsWithPendingPods,
    /// A gang that completes leaves its placeholders.
    LeftoversStay,
    /// A node that comes wakes nobody.
    NewNodeWakesNobody,
    /// What is made anew under its name is what it was before.
    NameIsEnough,
    /// What has completed never begins again.
    EndsForEver,
    /// Of nodes that are as good as each other the one is taken that came first. (Nobody's in particular: to see that two
    /// plays of a plan are compared.)
    ArrivalDecides,
}

#[cfg(debug_assertions)]
thread_local! {
    static IN: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// Whether a bug is in.
#[cfg(debug_assertions)]
pub(crate) fn has(bug: Bug) -> bool {
    IN.get() == Some(bug)
}

/// Whether a bug is in: none ever is.
#[cfg(not(debug_assertions))]
pub(crate) const fn has(_: Bug) -> bool {
    false
}

/// Does something on this thread with a bug in, and takes it out again, whatever happens.
#[cfg(debug_assertions)]
pub fn with<R>(bug: Bug, something: impl FnOnce() -> R) -> R {
    /// Takes the bug out.
    struct Out;
    impl Drop for Out {
        fn drop(&mut self) {
            IN.set(None);
        }
    }
    IN.set(Some(bug));
    let _out = Out;
    something()
}
