//! Set-ups of Koordinator and of scheduler-plugins, as their documentation has them, PodGroups, and what is wrong with some.

use super::*;

/// As Koordinator's chart has it, in short.
const KOORDINATOR: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: koord-scheduler-config, namespace: koordinator-system}
data:
  koord-scheduler-config: |
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    leaderElection: {leaderElect: true, resourceName: koord-scheduler}
    profiles:
    - schedulerName: koord-scheduler
      pluginConfig:
      - name: Coscheduling
        args:
          apiVersion: kubescheduler.config.k8s.io/v1
          kind: CoschedulingArgs
          defaultTimeout: 15m
          controllerWorkers: 1
          enablePreemption: true
          awareNetworkTopology: false
      - name: LoadAwareScheduling
        args: {filterExpiredNodeMetrics: false}
      plugins:
        queueSort: {disabled: [{name: '*'}], enabled: [{name: Coscheduling}]}
        preFilter: {enabled: [{name: Coscheduling}, {name: Reservation}]}
        score: {enabled: [{name: LoadAwareScheduling, weight: 1}]}
        permit: {enabled: [{name: Coscheduling}]}
";

/// A configuration with these profiles.
fn scheduler(profiles: &str) -> String {
    format!("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{profiles}]\n")
}

/// A profile with gangs, and with these arguments.
fn gangs(name: &str, arguments: &str) -> String {
    format!(
        "{{schedulerName: {name}, plugins: {{multiPoint: {{enabled: [{{name: Coscheduling}}]}}}}, \
         pluginConfig: [{{name: Coscheduling, args: {{{arguments}}}}}]}}"
    )
}

fn config(imported: &Imported) -> Value {
    imported.values["config"].clone()
}

/// What is told, without where.
fn words(imported: &Imported) -> Vec<String> {
    imported.report.iter().map(|one| format!("{:?} {}", one.fate, one.word)).collect()
}

fn notes(imported: &Imported, fate: Fate) -> Vec<String> {
    let of = imported.report.iter().filter(|one| one.fate == fate);
    of.map(|one| format!("{}: {}", one.of, one.note)).collect()
}

#[test]
fn koordinator_s_own_configuration_becomes_values_and_the_rest_is_told() {
    let imported = right(KOORDINATOR);
    assert_eq!(imported.queues.len(), 0);
    let expected = serde_json::json!({
        "schedulerNames": ["gangline", "koord-scheduler"],
        "defaultWaitTimeout": "900s",
        "dialects": ["yunikorn", "koordinator"],
    });
    assert_eq!(config(&imported), expected);
    let expected = [
        "Different scheduler.leaderElection",
        "Different profile.schedulerName",
        "Lost plugin.LoadAwareScheduling",
        "Lost plugin.Reservation",
        "Different CoschedulingArgs.defaultTimeout",
        "Lost CoschedulingArgs.enablePreemption",
    ];
    assert_eq!(words(&imported), expected);
    let preemption = "Lost CoschedulingArgs.enablePreemption of f.yaml: ConfigMap koord-scheduler-config, \
                      koord-scheduler-config: line 13, column 7: profile koord-scheduler true";
    assert!(fates(&imported).iter().any(|fate| fate == preemption), "{:#?}", fates(&imported));
    assert!(imported.hint().contains("-o values"));
}

/// As scheduler-plugins has it: in place of the cluster's own scheduler, or beside it.
#[test]
fn a_configuration_of_scheduler_plugins_becomes_values() {
    let replaced = "
apiVersion: kubescheduler.config.k8s.io/v1beta3
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: REPLACE_ME_WITH_KUBE_CONFIG_PATH}
profiles:
- schedulerName: default-scheduler
  plugins:
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: '*'}]}
    permit: {enabled: [{name: Coscheduling}]}
  pluginConfig:
  - name: Coscheduling
    args: {permitWaitingTimeSeconds: 10}
