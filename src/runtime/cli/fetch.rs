//! Reads objects for the commands, one bad object apart from the others, and says what a failure means.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use kube::core::{ApiResource, DynamicObject, Status};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::api::names;
use crate::runtime::args::ClusterArgs;
use crate::runtime::client::{self, ClientError};
use crate::runtime::text::escape;

/// Objects per page: the API server's answer stays below some MB, as with kubectl.
const PAGE: u32 = 500;

/// The cluster did not give what a command needs.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// No usable configuration.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The CRD is missing.
    #[error(
        "the cluster does not know {0} ({group}/{version}): install the CRDs with `gangline crds | kubectl apply --server-side -f -`",
        group = names::GROUP, version = names::VERSION
    )]
    Unserved(String),
    /// The API server refused.
    #[error("the cluster refuses to read {what}: {message} ({code})")]
    Refused {
        /// Plural of the kind.
        what: String,
        /// The server's words.
        message: String,
        /// HTTP status.
        code: u16,
    },
    /// No answer.
    #[error("cannot read {what} from {url}")]
    Unreachable {
        /// Plural of the kind.
        what: String,
        /// Address of the API server.
        url: String,
        /// Why.
        #[source]
        cause: Box<kube::Error>,
    },
}

/// An object that may be unreadable: then the problem is told instead.
#[derive(Clone, Debug)]
pub(super) struct Found<K> {
    /// Namespace, or empty.
    pub(super) namespace: String,
    /// Name.
    pub(super) name: String,
    /// The object, or why it cannot be read.
    pub(super) object: Result<Box<K>, String>,
}

impl<K: DeserializeOwned> From<DynamicObject> for Found<K> {
    fn from(dynamic: DynamicObject) -> Self {
        let (namespace, name) = (dynamic.namespace().unwrap_or_default(), dynamic.name_any());
        let read = serde_json::to_value(dynamic).and_then(serde_json::from_value);
        Self { namespace, name, object: read.map(Box::new).map_err(|error| error.to_string()) }
    }
}

/// Where a command reads.
pub(super) struct Cluster {
    client: Client,
    url: String,
    /// The context's namespace.
    pub(super) namespace: String,
}

impl Cluster {
    /// From the command line; asks nothing yet.
    pub(super) async fn new(args: &ClusterArgs) -> Result<Self, FetchError> {
        let config = client::config(args).await?;
        let (url, namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
        Ok(Self { client: client::reading(config)?, url, namespace })
    }

    /// All objects of a kind, page by page. `namespace` `None` = all, or cluster-scoped.
    pub(super) async fn list<K>(
        &self,
        namespace: Option<&str>,
        labels: Option<&str>,
    ) -> Result<Vec<Found<K>>, FetchError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let (mut found, mut token) = (Vec::new(), None);
        loop {
            let (page, next) = self.page(namespace, labels, token).await?;
            found.extend(page);
            if next.is_none() {
                return Ok(found);
            }
            token = next;
        }
    }

    /// One page of them, from where the page before says that it goes on; and where the next one does.
    pub(super) async fn page<K>(
        &self,
        namespace: Option<&str>,
        labels: Option<&str>,
        continue_token: Option<String>,
    ) -> Result<(Vec<Found<K>>, Option<String>), FetchError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let label_selector = labels.map(str::to_owned);
        let params = ListParams { limit: Some(PAGE), label_selector, continue_token, ..ListParams::default() };
        let page = self.api::<K>(namespace).list(&params).await.map_err(|error| self.explain::<K>(error))?;
        let next = page.metadata.continue_.clone().filter(|token| !token.is_empty());
        Ok((page.items.into_iter().map(Found::from).collect(), next))
    }

    /// For what is no reading.
    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// One object, or `None` if there is none of the name.
    pub(super) async fn get<K>(&self, namespace: &str, name: &str) -> Result<Option<Found<K>>, FetchError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        match self.api::<K>(Some(namespace)).get(name).await {
            Ok(object) => Ok(Some(object.into())),
            Err(kube::Error::Api(status)) if is_missing_object(&status) => Ok(None),
            Err(error) => Err(self.explain::<K>(error)),
        }
    }

    fn api<K: Resource<DynamicType = ()>>(&self, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource = ApiResource::erase::<K>(&());
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    fn explain<K: Resource<DynamicType = ()>>(&self, error: kube::Error) -> FetchError {
        let what = K::plural(&()).into_owned();
        let kube::Error::Api(status) = error else {
            return FetchError::Unreachable { what, url: self.url.clone(), cause: Box::new(error) };
        };
        match status.code {
            404 => FetchError::Unserved(what),
            code => FetchError::Refused { what, message: escape(&status.message).into_owned(), code },
        }
    }

    /// A pod, or `None`.
    pub(super) async fn pod(&self, namespace: &str, name: &str) -> Result<Option<Found<Pod>>, FetchError> {
        self.get(namespace, name).await
    }
}

/// 404 for an object names it in `details`; 404 for a kind that is not served does not.
fn is_missing_object(status: &Status) -> bool {
    status.code == 404 && status.details.as_ref().is_some_and(|details| !details.name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::task_group::TaskGroup;

    fn dynamic(spec: &serde_json::Value) -> Found<TaskGroup> {
        let object = serde_json::json!({"apiVersion": "gangline.dev/v1alpha1", "kind": "TaskGroup",
            "metadata": {"name": "a", "namespace": "b"}, "spec": spec});
        serde_json::from_value::<DynamicObject>(object).unwrap().into()
    }

    #[test]
    fn a_bad_object_keeps_its_name_and_tells_its_problem() {
        assert!(dynamic(&serde_json::json!({"minMember": 1, "minResource": {}})).object.is_ok());
        let bad = dynamic(&serde_json::json!({"minMember": "many"}));
        assert_eq!((&*bad.namespace, &*bad.name), ("b", "a"));
        assert!(bad.object.unwrap_err().contains("many"));
    }

    #[test]
    fn a_missing_object_is_told_from_a_missing_kind() {
        for (status, expected) in [
            (r#"{"code":404,"reason":"NotFound","details":{"name":"x","kind":"pods"}}"#, true),
            (r#"{"code":404,"reason":"NotFound","details":{}}"#, false),
            (r#"{"code":404,"message":"404 page not found"}"#, false),
            (r#"{"code":403,"reason":"Forbidden","details":{"name":"x","kind":"pods"}}"#, false),
        ] {
            assert_eq!(is_missing_object(&serde_json::from_str(status).unwrap()), expected, "{status}");
        }
    }
}
