//! Tests of who may see and do what: who gets at `/metrics` and `/state`, and how far the scheduler's own token reaches in
//! the hands of a thief.

use std::fs;
use std::path::Path;

use http::{Method, Request};
use http_body_util::BodyExt;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::client::Body;
use kube::{Client, Config};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};

use crate::breakage::until;
use crate::harness::{Context, Needs, Test, test};
use crate::support::components::Options;
use crate::support::error::{During, Error, Result};
use crate::support::objects::Objects;
use crate::support::policies::{self, Asker, refused_in_the_end};
use crate::support::scheduler::Scheduler;
use crate::support::{http_probe, manifests};

pub(crate) fn tests() -> Vec<Test> {
    let own = || Needs::OwnControlPlane(Options::default());
    vec![
        test("access: /metrics and /state want a token with the right, probes do not", Needs::Shared, pages)
            .without_gangline(),
        test("access: what a stolen token of the scheduler can do, and what not", own(), stolen).without_gangline(),
    ]
}

/// The Lease of a leader that is not there. So a scheduler follows and decides nothing: the suite's own is not disturbed.
const LEADER: &str = "{apiVersion: coordination.k8s.io/v1, kind: Lease, \
    metadata: {name: gangline, namespace: kube-system}, \
    spec: {holderIdentity: nobody, leaseDurationSeconds: 600, renewTime: '2026-01-01T00:00:00.000000Z'}}";

/// A scheduler that follows, and serves as the chart has it.
pub(crate) struct Guarded {
    scheduler: Scheduler,
    /// Whose certificate it must show; without one, any.
    trusted: Option<Vec<u8>>,
}

impl Guarded {
    /// Starts one on a certificate of its own, or of a directory.
    pub(crate) async fn start(t: &Context, certificate: Option<(&Path, Vec<u8>)>) -> Result<Self> {
        t.apply(LEADER).await?;
        let mut args = vec!["--leader-elect=true", "--http-auth=always", "--http-tls=always"];
        let directory =
            certificate.as_ref().map(|(directory, _)| format!("--http-tls-directory={}", directory.display()));
        args.extend(directory.as_deref());
        let launch = t.cluster.launch(&format!("guarded-{}", t.id), &args).await?;
        let (scheduler, trusted) = (Scheduler::spawn(&launch)?, certificate.map(|(_, trusted)| trusted));
        let guarded = Self { scheduler, trusted };
        until("it is ready", async || Ok(guarded.get("/readyz", "").await.is_ok_and(|(code, _)| code == 200))).await?;
        Ok(guarded)
    }

    /// Code and body of `GET path` with a token, if it is not empty.
    pub(crate) async fn get(&self, path: &str, token: &str) -> Result<(u16, String)> {
        let step = format!("GET {path}");
        let address = format!("https://127.0.0.1:{}", self.scheduler.port());
        let mut config = Config::new(address.parse().during(&step)?);
        config.default_retry = false;
        config.accept_invalid_certs = self.trusted.is_none();
        config.root_cert = self.trusted.clone().map(|der| vec![der]);
        let mut request = Request::get(path);
        if !token.is_empty() {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let request = request.body(Body::empty()).during(&step)?;
        let response = Client::try_from(config).during(&step)?.send(request).await.during(&step)?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.during(&step)?.to_bytes();
        Ok((code, String::from_utf8_lossy(&body).into_owned()))
    }

    async fn expect(&self, path: &str, token: &str, code: u16, words: &str) -> Result<String> {
        let (found, said) = self.get(path, token).await?;
        if found == code && said.contains(words) {
            Ok(said)
        } else {
            Err(Error::new(format!("{path}: {found} {said}")))
        }
    }

    /// Ends it, and the leader that was not there.
    pub(crate) async fn end(mut self, t: &Context) -> Result<()> {
        self.scheduler.kill9()?;
        Objects::<Lease>::of(&t.client, "kube-system").delete("gangline").await
    }
}

/// A token of an account of the test's, which is made; and the name of its user.
pub(crate) async fn account(t: &Context, name: &str) -> Result<(String, String)> {
    t.objects::<ServiceAccount>().create(json!({"metadata": {"name": name}})).await?;
    let token = token_of(t, (&t.namespace, name)).await?;
    Ok((token, format!("system:serviceaccount:{}:{name}", t.namespace)))
}

async fn token_of(t: &Context, account: (&str, &str)) -> Result<String> {
    let target = t.cluster.work().join(format!("{}-{}.kubeconfig", t.id, account.1));
    manifests::service_account_kubeconfig(&t.client, &t.cluster.kubeconfig, account, &target).await?;
    let file = fs::read_to_string(&target).during("reading a kubeconfig")?;
    let file: Value = serde_saphyr::from_str(&file).during("reading a kubeconfig")?;
    let token = file["users"][0]["user"]["token"].as_str();
    token.map(str::to_owned).ok_or_else(|| Error::new("the kubeconfig has no token"))
}

/// Lets a user get what a role names.
async fn bind(t: &Context, role: &str, account: &str) -> Result<String> {
    let name = format!("{}-{role}", t.id);
    let subject = json!({"kind": "ServiceAccount", "name": account, "namespace": t.namespace});
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role});
    let binding = json!({"metadata": {"name": name}, "roleRef": role, "subjects": [subject]});
    t.everywhere::<ClusterRoleBinding>().create(binding).await?;
    Ok(name)
}

