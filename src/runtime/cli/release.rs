//! `release-placeholders`: deletes what a scheduler that was uninstalled has left, once nobody leads for its name.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, Preconditions};
use tokio::time::{Instant, timeout_at};

use super::Reply;
use super::fetch::{Cluster, FetchError, Found};
use crate::api::names;
use crate::controller::lease::Standing;
use crate::core::base::ids::Text;
use crate::runtime::args::ReleaseArgs;
use crate::runtime::clock::Clock;
use crate::runtime::lease::{Candidate, Election, Lead};
use crate::runtime::run::own_name;
use crate::runtime::settings::ELECTION;
use crate::runtime::shell::ShellCounters;
use crate::runtime::text::escape;
use crate::shim::placeholder;
use crate::shim::pod::Served;

/// Deletions on their way at the same time: about as many as the API server carries out together.
const IN_FLIGHT: usize = 16;
/// How often all are listed: the second time shows that the first was enough, unless somebody makes new ones.
const LISTS: usize = 5;

/// Why placeholders may be left.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReleaseError {
    /// They cannot be listed.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// One cannot be deleted.
    #[error("cannot delete the placeholder {0}")]
    Delete(String, #[source] Box<kube::Error>),
    /// The Lease cannot be read or deleted.
    #[error("cannot use the Lease {0}")]
    Lease(String, #[source] Box<kube::Error>),
    /// Nobody holds it, and yet it was not given to us.
    #[error("the Lease {0} cannot be taken in time, though nobody holds it: may Leases be created and patched there?")]
    NotTaken(String),
    /// The API server did not let us renew the Lease, or another took it.
    #[error("the Lease {0} was lost before all placeholders were deleted")]
    Lost(String),
    /// A scheduler runs that does not ask for the Lease.
    #[error("placeholders of scheduler name {0} are made as fast as they are deleted: what makes them still runs")]
    ComeAgain(String),
}

/// Does it for each scheduler name, one after the other.
pub(super) async fn release(args: &ReleaseArgs) -> Result<Reply, ReleaseError> {
    let cluster = Cluster::new(&args.cluster).await?;
    let mut wanted = args.scheduler_names.clone();
    wanted.sort_unstable();
    wanted.dedup();
    // All of them ask to lead at once, so that they wait together.
    let give_up = Instant::now() + args.timeout;
    let offices: Vec<Office> = wanted.iter().map(|name| Office::seek(&cluster, args, name)).collect();
    let mut out = String::new();
    for office in offices {
        out.push_str(&office.clear(&cluster, give_up, args.timeout).await?);
        out.push('\n');
    }
    Ok(Reply::done(out))
}

/// The right to decide about the pods of one scheduler name.
struct Office {
    name: String,
    /// Who we are in the Lease.
    own: Text,
    clock: Clock,
    lead: Lead,
    /// None where there is no Lease.
    election: Option<Election>,
    leases: Api<Lease>,
    /// The Lease as people name it.
    lease: String,
}

impl Office {
    fn seek(cluster: &Cluster, args: &ReleaseArgs, name: &str) -> Self {
        let (clock, client, own) = (Clock::start(), cluster.client(), Text::from(own_name()));
        let candidate = Candidate {
            client: client.clone(),
            clock,
            counters: Arc::new(ShellCounters::without_watches()),
            namespace: args.lease_namespace.clone(),
            own: own.clone(),
            timing: ELECTION,
        };
        let election = args.leader_elect.unwrap_or(true).then(|| Election::start(candidate, [Text::from(name)]));
        let lead = election.as_ref().map_or_else(Lead::always, |election| election.lead.clone());
        let lease = format!("{}/{name}", args.lease_namespace);
        let leases = Api::namespaced(client, &args.lease_namespace);
        Self { name: name.to_owned(), own, clock, lead, election, leases, lease }
    }

    /// Deletes what there is; what to tell of it.
    async fn clear(mut self, cluster: &Cluster, give_up: Instant, patience: Duration) -> Result<String, ReleaseError> {
        let Some(reign) = self.wait(give_up).await else {
            return self.who_leads(patience).await;
        };
        let (mut deleted, mut all_gone) = (0, false);
        for _ in 0..LISTS {
            let found = self.delete_all(cluster, reign).await?;
            deleted += found;
            if found == 0 {
                all_gone = true;
                break;
            }
        }
        if !all_gone {
            return Err(ReleaseError::ComeAgain(self.name));
        }
        let name = self.name.clone();
        self.leave().await?;
        Ok(format!("{name}: {deleted} placeholders deleted"))
    }

    /// Waits until we lead, for this reign.
    async fn wait(&mut self, give_up: Instant) -> Option<u64> {
        loop {
            if let Standing::Leads { reign, .. } = self.lead.standing() {
                return Some(reign);
            }
            timeout_at(give_up, self.lead.changed()).await.ok()?;
        }
    }

    async fn who_leads(self, patience: Duration) -> Result<String, ReleaseError> {
        let lease = self.look().await?;
        // That it came to us in the last moment is for the next try.
        let other = lease.as_ref().and_then(holder).filter(|holder| **holder != *self.own);
        let Some(holder) = other else { return Err(ReleaseError::NotTaken(self.lease)) };
        let (name, lease, seconds) = (&self.name, &self.lease, patience.as_secs());
        Ok(format!(
            "{name}: left alone: {holder} holds the Lease {lease}, and did not let go of it within {seconds} s",
            holder = escape(holder),
        ))
    }

    async fn look(&self) -> Result<Option<Lease>, ReleaseError> {
        self.leases.get_opt(&self.name).await.map_err(|error| ReleaseError::Lease(self.lease.clone(), error.into()))
    }

    /// Lists them once, and deletes each: how many there were.
    async fn delete_all(&self, cluster: &Cluster, reign: u64) -> Result<usize, ReleaseError> {
        let served = Served::new([self.name.as_str()]);
        let (labels, mut token, mut count) = (format!("{}=true", names::PLACEHOLDER), None, 0);
        loop {
            let (page, next) = cluster.page::<Pod>(None, Some(&labels), token).await?;
            let ours: Vec<Pod> = page.into_iter().filter_map(|found| ours(found, &served)).collect();
            count += ours.len();
            let deletions = stream::iter(ours).map(|pod| self.delete(cluster, pod, reign));
            deletions.buffer_unordered(IN_FLIGHT).try_collect::<()>().await?;
            if next.is_none() {
                return Ok(count);
            }
            token = next;
        }
    }

    /// Deletes that very pod; one that is gone by now, or is another by now, is not there to be deleted.
    async fn delete(&self, cluster: &Cluster, pod: Pod, reign: u64) -> Result<(), ReleaseError> {
        if !self.lead.holds(reign, self.clock.mono()) {
            return Err(ReleaseError::Lost(self.lease.clone()));
        }
        let (namespace, name) = (pod.metadata.namespace.unwrap_or_default(), pod.metadata.name.unwrap_or_default());
        let preconditions = Preconditions { uid: pod.metadata.uid, resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let pods: Api<Pod> = Api::namespaced(cluster.client(), &namespace);
        match pods.delete(&name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(ReleaseError::Delete(format!("{namespace}/{name}"), error.into())),
        }
    }

    /// Gives the Lease back, and deletes it unless somebody has taken it meanwhile.
    async fn leave(mut self) -> Result<(), ReleaseError> {
        let Some(election) = self.election.take() else { return Ok(()) };
        election.release().await;
        let Some(lease) = self.look().await?.filter(|lease| holder(lease).is_none()) else { return Ok(()) };
        let preconditions =
            Preconditions { uid: lease.metadata.uid, resource_version: lease.metadata.resource_version };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match self.leases.delete(&self.name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(ReleaseError::Lease(self.lease, error.into())),
        }
    }
}

/// Who holds it.
fn holder(lease: &Lease) -> Option<&str> {
    let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
    holder.filter(|holder| !holder.is_empty())
}

/// A placeholder that is still to be deleted. What only looks like one, or cannot be read, is nobody's to delete.
fn ours(found: Found<Pod>, served: &Served) -> Option<Pod> {
    let pod = found.object.ok()?;
    let is_ours = placeholder::recognise(&pod, served).is_some() && pod.metadata.deletion_timestamp.is_none();
    is_ours.then_some(*pod)
}