";
    let imported = right(replaced);
    let expected = serde_json::json!({"defaultWaitTimeout": "10s", "dialects": ["yunikorn", "coscheduling"]});
    assert_eq!(config(&imported), expected);
    assert!(words(&imported).contains(&"Lost profile.schedulerName.default-scheduler".to_owned()));
    let beside = right(&scheduler(&gangs("scheduler-plugins-scheduler", "podGroupBackoffSeconds: 3")));
    let expected = serde_json::json!({
        "schedulerNames": ["gangline", "scheduler-plugins-scheduler"], "dialects": ["yunikorn", "coscheduling"],
    });
    assert_eq!(config(&beside), expected);
    let expected = [
        "Different profile.schedulerName",
        "Different CoschedulingArgs.podGroupBackoffSeconds",
        "Different CoschedulingArgs.permitWaitingTimeSeconds.unset",
    ];
    assert_eq!(words(&beside), expected);
}

/// The plugin has one name in both systems.
#[test]
fn whose_gangs_they_are_arguments_tell_or_else_plugins_and_names() {
    let reservation = "{schedulerName: a, plugins: {permit: {enabled: [{name: Coscheduling}, {name: Reservation}]}}}";
    for (profiles, dialect) in [
        (gangs("a", "defaultTimeout: 1m"), "koordinator"),
        (gangs("a", "permitWaitingTimeSeconds: 60"), "coscheduling"),
        (gangs("koord-scheduler", "podGroupBackoffSeconds: 1"), "coscheduling"),
        (gangs("koord-scheduler", ""), "koordinator"),
        (gangs("a", ""), "coscheduling"),
        (reservation.to_owned(), "koordinator"),
        (
            "{schedulerName: a, pluginConfig: [{name: Coscheduling, args: {awareNetworkTopology: true}}]}".to_owned(),
            "koordinator",
        ),
    ] {
        let dialects = config(&right(&scheduler(&profiles)))["dialects"].clone();
        assert_eq!(dialects, serde_json::json!(["yunikorn", dialect]), "{profiles}");
    }
}

#[test]
fn of_several_profiles_those_with_gangs_are_served_and_the_first_time_counts() {
    let profiles =
        [gangs("a", "defaultTimeout: 0s"), gangs("b", "permitWaitingTimeSeconds: 5"), "{schedulerName: c}".to_owned()];
    let imported = right(&scheduler(&profiles.join(", ")));
    let expected = serde_json::json!({
        "schedulerNames": ["gangline", "a", "b"],
        "defaultWaitTimeout": "1s",
        "dialects": ["yunikorn", "koordinator", "coscheduling"],
    });
    assert_eq!(config(&imported), expected);
    let times: Vec<_> = imported.report.iter().filter(|one| one.note.contains("1s")).map(|one| &*one.note).collect();
    let expected =
        ["it is 1s, since it must be from 1s to 31536000s", "one time counts for all profiles: the first, 1s"];
    assert_eq!(times, expected);
    assert!(words(&imported).contains(&"Lost profile".to_owned()), "{:#?}", words(&imported));
}

#[test]
fn everything_that_is_wrong_with_a_configuration_is_said_at_once() {
    let text = "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
colour: blue
profiles:
- schedulerName: A_b
  plugins:
    permits: {enabled: []}
    permit: {enabled: [{name: Coscheduling, weight: x}, {}]}
  pluginConfig:
  - {name: Coscheduling, args: {defaultTimeout: 600, controllerWorkers: 0, permitWaitingTimeSeconds: 10, enablePreemption: maybe}}
";
    let expected = [
        "line 3, column 1: unknown field \"colour\" of KubeSchedulerConfiguration",
        "line 5, column 18: \"A_b\" is no name of a scheduler: it must be a DNS subdomain",
        "line 7, column 5: unknown field \"permits\" of plugins",
        "line 8, column 53: must be a whole number that is not negative",
        "line 8, column 57: must have a name: that of a plugin",
        "line 10, column 49: \"600\" must be a time with its unit, such as 600s or 1h30m",
        "line 10, column 73: must be at least 1",
        "line 10, column 76: unknown field \"permitWaitingTimeSeconds\" of the CoschedulingArgs of Koordinator",
        "line 10, column 124: must be true or false",
    ];
    assert_eq!(wrong(text), expected);
}