/// A certificate for 127.0.0.1 in a directory as a Secret is mounted; what trusts it.
fn mount(directory: &Path) -> Result<Vec<u8>> {
    let key = KeyPair::generate().during("making a key")?;
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).during("making a certificate")?;
    let certificate = params.self_signed(&key).during("making a certificate")?;
    fs::write(directory.join("tls.crt"), certificate.pem()).during("writing a certificate")?;
    fs::write(directory.join("tls.key"), key.serialize_pem()).during("writing a key")?;
    Ok(certificate.der().to_vec())
}

async fn pages(t: &mut Context) -> Result<()> {
    let directory = tempfile::tempdir().during("making a directory")?;
    let trusted = mount(directory.path())?;
    let mut guarded = Guarded::start(t, Some((directory.path(), trusted))).await?;
    probes_are_open(&guarded).await?;
    rights_open_pages(t, &guarded).await?;
    a_flood_is_bounded(&guarded).await?;

    let next = mount(directory.path())?;
    let before = guarded.trusted.replace(next);
    until("the next certificate is shown", async || Ok(guarded.get("/livez", "").await.is_ok())).await?;
    guarded.trusted = before;
    assert!(guarded.get("/livez", "").await.is_err(), "the one before is not shown any more");
    guarded.end(t).await
}

async fn probes_are_open(guarded: &Guarded) -> Result<()> {
    guarded.expect("/livez", "", 200, "ok").await?;
    guarded.expect("/readyz", "", 200, "role: follower").await?;
    guarded.expect("/", "", 404, "/metrics").await?;
    let plain = http_probe::get(guarded.scheduler.port(), "/livez");
    assert_eq!(plain, Some((400, "this port speaks HTTPS\n".to_owned())));
    Ok(())
}

async fn rights_open_pages(t: &Context, guarded: &Guarded) -> Result<()> {
    let (token, user) = account(t, "reader").await?;
    let own = token_of(t, ("gangline-system", "gangline")).await?;
    let own_user = "system:serviceaccount:gangline-system:gangline";
    for page in ["/metrics", "/state"] {
        guarded.expect(page, "", 401, "Authorization: Bearer").await?;
        guarded.expect(page, "no.such.token", 401, "does not know this token").await?;
        guarded.expect(page, &token, 403, &format!("user \"{user}\" cannot get path \"{page}\"")).await?;
        guarded.expect(page, &own, 403, &format!("user \"{own_user}\" cannot get path \"{page}\"")).await?;
    }
    for (page, role, other) in
        [("/metrics", "gangline-metrics-reader", Some("/state")), ("/state", "gangline-state-reader", None)]
    {
        let binding = bind(t, role, "reader").await?;
        // A refusal is remembered for ten seconds.
        until(page, async || Ok(guarded.get(page, &token).await?.0 == 200)).await?;
        if let Some(other) = other {
            guarded.expect(other, &token, 403, "cannot get path").await?;
        }
        t.everywhere::<ClusterRoleBinding>().delete(&binding).await?;
    }
    let metrics = guarded.expect("/metrics", &token, 200, "gangline_leader 0").await?;
    assert!(metrics.contains("gangline_http_refused_total{path=\"/state\",code=\"403\"}"), "{metrics}");
    guarded.expect("/state", &token, 200, "{").await.map(drop)
}

