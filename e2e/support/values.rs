//! The chart's values, each tried: what it switches goes or comes, and nothing else is accepted.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::chart::{CHART, render};
use super::error::{During, Error, Result};

/// Values that take away what is there by default, and what that is.
const SWITCHED_OFF: &[(&str, &str)] = &[
    ("policies.selfRestraint=false", "name: gangline-self-restraint"),
    ("policies.selfRestraint=false", "name: the-hook-beyond-its-task"),
    ("policies.antiForgery=false", "name: gangline-anti-forgery"),
    ("policies.selfRestraint=false,policies.antiForgery=false", "name: gangline-binding-labels"),
    ("crds.install=false", "kind: CustomResourceDefinition"),
    ("crds.keep=false", "helm.sh/resource-policy: keep"),
    ("rbac.create=false", "kind: ClusterRoleBinding"),
    ("rbac.create=false", "kind: Job"),
    ("rbac.aggregate=false", "rbac.authorization.k8s.io/aggregate-to"),
    ("serviceAccount.create=false,serviceAccount.name=other", "kind: ServiceAccount\nmetadata:\n  name: gangline\n"),
    ("service.create=false", "kind: Service\n"),
    ("config.leaderElection.enabled=false,replicas=1", "kind: RoleBinding\n"),
    ("config.leaderElection.enabled=false,replicas=1", "type: RollingUpdate"),
    ("config.http.address=[::]:9090", "containerPort: 8080"),
    ("podDisruptionBudget.enabled=false", "kind: PodDisruptionBudget"),
    // One replica is in nobody's way.
    ("replicas=1", "kind: PodDisruptionBudget"),
    ("topologySpreadConstraints=null", "topologySpreadConstraints:"),
    ("config.dialects={none}", "resources: [taskgroups]\n    verbs: [create]"),
    ("config.http.auth=never", "resources: [tokenreviews]"),
    ("config.http.auth=never", "resources: [subjectaccessreviews]"),
    ("config.http.auth=never", "name: gangline-metrics-reader"),
    ("rbac.create=false", "name: gangline-state-reader"),
    ("config.http.tls=never", "scheme: HTTPS"),
    ("config.http.tls=never", "appProtocol: https"),
    ("uninstall.releasePlaceholders=false", "kind: Job"),
    ("uninstall.releasePlaceholders=false", "gangline-uninstall"),
];