#[test]
fn what_is_no_set_up_is_refused() {
    let kind = "kind: KubeSchedulerConfiguration";
    for (text, said) in [
        (format!("{kind}\nprofiles: []"), "apiVersion \"\" of KubeSchedulerConfiguration is not read"),
        (format!("apiVersion: kubescheduler.config.k8s.io/v1alpha1\n{kind}"), "v1alpha1\" of"),
        (scheduler(""), "no profile enables Coscheduling"),
        (scheduler("{schedulerName: a, plugins: {filter: {enabled: [{name: NodeName}]}}}"), "no profile enables"),
        (scheduler(&format!("{}, {}", gangs("a", ""), gangs("a", ""))), "there is a profile a here already"),
        (scheduler("{pluginConfig: [{name: Coscheduling}, {name: Coscheduling}]}"), "is told something here already"),
        (scheduler("{pluginConfig: [{name: Coscheduling, args: [x]}]}"), "args must be a map"),
        (scheduler(&gangs("a", "podGroupRejectPercentage: 101")), "at least 0 and at most 100"),
        (scheduler(&gangs("a", "permitWaitingTimeSeconds: -1")), "must be a whole number"),
        (
            "{kind: ConfigMap, metadata: {name: koord-scheduler-config}, data: {a: b}}".to_owned(),
            "holds no KubeSchedulerConfiguration",
        ),
        (
            "{kind: ConfigMap, metadata: {name: m}, data: {a: 'kind: Pod # KubeSchedulerConfiguration'}}".to_owned(),
            "ConfigMap m, a: line 1, column 1: must be a KubeSchedulerConfiguration",
        ),
        (
            "{kind: ConfigMap, metadata: {name: m}, data: {a: '[KubeSchedulerConfiguration'}}".to_owned(),
            "ConfigMap m, a: line ",
        ),
        (
            "{kind: PodGroup, apiVersion: scheduling.k8s.io/v1alpha1, metadata: {name: a}}".to_owned(),
            "is not read; those of",
        ),
    ] {
        let errors = wrong(&text);
        assert!(errors.iter().any(|error| error.contains(said)), "{said}: {errors:#?}\n{text}");
    }
}

const POD_GROUPS: &str = "
apiVersion: v1
kind: List
items:
- apiVersion: scheduling.x-k8s.io/v1alpha1
  kind: PodGroup
  metadata: {name: nginx, namespace: web}
  spec: {minMember: 3, scheduleTimeoutSeconds: 10, minResources: {cpu: 3}}
- apiVersion: scheduling.sigs.k8s.io/v1alpha1
  kind: PodGroup
  metadata:
    name: gang-a
    annotations:
      gang.scheduling.koordinator.sh/groups: '[\"default/gang-a\", \"default/gang-b\"]'
      gang.scheduling.koordinator.sh/waiting-time: soon
  spec: {minMember: 2}
- apiVersion: scheduling.sigs.k8s.io/v1alpha1
  kind: PodGroup
  metadata:
    name: late
    annotations:
      gang.scheduling.koordinator.sh/network-topology-spec: '{}'
  spec: {minMember: 0}
- apiVersion: scheduling.x-k8s.io/v1alpha1
  kind: PodGroup
  metadata: {name: gone, deletionTimestamp: '2026-01-01T00:00:00Z'}
  spec: {minMember: 1}
- apiVersion: scheduling.volcano.sh/v1beta1
  kind: PodGroup
  metadata: {name: mpi}
  spec: {minMember: 4, queue: team, minResources: {cpu: 4}, priorityClassName: high}
- apiVersion: scheduling.k8s.io/v1beta1
  kind: PodGroup
  metadata: {name: own}
  spec: {schedulingPolicy: {gang: {minCount: 5}}, disruptionMode: {all: {}}}