/// Many unknown tokens: some are asked about, and who was let in before still is.
async fn a_flood_is_bounded(guarded: &Guarded) -> Result<()> {
    let mut codes = Vec::new();
    for number in 0..60 {
        codes.push(guarded.get("/state", &format!("flood-{number}")).await?.0);
    }
    let count = |wanted: u16| codes.iter().filter(|code| **code == wanted).count();
    assert_eq!(count(401) + count(429), codes.len(), "{codes:?}");
    // Twenty, and five a second meanwhile.
    assert!(count(401) >= 1 && count(429) >= 1, "{codes:?}");
    Ok(())
}

/// Under the token itself, on a cluster where nothing else has it. What of this a policy forbids: `support/policies.rs`.
async fn stolen(t: &mut Context) -> Result<()> {
    let thief = t.cluster.launch("thief", &[]).await?.kubeconfig;
    let thief = Asker::new(&thief, None).await?;
    let pods = format!("/api/v1/namespaces/{}/pods", t.namespace);
    let foreign = t.pod("foreign", "1", json!({"spec": {"schedulerName": "another"}}));
    let mine = t.pod("mine", "1", json!({}));
    refused_in_the_end(&thief, Method::POST, &format!("{pods}?dryRun=All"), Some(&mine)).await?;
    t.pods().create(foreign).await?;
    t.pods().create(t.pod("waits", "1", json!({}))).await?;
    t.group("gang", 2, "1", json!({})).await?;
    t.apply(LEADER).await?;
    let queue = t.queue(json!({"cpu": "4"})).await?;
    it_reads(&thief).await?;
    it_writes(t, &thief, &pods).await?;
    let shown = format!("/apis/gangline.dev/v1alpha1/queues/{queue}/status?dryRun=All");
    let status = json!({"status": {"applications": {"Running": 9}}});
    thief.expect(Method::PATCH, &shown, Some(&status), 200, "what a queue shows").await?;
    it_asks(&thief).await?;
    it_cannot(t, &thief, &pods).await?;
    let other = Asker::new(&t.cluster.work().join("thief.kubeconfig"), Some("system:admin")).await?;
    other.expect(Method::GET, "/api/v1/pods?limit=1", None, 403, "another's name taken").await
}

async fn it_reads(thief: &Asker) -> Result<()> {
    for path in [
        "/api/v1/pods",
        "/api/v1/nodes",
        "/api/v1/resourcequotas",
        "/api/v1/namespaces",
        "/apis/gangline.dev/v1alpha1/taskgroups",
        "/apis/gangline.dev/v1alpha1/queues",
    ] {
        thief.expect(Method::GET, path, None, 200, "what it schedules by").await?;
    }
    Ok(())
}

/// Everything that SECURITY.md says remains to it; nothing of it is kept.
async fn it_writes(t: &Context, thief: &Asker, pods: &str) -> Result<()> {
    let labels = json!({"labels": {"team": "b"}, "annotations": {"example.com/any": "x"}});
    let mut bind = json!({"metadata": labels, "target": {"apiVersion": "v1", "kind": "Node", "name": "n"}});
    bind["metadata"]["name"] = json!("foreign");
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable"});
    let failed = json!({"phase": "Failed", "reason": "PlaceholderTimeout", "message": "m"});
    let event = json!({
        "metadata": {"name": "e"}, "eventTime": "2026-01-01T00:00:00.000000Z", "action": "a", "reason": "r", "type": "Normal",
        "reportingController": "gangline.dev/x", "reportingInstance": "x",
        "regarding": {"kind": "Pod", "name": "foreign", "namespace": t.namespace},
    });
    let groups = format!("/apis/gangline.dev/v1alpha1/namespaces/{}/taskgroups", t.namespace);
    let any_group = json!({
        "apiVersion": "gangline.dev/v1alpha1", "kind": "TaskGroup", "metadata": {"name": "any"},
        "spec": {"minMember": 1, "minResource": {"cpu": "1"}},
    });
    let events = format!("/apis/events.k8s.io/v1/namespaces/{}/events", t.namespace);
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    for (method, path, body, code, why) in [
        (Method::POST, format!("{pods}/foreign/binding"), bind, 201, "a Binding of another scheduler's pod"),
        (
            Method::PATCH,
            format!("{pods}/foreign/status"),
            json!({"status": {"conditions": [condition]}}),
            200,
            "a condition",
        ),
        (
            Method::PATCH,
            format!("{pods}/waits/status"),
            json!({"status": failed}),
            200,
            "the end of a pod that waits for it",
        ),
        (Method::POST, "/api/v1/namespaces/default/pods".to_owned(), policies::placeholder("p"), 201, "a placeholder"),
        (Method::PATCH, format!("{groups}/gang/status"), json!({"status": {"message": "m"}}), 200, "what a gang shows"),
        (Method::POST, groups.clone(), any_group, 201, "a TaskGroup, as for pods that declare one"),
        (Method::POST, events, event, 201, "an event"),
        (
            Method::PATCH,
            format!("{leases}/gangline"),
            json!({"spec": {"holderIdentity": "thief"}}),
            200,
            "the Lease of its scheduler name",
        ),
        (Method::POST, leases.to_owned(), json!({"metadata": {"name": "any"}}), 201, "a Lease of any name"),
    ] {
        thief.expect(method, &format!("{path}?dryRun=All"), Some(&body), code, why).await?;
    }
    Ok(())
}