/// Values that bring what is not there by default, and what that is.
const ARRIVE: &[(&str, &str)] = &[
    ("image.registry=r.example,image.tag=v7", "image: \"r.example/gangline:v7\""),
    ("image.repository=other/name", "image: \"other/name:"),
    (
        "image.digest=sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "image: \"gangline@sha256:aaaa",
    ),
    ("config.schedulerNames={one,two}", r#"in ["one","two"]"#),
    ("config.schedulerNames={one,two}", r#"resourceNames: ["one","two"]"#),
    ("config.schedulerNames={one,two}", "- \"--scheduler-name=two\""),
    ("config.placeholderImage=r.example/pause:3", r#"== "r.example/pause:3""#),
    ("config.placeholderImage=r.example/pause:3", "    placeholderImage: r.example/pause:3"),
    ("config.ignoreForeignMarkers=true", "ignoreForeignMarkers: true"),
    ("config.dialects={yunikorn,koordinator}", "    - yunikorn\n    - koordinator\n"),
    (
        "config.dialects={koordinator}",
        "apiGroups: [scheduling.sigs.k8s.io]\n    resources: [podgroups]\n    verbs: [list, watch, patch]",
    ),
    ("config.dialects={koordinator}", "name: gangline-self-restraint-podgroups"),
    ("config.dialects={koordinator}", "name: gangline-self-restraint-pods\n"),
    ("config.dialects={koordinator}", "apiGroups: [\"\"]\n    resources: [pods]\n    verbs: [patch]"),
    ("config.dialects={coscheduling}", "name: gangline-self-restraint-taskgroups"),
    ("config.dialects={coscheduling}", "resources: [taskgroups]\n    verbs: [patch]"),
    (
        "config.dialects={coscheduling}",
        "apiGroups: [scheduling.x-k8s.io]\n    resources: [podgroups/status]\n    verbs: [patch]",
    ),
    (
        "config.dialects={volcano}",
        "apiGroups: [scheduling.volcano.sh]\n    resources: [podgroups]\n    verbs: [list, watch, patch]",
    ),
    ("config.dialects={volcano}", "resources: [taskgroups]\n    verbs: [patch]"),
    ("config.dialects={volcano}", "name: gangline-self-restraint-taskgroups"),
    ("config.dialects={volcano}", "name: gangline-self-restraint-podgroups"),
    ("config.dialects={volcano}", "{apiGroups: [\"scheduling.volcano.sh\"], apiVersions:"),
    (
        "config.dialects={koordinator,volcano}",
        "{apiGroups: [\"scheduling.sigs.k8s.io\",\"scheduling.volcano.sh\"], apiVersions:",
    ),
    (
        "config.dialects={kubernetes}",
        "apiGroups: [scheduling.k8s.io]\n    resources: [podgroups]\n    verbs: [list, watch]\n",
    ),
    (
        "config.dialects={kubernetes}",
        "apiGroups: [scheduling.k8s.io]\n    resources: [podgroups/status]\n    verbs: [patch]",
    ),
    ("config.dialects={kubernetes}", "resources: [taskgroups]\n    verbs: [patch]"),
    ("config.dialects={kubernetes}", "name: gangline-self-restraint-taskgroups"),
    ("config.dialects={kubernetes}", "owner.apiVersion.startsWith('scheduling.k8s.io/')"),
    ("config.defaultWaitTimeout=1h30m", "defaultWaitTimeout: 1h30m"),
    ("config.maxPlaceholders=7", "maxPlaceholders: 7"),
    ("config.submitters=true", "submitters: true"),
    ("config.submitters=true", "name: gangline-submitters-objects"),
    ("config.submitters=true", "name: gangline-submitters-templates"),
    ("config.submitters=true", "name: gangline-submitters-cronjobs"),
    ("config.submitters=true,policies.trustedSubmitters={operator}", ":gangline','operator'] ||"),
    ("replicas=3", "replicas: 3"),
    ("config.leaderElection.leaseDurationSeconds=30", "leaseDurationSeconds: 30"),
    ("config.leaderElection.renewDeadlineSeconds=11", "renewDeadlineSeconds: 11"),
    ("config.leaderElection.retryPeriodSeconds=3", "retryPeriodSeconds: 3"),
    ("config.leaderElection.namespace=leases", "namespace: leases"),
    ("config.leaderElection.namespace=leases", "--lease-namespace=leases"),
    ("config.leaderElection.enabled=false,replicas=1", "--leader-elect=false"),
    ("policies.allowInjected=true", "has(volume.emptyDir)"),
    ("policies.bindings=true", "name: gangline-bindings"),
    ("policies.placeholderMakers={me}", r#"username in ["system:serviceaccount:gangline-system:gangline","me"]"#),
    ("config.submitters=true,policies.placeholderMakers={me}", ":gangline','me','system:kube-controller-manager'"),
    ("serviceAccount.name=other", "system:serviceaccount:gangline-system:other"),
    ("serviceAccount.annotations.role=r", "role: r"),
    ("nameOverride=another", "app.kubernetes.io/name: another"),
    ("fullnameOverride=mine", "name: mine-anti-forgery"),
    ("commonLabels.team=a", "team: a"),
    ("image.pullPolicy=Always", "imagePullPolicy: Always"),
    ("imagePullSecrets[0].name=registry-key", "name: registry-key"),
    ("config.log.level=debug", "level: debug"),
    ("config.log.format=text", "format: text"),
    ("config.http.auth=never", "auth: never"),
    ("config.http.tls=never", "tls: never"),
    ("tls.secretName=cert", "tlsDirectory: /etc/gangline-tls"),
    ("tls.secretName=cert", "secretName: \"cert\""),
    ("service.port=81", "port: 81"),
    ("service.annotations.scrape=yes", "scrape: \"yes\""),
    ("resources.limits.memory=3Gi", "memory: 3Gi"),
    ("resources.requests.cpu=3", "cpu: 3"),
    ("priorityClassName=high", "priorityClassName: high"),
    ("nodeSelector.disk=ssd", "disk: ssd"),
    ("tolerations[0].key=only", "key: only"),
    ("affinity.nodeAffinity.x=kept", "x: kept"),
    (
        "topologySpreadConstraints[0].topologyKey=rack,topologySpreadConstraints[0].maxSkew=1,\
         topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
        "topologyKey: rack",
    ),
    ("podLabels.pod=l", "pod: l"),
    ("podAnnotations.note=kept", "note: kept"),
    ("revisionHistoryLimit=7", "revisionHistoryLimit: 7"),
    ("terminationGracePeriodSeconds=7", "terminationGracePeriodSeconds: 7"),
    ("podSecurityContext.runAsUser=7", "runAsUser: 7"),
    ("securityContext.runAsUser=8", "runAsUser: 8"),
    ("extraArgs={--kubeconfig=/k}", "--kubeconfig=/k"),
    ("extraEnv[0].name=PROXY,extraEnv[0].value=b", "name: PROXY"),
    ("podDisruptionBudget.maxUnavailable=50%", "maxUnavailable: 50%"),
    ("podDisruptionBudget.minAvailable=1", "minAvailable: 1"),
    ("podDisruptionBudget.minAvailable=50%", "minAvailable: 50%"),
    ("networkPolicy.enabled=true", "kind: NetworkPolicy"),
    ("networkPolicy.enabled=true,networkPolicy.apiServer.ports={8443}", "{port: 8443, protocol: TCP}"),
    ("networkPolicy.enabled=true,networkPolicy.apiServer.cidrs={10.0.0.0/8}", "ipBlock: {cidr: \"10.0.0.0/8\"}"),
    ("networkPolicy.enabled=true,networkPolicy.ingressFrom[0].podSelector.matchLabels.app=p", "app: p"),
    ("networkPolicy.enabled=true,networkPolicy.extraEgress[0].to[0].ipBlock.cidr=1.2.3.4/32", "cidr: 1.2.3.4/32"),
    ("serviceMonitor.enabled=true", "kind: ServiceMonitor"),
    ("serviceMonitor.enabled=true,serviceMonitor.labels.prometheus=main", "prometheus: main"),
    ("serviceMonitor.enabled=true,serviceMonitor.interval=17s", "interval: 17s"),
    ("serviceMonitor.enabled=true,serviceMonitor.scrapeTimeout=7s", "scrapeTimeout: 7s"),
    ("serviceMonitor.enabled=true,serviceMonitor.scheme=http", "scheme: http\n"),
    ("serviceMonitor.enabled=true,serviceMonitor.tlsConfig.insecureSkipVerify=true", "insecureSkipVerify: true"),
    ("serviceMonitor.enabled=true,serviceMonitor.authorization.credentials.key=token", "key: token"),
    ("serviceMonitor.enabled=true,serviceMonitor.bearerTokenFile=/token", "bearerTokenFile: /token"),
    ("serviceMonitor.enabled=true,serviceMonitor.relabelings[0].targetLabel=pool", "targetLabel: pool"),
    ("serviceMonitor.enabled=true,serviceMonitor.metricRelabelings[0].action=drop", "action: drop"),
];

/// Values that leave what is there.
const STAY: &[(&str, &str)] = &[
    // Each dialect makes TaskGroups.
    ("config.dialects={koordinator}", "resources: [taskgroups]\n    verbs: [create]"),
    // Either of the two policies needs it.
    ("policies.selfRestraint=false", "name: gangline-binding-labels"),
    ("policies.antiForgery=false", "name: gangline-binding-labels"),
    // A constraint with a selector of its own keeps that.
    (
        "topologySpreadConstraints[0].topologyKey=rack,topologySpreadConstraints[0].maxSkew=1,\
         topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway,\
         topologySpreadConstraints[0].labelSelector.matchLabels.app=x",
        "labelSelector:\n            matchLabels:\n              app: x\n          maxSkew",
    ),
    // All but one of many may be wanted.
    ("replicas=5,podDisruptionBudget.minAvailable=4", "minAvailable: 4"),
    ("replicas=5,podDisruptionBudget.minAvailable=80%", "minAvailable: 80%"),
    // With one replica there is no budget that could block.
    ("replicas=1,podDisruptionBudget.minAvailable=1", "replicas: 1"),
];

/// What values bring only without others.
const WITHHELD: &[(&str, &str, &str)] = &[
    // Whoever may patch pods may change the image of any: not without the policy that leaves one annotation of that.
    ("config.dialects={koordinator}", "policies.selfRestraint=false", "resources: [pods]\n    verbs: [patch]"),
    // A Prometheus refuses an endpoint that has both.
    ("serviceMonitor.enabled=true", "serviceMonitor.authorization.credentials.key=token", "bearerTokenFile:"),
];

/// What is no value, or none that can be meant.
const REFUSED: &[&str] = &[
    "replica=2",
    "config.leaderElection.enabled=false",
    "policies.selfrestraint=false",
    "policies.placeholderMakers={'}",
    "config.log.format=loud",
    "image.digest=sha256:1",
    "config.dialects={slurm}",
    "config.dialects=null",
    "config.defaultWaitTimeout=600",
    "config.defaultWaitTimeout=soon",
    "config.http.auth=auto",
    "config.http.tls=off",
    "tls.secretName=cert,config.http.tls=never",
    "config.placeholderImage=two words",
    "podDisruptionBudget.maxUnavailable=0",
    "podDisruptionBudget.maxUnavailable=0%",
    "podDisruptionBudget.minAvailable=2",
    "podDisruptionBudget.minAvailable=51%",
    "podDisruptionBudget.minAvailable=some",
    "serviceMonitor.enabled=true,service.create=false",
    "serviceMonitor.enabled=true,config.http.tls=never",
    "serviceMonitor.scheme=ftp",
    "networkPolicy.apiServer.port=443",
    "networkPolicy.apiServer.cidrs={nowhere}",
    "securityContext.runAsRoot=true",
    "tolerations[0].keys=x",
    "topologySpreadConstraints[0].topologyKey=rack,topologySpreadConstraints[0].maxSkew=0,\
     topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
    "uninstall.releasePlaceholder=false",
    // The policies and ports know `config` alone.
    "extraArgs={--placeholder-image=evil}",
    "extraArgs={--placeholder-image,evil}",
    "extraArgs={--scheduler-name=other}",
    "extraArgs={--http=0.0.0.0:1}",
    "extraArgs={--leader-elect=false}",
];

/// Every switch of the chart switches, every other value is found in what is rendered, and a misspelt one is refused.
pub fn are_honoured(program: &Path) -> Result<()> {
    let default = render(program, &[])?;
    let set = |values: &str| render(program, &["--set", values]);
    for (values, gone) in SWITCHED_OFF {
        if !default.contains(gone) {
            return Err(Error::new(format!("the default does not contain `{gone}`")));
        }
        if set(values)?.contains(gone) {
            return Err(Error::new(format!("--set {values} leaves `{gone}`")));
        }
    }
    for (values, there) in ARRIVE {
        if default.contains(there) {
            return Err(Error::new(format!("the default contains `{there}` already: it proves nothing of {values}")));
        }
    }
    for (values, there) in ARRIVE.iter().chain(STAY) {
        if !set(values)?.contains(there) {
            return Err(Error::new(format!("--set {values} does not give `{there}`")));
        }
    }
    for (values, without, gone) in WITHHELD {
        let both = format!("{values},{without}");
        if !set(values)?.contains(gone) || set(&both)?.contains(gone) {
            return Err(Error::new(format!("`{gone}` is not there with {values}, or also with {both}")));
        }
    }
    for values in REFUSED {
        if set(values).is_ok() {
            return Err(Error::new(format!("--set {values} is accepted")));
        }
    }
    all_are_tried()
}

/// Every value of `values.yaml` is in one of the tables above.
fn all_are_tried() -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(CHART).join("values.yaml");
    let values = fs::read_to_string(&file).during("reading the values")?;
    let values: Value = serde_saphyr::from_str(&values).during("reading the values")?;
    let mut wanted = BTreeSet::new();
    leaves(&values, "", &mut wanted);
    let tried: Vec<&str> = SWITCHED_OFF.iter().chain(ARRIVE).flat_map(|(set, _)| set.split(',')).collect();
    wanted.retain(|value| {
        let of_it = |set: &&str| set.strip_prefix(&**value).is_some_and(|rest| rest.starts_with(['=', '.', '[']));
        !tried.iter().any(of_it)
    });
    if wanted.is_empty() { Ok(()) } else { Err(Error::new(format!("no test sets {wanted:?}"))) }
}

/// Objects that are handed on whole: one value of each is enough.
const HANDED_ON: [&str; 3] = ["resources", "podSecurityContext", "securityContext"];

/// The dotted names of what is no object, or an empty one.
fn leaves(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value.as_object().filter(|fields| !fields.is_empty() && !HANDED_ON.contains(&path)) {
        Some(fields) => {
            let dot = if path.is_empty() { "" } else { "." };
            fields.iter().for_each(|(name, field)| leaves(field, &format!("{path}{dot}{name}"), found));
        }
        None => drop(found.insert(path.to_owned())),
    }
}