- apiVersion: scheduling.k8s.io/v1beta1
  kind: PodGroup
  metadata: {name: rack}
  spec: {schedulingPolicy: {basic: {}}, schedulingConstraints: {topology: [{key: rack}]}}
";

/// Each is read by the functions that the scheduler reads it with.
#[test]
fn of_each_pod_group_it_is_said_what_becomes_of_it() {
    let imported = right(POD_GROUPS);
    assert_eq!(imported.queues.len(), 0);
    assert_eq!(
        config(&imported),
        serde_json::json!({"dialects": ["yunikorn", "koordinator", "coscheduling", "volcano", "kubernetes"]})
    );
    let becomes = "TaskGroup of its name, when a pod names it";
    let expected = [
        format!("web/nginx: {becomes}: minMember 3, waitTimeoutSeconds 10"),
        format!(
            "default/gang-a: {becomes}: minMember 2, waitTimeoutSeconds 600, started together with all of default/gang-a default/gang-b"
        ),
        format!("default/mpi: {becomes}: minMember 4, queue root.team"),
        format!("default/own: {becomes}: minMember 5, totalMember 100000"),
    ];
    assert_eq!(notes(&imported, Fate::Read), expected);
    let refused = notes(&imported, Fate::Refused);
    assert_eq!(refused.len(), 3, "{refused:#?}");
    assert!(refused[2].contains("default/rack: is not supported yet"), "{refused:#?}");
    assert!(
        refused[0].starts_with("f.yaml: line 22, column ") && refused[0].contains("is not supported yet"),
        "{refused:#?}"
    );
    assert!(refused[1].starts_with("f.yaml: line 23, column 21: default/late: must be a number"), "{refused:#?}");
    let lost = words(&imported);
    for word in [
        "PodGroup.spec.minResources",
        "PodGroup.spec.priorityClassName",
        "PodGroup.spec.disruptionMode",
        "PodGroup.metadata.deletionTimestamp",
    ] {
        assert!(lost.contains(&format!("Lost {word}")), "{word}: {lost:#?}");
    }
    let otherwise = notes(&imported, Fate::Different);
    assert!(otherwise.len() == 2 && otherwise[0].contains("\"soon\" is no time"), "{otherwise:#?}");
    assert!(otherwise[1].starts_with("config.dialects: with this dialect all PodGroups"), "{otherwise:#?}");
    let [missing] = &notes(&imported, Fate::Missing)[..] else { panic!("one queue") };
    assert!(missing.starts_with("f.yaml: line 31, column ") && missing.contains("default/mpi: a Queue root.team;"));
    assert_eq!(imported.hint(), "-o values prints what the chart is to be told.");
}

/// A PodGroup of Volcano's.
fn volcano(metadata: &str, spec: &str) -> String {
    format!("---\n{{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {metadata}, spec: {spec}}}\n")
}

/// Those that are not imported beside, and are not there by themselves.
#[test]
fn of_the_queues_that_pod_groups_name_it_is_said_which_are_to_be_made() {
    let names = |queue: &str| volcano("{name: g, namespace: ns}", &format!("{{minMember: 2, queue: {queue}}}"));
    let by_namespace = "partitions: [{name: default, placementrules: [{name: tag, value: namespace, create: true}], \
                        queues: [{name: root}]}]\n";
    let (flat, tree) = (below("{name: team}"), below("{name: team, queues: [{name: a}]}"));
    let quotas = quota("team", "", "{}");
    for (beside, queue, expected) in [
        ("", "''", None),
        ("", "default", None),
        ("", "root.default", None),
        ("", "team", Some((Fate::Missing, "a Queue root.team; "))),
        ("", "root", Some((Fate::Refused, "root has queues below it"))),
        (&*flat, "team", None),
        (&*flat, "root.team", None),
        (&*flat, "other", Some((Fate::Missing, "a Queue root.other; "))),
        (&*tree, "team.a", None),
        (&*tree, "team", Some((Fate::Refused, "root.team has queues below it"))),
        (&*quotas, "team", None),
        (by_namespace, "ns", None),
        (by_namespace, "team", Some((Fate::Missing, "a Queue root.team; "))),
    ] {
        let imported = right(&format!("{beside}\n{}", names(queue)));
        let of_queues: Vec<_> = imported.report.iter().filter(|one| one.word == "PodGroup spec.queue").collect();
        let said: Vec<_> = of_queues.iter().map(|one| one.fate).collect();
        assert_eq!(said, expected.iter().map(|(fate, _)| *fate).collect::<Vec<_>>(), "{queue} {beside}");
        assert!(of_queues.iter().zip(expected).all(|(one, (_, note))| one.note.starts_with(note)), "{of_queues:?}");
        let is_whole = beside.is_empty() && expected.is_none_or(|(fate, _)| fate != Fate::Missing);
        assert_eq!(imported.hint().contains("No Queue has to be made"), is_whole, "{queue} {beside}");
    }
    let twice = Report(right(&(names("team") + &names("team"))).report).text();
    assert!(twice.contains("To be made") && twice.matches("root.team; until").count() == 1, "{twice}");
}

