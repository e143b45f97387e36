//! What people may do who have Kubernetes' own roles.

use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding};
use serde_json::{Value, json};

use crate::breakage::until;
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    vec![test("chart: view, edit and admin are what they say, of TaskGroups", Needs::Shared, roles).without_gangline()]
}

/// Role, verb, resource, whether who has the role in a namespace may do that there.
const RIGHTS: &[(&str, &str, &str, bool)] = &[
    ("view", "list", "taskgroups", true),
    ("view", "create", "taskgroups", false),
    ("view", "delete", "taskgroups", false),
    ("edit", "list", "taskgroups", true),
    ("edit", "create", "taskgroups", true),
    ("edit", "delete", "taskgroups", true),
    ("edit", "patch", "taskgroups/status", false),
    ("admin", "list", "taskgroups", true),
    ("admin", "create", "taskgroups", true),
    ("admin", "patch", "taskgroups/status", false),
];

async fn roles(t: &mut Context) -> Result<()> {
    t.cluster.install().await?;
    for role in ["view", "edit", "admin"] {
        let binding = binding(role, role, &user(t, role));
        t.objects::<RoleBinding>().create(binding).await?;
    }
    let namespace = t.namespace.clone();
    for (role, verb, resource, allowed) in RIGHTS {
        let what = format!("{role} may {verb} {resource}: {allowed}");
        // The controller that aggregates roles takes a moment.
        until(&what, async || Ok(may(t, &user(t, role), verb, resource, &namespace).await? == *allowed)).await?;
    }
    // Queues are in no namespace, and nobody's but the administrator's.
    for role in ["view", "edit", "admin"] {
        for verb in ["list", "create", "patch", "delete"] {
            assert!(!may(t, &user(t, role), verb, "queues", "").await?, "{role} may {verb} queues");
        }
    }
    let everywhere = t.everywhere::<ClusterRoleBinding>();
    for (role, verb, allowed) in [
        ("gangline-taskgroup-viewer", "list", true),
        ("gangline-taskgroup-viewer", "create", false),
        ("gangline-queue-admin", "create", true),
        ("gangline-queue-admin", "delete", true),
    ] {
        let name = format!("{}-{role}-{verb}", t.id);
        everywhere.create(binding(&name, role, &name)).await?;
        let what = format!("{role} may {verb} queues: {allowed}");
        let holds = until(&what, async || Ok(may(t, &name, verb, "queues", "").await? == allowed)).await;
        everywhere.delete(&name).await?;
        holds?;
    }
    Ok(())
}

fn user(t: &Context, role: &str) -> String {
    format!("{}-{role}", t.id)
}

fn binding(name: &str, role: &str, user: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    })
}

async fn may(t: &Context, user: &str, verb: &str, resource: &str, namespace: &str) -> Result<bool> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let attributes = json!({
        "verb": verb, "group": "gangline.dev", "resource": resource, "subresource": subresource, "namespace": namespace,
    });
    let review = json!({"metadata": {}, "spec": {"user": user, "resourceAttributes": attributes}});
    let review = t.everywhere::<SubjectAccessReview>().create(review).await?;
    Ok(review.status.is_some_and(|status| status.allowed))
}