/// Whose a token is that it has, and what anybody may do.
async fn it_asks(thief: &Asker) -> Result<()> {
    let tokens = "/apis/authentication.k8s.io/v1/tokenreviews";
    thief.expect(Method::POST, tokens, Some(&json!({"spec": {"token": "t"}})), 201, "a review of a token").await?;
    let attributes = json!({"verb": "get", "resource": "secrets"});
    let review = json!({"spec": {"user": "anybody", "resourceAttributes": attributes}});
    let reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    thief.expect(Method::POST, reviews, Some(&review), 201, "a review of a right").await
}

async fn it_cannot(t: &Context, thief: &Asker, pods: &str) -> Result<()> {
    let get = |path: &str| (Method::GET, path.to_owned(), None);
    let post = |path: String| (Method::POST, path, Some(json!({"metadata": {"name": "x"}})));
    let patch = |path: String| (Method::PATCH, path, Some(json!({"metadata": {"labels": {"team": "b"}}})));
    let delete = |path: &str| (Method::DELETE, path.to_owned(), None);
    let (namespace, rbac) = (&t.namespace, "/apis/rbac.authorization.k8s.io/v1");
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let ours = "/apis/gangline.dev/v1alpha1";
    for (method, path, body) in [
        get("/api/v1/secrets"),
        get("/api/v1/configmaps"),
        get("/api/v1/serviceaccounts"),
        get("/apis/apps/v1/deployments"),
        get("/metrics"),
        get(&format!("{pods}/foreign/log")),
        get(leases),
        get(&format!("{leases}/kube-scheduler")),
        post(format!("/api/v1/namespaces/{namespace}/serviceaccounts/default/token")),
        post(format!("{pods}/foreign/exec?command=sh")),
        post(format!("{pods}/foreign/eviction")),
        post(format!("/apis/apps/v1/namespaces/{namespace}/deployments")),
        post(format!("/api/v1/namespaces/{namespace}/secrets")),
        post("/api/v1/nodes".to_owned()),
        post(format!("{rbac}/clusterrolebindings")),
        post(format!("{rbac}/namespaces/{namespace}/rolebindings")),
        post(format!("{ours}/queues")),
        patch(format!("{pods}/foreign")),
        patch(format!("{pods}/foreign/ephemeralcontainers")),
        patch("/api/v1/nodes/n".to_owned()),
        patch("/api/v1/namespaces/default".to_owned()),
        patch(format!("{leases}/kube-scheduler")),
        patch(format!("{rbac}/clusterroles/gangline")),
        patch(format!("{ours}/namespaces/{namespace}/taskgroups/gang")),
        patch(
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/gangline-self-restraint-creates"
                .to_owned(),
        ),
        // A pod that is no placeholder; a policy's matter, all others are the role's.
        delete(&format!("{pods}/foreign")),
        delete(&format!("{leases}/gangline")),
        delete("/api/v1/namespaces/default"),
    ] {
        thief.expect(method, &path, body.as_ref(), 403, "beyond what it is for").await?;
    }
    Ok(())
}