/// The dialect concerns PodGroups of others in the cluster too: said once, and where something of it is read.
#[test]
fn that_all_pod_groups_are_let_in_is_told_where_the_dialect_is_switched_on() {
    let told = |imported: &Imported| imported.report.iter().filter(|one| one.word == "PodGroup.status.phase").count();
    let right_one = volcano("{name: g}", "{minMember: 2}");
    let refused = volcano("{name: r}", "{minMember: 2, subGroupPolicy: [{name: a}]}");
    let goes = volcano("{name: d, deletionTimestamp: '2026-01-01T00:00:00Z'}", "{minMember: 2}");
    let imported = right(&[&*right_one, &right_one, &refused, &goes].concat());
    let expected = serde_json::json!({"dialects": ["yunikorn", "volcano"]});
    assert_eq!((config(&imported), told(&imported)), (expected, 1));
    for text in [refused, goes] {
        let imported = right(&text);
        assert_eq!((&imported.values, told(&imported)), (&serde_json::json!({}), 0), "{text}");
    }
    let other = right_one.replace("scheduling.volcano.sh/v1beta1", "scheduling.x-k8s.io/v1alpha1");
    assert_eq!(told(&right(&other)), 0);
}

/// Of a profile that does not say how long gangs wait it is said how long they do, whichever profile says that.
#[test]
fn how_long_gangs_wait_that_do_not_say_it_is_said_as_it_will_be() {
    let (unset, set) = (gangs("a", "podGroupBackoffSeconds: 3"), gangs("b", "defaultTimeout: 42s"));
    for (profiles, expected) in
        [(unset.clone(), "→ 600s"), (format!("{unset}, {set}"), "→ 42s"), (format!("{set}, {unset}"), "→ 42s")]
    {
        let imported = right(&scheduler(&profiles));
        let of = imported.report.iter().filter(|one| one.word.ends_with(".unset"));
        assert_eq!(of.map(|one| &*one.value).collect::<Vec<_>>(), [expected], "{profiles}");
    }
}

/// A gang that does not say how long it waits does so as the configuration beside it says.
#[test]
fn a_pod_group_waits_as_the_configuration_says() {
    let group = "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g}, spec: {minMember: 2}}";
    let text = format!("{}---\n{group}\n", scheduler(&gangs("a", "permitWaitingTimeSeconds: 42")));
    let read = notes(&right(&text), Fate::Read);
    assert_eq!(read, ["default/g: TaskGroup of its name, when a pod names it: minMember 2, waitTimeoutSeconds 42"]);
    let listed = "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroupList, items: [{metadata: {name: g}, spec: {minMember: 2}}]}";
    assert_eq!(notes(&right(listed), Fate::Read).len(), 1);
}

#[test]
fn many_pod_groups_are_few_lines() {
    let group = |number: u32| {
        format!("{{metadata: {{name: g{number}}}, spec: {{minMember: {}}}}}", if number < 1_000 { 2 } else { 3 })
    };
    let groups: Vec<String> = (0..2_000).map(group).collect();
    let list =
        format!("{{apiVersion: scheduling.sigs.k8s.io/v1alpha1, kind: PodGroupList, items: [{}]}}", groups.join(", "));
    let text = Report(right(&list).report).text();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.contains("and 992 more): TaskGroup of its name"), "{text}");
}

#[test]
fn what_an_api_server_would_refuse_of_a_pod_group_is_an_error_where_it_stands() {
    let group = |fields: &str| format!("apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\n{fields}\n");
    for (fields, said) in [
        ("metadata: {name: g}\nspec: {minMember: many}", "line 4, column 19: PodGroup: spec.minMember: invalid type"),
        (
            "metadata: {name: g}\nspec: {minmember: 2}",
            "line 4, column 8: unknown field \"minmember\" of the spec of a PodGroup",
        ),
        ("metadata: {name: g}\nspecs: {}", "line 4, column 1: unknown field \"specs\" of a PodGroup"),
        ("metadata: {labels: {}}\nspec: {minMember: 2}", "a PodGroup must have a name"),
        ("metadata: {name: g, labels: {a: 1}}\nspec: {minMember: 2}", "PodGroup: metadata.labels.a: invalid type"),
        ("metadata: {name: g}\nspec: []", "the spec of a PodGroup must be a map"),
    ] {
        let errors = wrong(&group(fields));
        assert!(errors.iter().any(|error| error.contains(said)), "{said}: {errors:#?}");
    }
}

/// An ElasticQuota; labels are those that name the quota above, and what else is given.
fn quota(name: &str, labels: &str, spec: &str) -> String {
    let labels: Vec<String> = labels
        .split_whitespace()
        .map(|label| format!("'quota.scheduling.koordinator.sh/{}'", label.replace('=', "': '")))
        .collect();
    let metadata = format!("{{name: {name}, namespace: default, labels: {{{}}}}}", labels.join(", "));
    format!(
        "---\n{{apiVersion: scheduling.sigs.k8s.io/v1alpha1, kind: ElasticQuota, metadata: {metadata}, spec: {spec}}}\n"
    )
}

#[test]
fn elastic_quotas_become_queues_below_each_other() {
    let text = [
        quota(
            "child-a1",
            "parent=parent-a shared-weight={}",
            "{max: {cpu: 60, memory: 20Gi, gpus: 1}, min: {cpu: 5, memory: 0}}",
        ),
        quota("parent-a", "is-parent=true allow-lent-resource=false", "{max: {cpu: 40, memory: 40Gi}, min: {cpu: 10}}"),
        quota("default", "is-parent=true runtime=x", "{max: {cpu: 500m}}"),
        quota("koordinator-root-quota", "", "{max: {cpu: 1000}}"),
    ];
    let imported = right(&text.concat());
    let expected = BTreeMap::from(
        [
            ("root.default-2", serde_json::json!({"parent": "root", "max": {"cpu": "500m"}})),
            (
                "root.parent-a",
                serde_json::json!({"parent": "root", "max": {"cpu": "40", "memory": "40Gi"}, "guaranteed": {"cpu": "10"}}),
            ),
            (
                "root.parent-a.child-a1",
                serde_json::json!({"parent": "root.parent-a", "max": {"cpu": "40", "memory": "20Gi"}, "guaranteed": {"cpu": "5"}}),
            ),
        ]
        .map(|(name, spec)| (name.to_owned(), spec)),
    );
    assert_eq!(specs(&imported), expected);
    assert_eq!(problems(&imported), [""; 0]);
    assert_eq!(imported.values, serde_json::json!({}));
    let told = words(&imported);
    for word in [
        "Different ElasticQuota.own",
        "Renamed ElasticQuota",
        "Lost ElasticQuota.shared-weight",
        "Lost ElasticQuota.allow-lent-resource",
        "Different ElasticQuota.is-parent",
        "Different ElasticQuota.spec.max.cpu",
        "Lost ElasticQuota.spec.max.gpus",
        "Different ElasticQuota.spec.min",
    ] {
        assert!(told.contains(&word.to_owned()), "{word}: {told:#?}");
    }
    let renamed = imported.report.iter().filter(|one| one.fate == Fate::Renamed);
    assert!(renamed.map(|one| &*one.value).any(|path| path == "→ root.parent-a.child-a1"), "{:#?}", fates(&imported));
}

#[test]
fn what_koordinator_s_own_check_refuses_of_elastic_quotas_is_refused() {
    let parent = |spec: &str| quota("p", "is-parent=true", spec);
    for (text, said) in [
        (quota("a", "parent=b", "{}"), "there is no ElasticQuota b above it"),
        (quota("a", "parent=b", "{}") + &quota("b", "", "{}"), "b above it is not marked as a parent"),
        (quota("a", "parent=a is-parent=true", "{}"), "is below itself"),
        (quota("a", "", "{}") + &quota("a", "", "{}"), "there is an ElasticQuota a already"),
        (quota("a", "", "{max: {cpu: 1}, min: {cpu: 1500m}}"), "min of cpu is more than max"),
        (
            parent("{min: {cpu: 1}}")
                + &quota("a", "parent=p", "{min: {cpu: 1}}")
                + &quota("b", "parent=p", "{min: {cpu: 1}}"),
            "min of cpu is less than that of the quotas below together",
        ),
        (
            parent("{max: {cpu: 1}}") + &quota("a", "parent=p", "{min: {cpu: 2}}"),
            "min of cpu is more than the quotas above may use",
        ),
        (quota("a", "", "{max: {cpu: -1}}"), "must not be negative"),
        (quota("a", "", "{max: {cpu: much}}"), "\"much\" of cpu"),
        (quota("a", "", "{limit: {}}"), "unknown field \"limit\" of the spec of an ElasticQuota"),
        (quota("''", "", "{}"), "an ElasticQuota must have a name"),
        (quota("a", "", "{}").replace("scheduling.sigs.k8s.io", "scheduling.x-k8s.io"), "is not read: that of"),
        (format!("{}\n{}", below("{name: a}"), quota("a", "", "{}")), "there are queues of YuniKorn already"),
    ] {
        let errors = wrong(&text);
        assert!(errors.len() == 1 && errors[0].contains(said), "{said}: {errors:#?}\n{text}");
    }
}

proptest! {
    /// Whatever is imported, `validate` finds nothing wrong with it.
    #[test]
    fn the_queues_of_quotas_are_valid(quotas in prop::collection::vec(any_quota(), 1..6)) {
        let text: String = quotas.concat();
        if let Ok(imported) = of(&[("f.yaml", &text)]) {
            prop_assert_eq!(problems(&imported), Vec::<String>::new(), "{}", text);
        }
    }

    /// Any text is answered.
    #[test]
    fn no_set_up_is_too_strange(at in 0..2_000usize, instead in any::<char>()) {
        for whole in [KOORDINATOR, POD_GROUPS] {
            let mut changed: Vec<char> = whole.chars().collect();
            let length = changed.len();
            changed[at % length] = instead;
            drop(of(&[("f.yaml", &changed.into_iter().collect::<String>())]));
        }
    }
}

fn any_quota() -> impl Strategy<Value = String> {
    let sizes = || {
        prop::collection::btree_map(prop_oneof![Just("cpu"), Just("memory"), Just("a.b/c"), Just("x")], 0..9u32, 0..3)
    };
    let name = prop_oneof!["[ab]", "[a-z.]{1,40}", Just("default".to_owned())];
    (name, prop::option::of("[ab]"), sizes(), sizes()).prop_map(|(name, parent, max, min)| {
        let labels = parent.map(|parent| format!(" parent={parent}")).unwrap_or_default();
        quota(&name, &format!("is-parent=true{labels}"), &serde_json::json!({"max": max, "min": min}).to_string())
    })
}
