//! Configurations of YuniKorn's own, what becomes of them, and what is refused.

mod setups;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::runtime::cli::validate;

fn of(files: &[(&str, &str)]) -> Result<Imported, Vec<String>> {
    let mut found = Found::default();
    files.iter().for_each(|(file, text)| found.add(file, text));
    imported(found).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

fn right(text: &str) -> Imported {
    of(&[("f.yaml", text)]).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"))
}

fn wrong(text: &str) -> Vec<String> {
    let said = of(&[("f.yaml", text)]).err().unwrap_or_default();
    said.into_iter().map(|error| error.trim_start_matches("f.yaml: ").to_owned()).collect()
}

/// Queues below the root of the partition `default`.
fn below(queues: &str) -> String {
    format!("partitions: [{{name: default, queues: [{{name: root, queues: [{queues}]}}]}}]")
}

fn specs(imported: &Imported) -> BTreeMap<String, Value> {
    let queue =
        |queue: &Value| (queue["metadata"]["name"].as_str().unwrap_or_default().to_owned(), queue["spec"].clone());
    imported.queues.iter().map(queue).collect()
}

fn fates(imported: &Imported) -> Vec<String> {
    imported.report.iter().map(|one| format!("{:?} {} of {} {}", one.fate, one.word, one.of, one.value)).collect()
}

/// What `validate` says of what is printed.
fn problems(imported: &Imported) -> Vec<String> {
    let printed: String = imported.queues.iter().map(document).collect();
    validate::errors_of(&printed)
}

/// Every configuration in YuniKorn's repositories: how many Queues become of it, or how many errors it has. (YuniKorn refuses
/// `config/limit.yaml` too: a limit of all groups comes before one of a group.)
#[test]
fn every_configuration_of_yunikorn_s_own_is_imported_or_refused() {
    let dir = format!("{}/tests/golden/yunikorn", env!("CARGO_MANIFEST_DIR"));
    let mut answers = BTreeMap::new();
    for entry in std::fs::read_dir(dir).expect("they are there") {
        let path = entry.expect("a file").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let answer = of(&[(&name, &text)]);
        if let Ok(imported) = &answer {
            assert_eq!(problems(imported), [""; 0], "{name}");
        }
        answers.insert(name, answer.map(|imported| imported.queues.len()).map_err(|errors| errors.len()));
    }
    let others: BTreeMap<&str, _> =
        answers.iter().filter(|(name, _)| !name.starts_with("e2e-")).map(|(name, answer)| (&**name, *answer)).collect();
    let expected = BTreeMap::from([
        ("authz-acl.yaml", Ok(4)),
        ("authz-placement-rules.yaml", Ok(4)),
        ("authz-priority.yaml", Ok(8)),
        ("authz-resource-limits.yaml", Ok(4)),
        ("core-limit.yaml", Err(3)),
        ("core-queues.yaml", Ok(4)),
        ("namespace-queues.yaml", Ok(3)),
        ("placements-fixed.yaml", Ok(1)),
        ("placements-provided.yaml", Ok(0)),
        ("placements-tag.yaml", Ok(1)),
        ("placements-username.yaml", Ok(1)),
        ("preemption.yaml", Ok(7)),
        ("scheduler.yaml", Ok(1)),
    ]);
    assert_eq!(others, expected);
    let tested: Vec<_> = answers.iter().filter(|(name, answer)| name.starts_with("e2e-") && answer.is_err()).collect();
    assert_eq!(tested.len(), 1, "only the compressed one: {tested:?}");
    assert_eq!(answers.len(), 31);
}

const WHOLE: &str = "
partitions:
- name: default
  placementrules:
  - {name: tag, value: namespace, create: true}
  preemption: {enabled: true}
  nodesortpolicy: {type: binpacking}
  queues:
  - name: root
    submitacl: '*'
    maxapplications: 50
    queues:
    - name: Data_Team
      maxapplications: 20
      resources:
        guaranteed: {memory: 10G, vcore: 1}
        max: {memory: 100 Gi, vcore: 2500m, pods: 20, nvidia.com/gpu: 4, gpu: 2, cpu: 1}
      properties: {application.sort.policy: fair, priority.offset: '0', preemption.delay: 10s, mine: x}
      queues:
      - {name: no, parent: true, maxapplications: 5, submitacl: ' people'}
      - {name: 0, maxapplications: 1, childtemplate: {maxapplications: 3}, resources: {max: {vcore: 0}}}
    - {name: data-team, maxapplications: 1}
    - {name: data/team, maxapplications: 1, limits: [{limit: x, users: [bob], maxapplications: 1}]}
";

#[test]
fn a_configuration_becomes_queues_and_what_does_not_is_told() {
    let imported = right(WHOLE);
    let specs = specs(&imported);
    let names: Vec<&str> = imported.queues.iter().filter_map(|queue| queue["metadata"]["name"].as_str()).collect();
    let below = ["root.data-team-2", "root.data-team-2.no", "root.data-team-2.0", "root.data-team", "root.data-team-3"];
    assert_eq!(names, [&["root"][..], &below].concat());
    let root = serde_json::json!({"maxApplications": 50, "namespaceSelector": {}, "childTemplate": {}});
    assert_eq!(specs["root"], root);
    let limits = serde_json::json!([{"users": ["bob"], "maxApplications": 1}]);
    assert_eq!(specs["root.data-team-3"]["limits"], limits);
    assert_eq!(imported.values["config"]["submitters"], true);
    let max = serde_json::json!({"cpu": "2500m", "memory": "100Gi", "nvidia.com/gpu": "4", "pods": "20"});
    let guaranteed = serde_json::json!({"cpu": "1", "memory": "10G"});
    let data_team = serde_json::json!({
        "parent": "root", "max": max, "guaranteed": guaranteed, "maxApplications": 20, "sortPolicy": "Fair",
    });
    assert_eq!(specs["root.data-team-2"], data_team);
    assert_eq!(specs["root.data-team-2.0"], serde_json::json!({"parent": "root.data-team-2", "maxApplications": 1}));
    let fates = fates(&imported);
    for said in [
        "Renamed name of root.Data_Team → root.data-team-2",
        "Renamed name of root.data/team → root.data-team-3",
        "Different resources.guaranteed of root.Data_Team {memory 10G, vcore 1}",
        "Lost resources.max.gpu of root.Data_Team 2",
        "Lost resources.max.cpu of root.Data_Team 1",
        "Different properties.application.sort.policy of root.Data_Team fair",
        "Lost properties.preemption.delay of root.Data_Team 10s",
        "Lost properties.mine of root.Data_Team x",
        "Different parent of root.Data_Team.no ",
        "Lost submitacl of root.Data_Team.no \" people\"",
        "Lost childtemplate of root.Data_Team.0 ",
        "Different limits of root.data/team bob",
        "Different placementrule.tag.namespace of rule tag namespace",
        "Lost partition.preemption of partition default enabled",
    ] {
        assert!(fates.iter().any(|fate| fate == said), "{said}: {fates:#?}");
    }
    assert_eq!(fates.len(), 14, "{fates:#?}");
    assert_eq!(problems(&imported), [""; 0]);
}

/// What YuniKorn has where its ConfigMaps say no queues, as after its installation: a queue for each namespace.
#[test]
fn without_a_queues_yaml_each_namespace_has_a_queue_as_there() {
    let map = |data: &str| format!("kind: ConfigMap\nmetadata: {{name: yunikorn-defaults}}\ndata: {{{data}}}\n");
    for data in ["log.level: INFO", "service.policyGroup: other, queues.yaml: 'partitions: []'"] {
        let imported = right(&map(data));
        let root = serde_json::json!({"namespaceSelector": {}, "childTemplate": {}});
        assert_eq!(specs(&imported), BTreeMap::from([("root".to_owned(), root)]), "{data}");
        assert!(fates(&imported).contains(&"Different queues.yaml of the files ".to_owned()), "{:?}", fates(&imported));
        assert_eq!(problems(&imported), [""; 0]);
    }
    assert!(!fates(&right(&below(""))).iter().any(|fate| fate.contains("queues.yaml")), "there is one");
}

/// The rule `tag namespace` with `create`, below a queue: each namespace has one there, with what its template says.
#[test]
fn a_rule_by_namespace_gives_each_namespace_a_queue() {
    let rules = "placementrules: [{name: tag, value: Namespace, create: true, parent: {name: fixed, value: teams}}]";
    let template =
        "childtemplate: {maxapplications: 9, properties: {application.sort.policy: fair, preemption.delay: 1s},
                     resources: {max: {vcore: 8}, guaranteed: {vcore: 0}}}";
    let teams = format!("queues: [{{name: root, queues: [{{name: teams, parent: true, {template}}}]}}]");
    let imported = right(&format!("partitions: [{{name: default, {rules}, {teams}}}]"));
    let expected = serde_json::json!({"parent": "root", "namespaceSelector": {},
        "childTemplate": {"max": {"cpu": "8"}, "maxApplications": 9, "sortPolicy": "Fair"}});
    assert_eq!(specs(&imported)["root.teams"], expected);
    assert!(fates(&imported).contains(&"Lost childtemplate.preemption.delay of root.teams.* 1s".to_owned()));
    assert_eq!(problems(&imported), [""; 0]);
    let nowhere = rules.replace("teams", "root.elsewhere");
    let imported = right(&format!("partitions: [{{name: default, {nowhere}, {teams}}}]"));
    assert!(fates(&imported).contains(&"Lost placementrule.tag.namespace of rule tag root.elsewhere".to_owned()));
    assert_eq!(specs(&imported)["root.teams"].get("namespaceSelector"), None);
}

/// Limits of users and groups, those of a partition where the root has none, and of those only what a Queue can have.
#[test]
fn limits_of_users_and_groups_are_written() {
    let many =
        (0..40).map(|number| format!("{{limit: l, users: [u{number}], maxapplications: 1}}")).collect::<Vec<_>>();
    let limits = "[{limit: a, users: [ann, '*'], maxresources: {vcore: 2, odd: 1}}, {limit: b, groups: [dev], maxapplications: 3}]";
    let queues = format!("queues: [{{name: root, queues: [{{name: a, limits: [{}]}}]}}]", many.join(", "));
    let imported = right(&format!("partitions: [{{name: default, limits: {limits}, {queues}}}]"));
    let specs = specs(&imported);
    let expected = serde_json::json!([
        {"users": ["ann", "*"], "max": {"cpu": "2"}}, {"groups": ["dev"], "maxApplications": 3},
    ]);
    assert_eq!(specs["root"]["limits"], expected);
    assert_eq!(specs["root.a"]["limits"].as_array().map(Vec::len), Some(32));
    assert!(fates(&imported).contains(&"Lost limits of root.a u39".to_owned()), "{:#?}", fates(&imported));
    assert!(fates(&imported).contains(&"Lost limits.maxresources.odd of root 1".to_owned()));
    assert_eq!(problems(&imported), [""; 0]);
}

/// Each is named where it stands, all of them at once.
#[test]
fn everything_that_is_wrong_is_said_at_once_with_line_and_column() {
    let text = "\
partitions:
- name: default
  colour: blue
  queues:
  - name: root
    resources: {max: {vcore: 1}}
    queues:
    - name: a b
      maxapplications: -1
      resources: {max: {vcore: 1.5, memory: 1g}, guarantee: {}}
    - name: c
      parent: maybe
      queues: {name: d}
    - name: c
    - [x]
";
    let expected = [
        "line 3, column 3: unknown field \"colour\" of a partition",
        "line 6, column 17: the root queue must not have resources",
        "line 8, column 13: \"a b\" is no name of a queue: 1 to 64 of a-z A-Z 0-9 _ : # / @ -",
        "line 9, column 24: must be a whole number that is not negative",
        "line 10, column 32: \"1.5\" of vcore has no suffix that there is",
        "line 10, column 45: \"1g\" of memory has no suffix that there is",
        "line 10, column 50: unknown field \"guarantee\" of resources",
        "line 12, column 15: must be true or false",
        "line 13, column 15: must be a list",
        "line 14, column 13: there is a queue c here already",
        "line 15, column 7: \"\" is no name of a queue: 1 to 64 of a-z A-Z 0-9 _ : # / @ -",
        "line 15, column 7: a queue must be a map",
    ];
    assert_eq!(wrong(text), expected);
}

#[test]
fn what_yunikorn_s_own_check_refuses_is_refused() {
    for (queues, said) in [
        ("{name: a, resources: {max: {vcore: 1}}, queues: [{name: b, resources: {max: {vcore: 2}}}]}", "a queue above"),
        ("{name: a, resources: {max: {vcore: 1}, guaranteed: {vcore: 2}}}", "guaranteed vcore is more than max"),
        (
            "{name: a, resources: {max: {vcore: 3}}, queues: [{name: b, resources: {guaranteed: {vcore: 2}}}, \
             {name: c, resources: {guaranteed: {vcore: 2}}}]}",
            "max of vcore is less than the queues below are guaranteed together",
        ),
        (
            "{name: a, resources: {guaranteed: {vcore: 3}}, queues: [{name: b, queues: [{name: d, resources: {guaranteed: \
             {vcore: 4}}}]}]}",
            "guaranteed of vcore is less than",
        ),
        ("{name: a, maxapplications: 1, queues: [{name: b, maxapplications: 2}]}", "more than that of the queue above"),
        ("{name: a, maxapplications: 1, queues: [{name: b}]}", "must be set, since the queue above has it"),
        ("{name: a, adminacl: a b c}", "more than one space"),
        ("{name: A}, {name: a}", "there is a queue a here already"),
        ("{name: a, limits: [{limit: x, maxapplications: 1}]}", "must have users or groups"),
        ("{name: a, limits: [{limit: x, users: [b]}]}", "must limit resources or applications"),
        ("{name: a, limits: [{limit: x, users: [b], maxresources: {vcore: 0}}]}", "more than nothing"),
        ("{name: a, limits: [{limit: x, users: [b, b], maxapplications: 1}]}", "user b has a limit here already"),
        ("{name: a, limits: [{limit: x, users: ['*', b], maxapplications: 1}]}", "must be the last"),
        ("{name: a, limits: [{limit: x, groups: ['*'], maxapplications: 1}]}", "must come after one of a group"),
        ("{name: a, limits: [{limit: x, users: [1b], maxapplications: 1}]}", "is no name of a user"),
        ("{name: a, maxapplications: 1, limits: [{limit: x, users: [b], maxapplications: 2}]}", "that of the queue"),
        (
            "{name: a, resources: {max: {vcore: 1}}, limits: [{limit: x, users: [b], maxresources: {vcore: 2}}]}",
            "queue's max",
        ),
        (
            "{name: a, limits: [{limit: x, users: ['*'], maxresources: {vcore: 1}}], queues: [{name: b, limits: [{limit: y, \
             users: [c], maxresources: {vcore: 2}}]}]}",
            "maxresources of c: vcore is more than a queue above allows",
        ),
        (
            "{name: a, limits: [{limit: x, groups: [g], maxapplications: 1}], queues: [{name: b, limits: [{limit: y, \
             groups: [g], maxresources: {vcore: 2}}]}]}",
            "maxapplications of g is more than a queue above allows",
        ),
        ("{name: a, resources: {max: {vcore: 99999999999999999999}}}", "is too large"),
        ("{name: a, resources: {max: {vcore: 9000000000000000000E}}}", "is too large"),
        ("{name: a, resources: {max: {memory: 500m}}}", "has no suffix that there is"),
    ] {
        let errors = wrong(&below(queues));
        assert!(errors.len() == 1 && errors[0].contains(said), "{said}: {errors:#?}\n{queues}");
    }
}

#[test]
fn what_yunikorn_s_own_check_refuses_of_a_partition_is_refused() {
    for (partitions, said) in [
        ("{name: default}", "must have queues"),
        ("{queues: []}, {name: Default, queues: []}", "there is a partition Default already"),
        (
            "{queues: [{name: root, limits: [{limit: x, users: [a], maxapplications: 1}]}], \
          limits: [{limit: x, users: [b], maxapplications: 1}]}",
            "those of the root queue",
        ),
        ("{queues: [], nodesortpolicy: {type: random}}", "is no order of nodes"),
        ("{queues: [], nodesortpolicy: {resourceweights: {vcore: -1}}}", "must not be negative"),
        ("{queues: [], placementrules: [{name: recovery}]}", "is no rule"),
        ("{queues: [], placementrules: [{name: fixed}]}", "must have a value: the queue"),
        ("{queues: [], placementrules: [{name: tag}]}", "must have a value: the tag"),
        ("{queues: [], placementrules: [{name: fixed, value: a}]}", "there is no queue root.a, and create is not true"),
        ("{queues: [{name: a}], placementrules: [{name: fixed, value: root.a.b, create: true}]}", "since a is a leaf"),
        ("{queues: [{name: a, parent: true}], placementrules: [{name: fixed, value: root.a}]}", "root.a is no leaf"),
        (
            "{queues: [{name: a}], placementrules: [{name: user, parent: {name: fixed, value: a}}]}",
            "not marked as a parent",
        ),
        ("{queues: [], placementrules: [{name: user, filter: {type: maybe}}]}", "is no type of a filter"),
        (
            "{queues: [], placementrules: [{name: user, filter: {users: ['(']}}]}",
            "neither a name nor a regular expression",
        ),
    ] {
        let errors = wrong(&format!("partitions: [{partitions}]"));
        assert!(errors.len() == 1 && errors[0].contains(said), "{said}: {errors:#?}\n{partitions}");
    }
}

const MAPS: &str = "
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: yunikorn-configs}
  data:
    log.level: DEBUG
    log.core.level: INFO
    service.disableGangScheduling: \"true\"
    admissionController.filtering.processNamespaces: ^spark-
    whatever: x
    mine.yaml: |
      partitions:
      - name: default
        queues: [{name: a}]
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: yunikorn-defaults}
  data:
    log.level: '-1'
    service.policyGroup: mine
    service.placeholderImage: example.com/pause:1
    queues.yaml: nothing
";

#[test]
fn config_maps_are_read_as_they_are_merged() {
    let imported = right(MAPS);
    assert_eq!(specs(&imported).keys().collect::<Vec<_>>(), ["root.a"]);
    let config = serde_json::json!({"placeholderImage": "example.com/pause:1", "log": {"level": "debug"},
                                    "dialects": ["none"], "ignoreForeignMarkers": true});
    assert_eq!(imported.values, serde_json::json!({"config": config}));
    let lost: Vec<_> =
        imported.report.iter().map(|one| &*one.word).filter(|word| !word.starts_with("service.")).collect();
    assert_eq!(lost, ["admissionController.filtering.processNamespaces", "log.core.level", "queues.yaml", "whatever"]);
    let chart = std::fs::read_to_string(format!("{}/charts/gangline/values.yaml", env!("CARGO_MANIFEST_DIR")));
    let chart: Value = serde_saphyr::from_str(&chart.expect("the chart's values")).expect("they read");
    for name in imported.values["config"].as_object().into_iter().flat_map(serde_json::Map::keys) {
        assert!(chart["config"].get(name).is_some(), "{name} is a value of the chart");
    }
}

/// An error inside of a ConfigMap is where it stands in the text that it holds.
#[test]
fn what_is_wrong_in_a_config_map_names_it() {
    let map = "{kind: ConfigMap, metadata: {name: yunikorn-configs}, data: {log.level: loud, queues.yaml: \"partitions:\\n- x: 1\"}}";
    let errors = wrong(map);
    assert_eq!(errors.len(), 3, "{errors:#?}");
    for said in [
        "ConfigMap yunikorn-configs, queues.yaml: line 2, column 3: unknown field \"x\"",
        "ConfigMap yunikorn-configs, queues.yaml: line 2, column 3: a partition must have queues",
        "ConfigMap yunikorn-configs: line 1, column 62: log.level: \"loud\" is no level",
    ] {
        assert!(errors.iter().any(|error| error.starts_with(said)), "{said}: {errors:#?}");
    }
    for (text, said) in [
        ("", "there is no configuration of YuniKorn"),
        ("a: b", "neither a queues.yaml"),
        ("[]", "neither a queues.yaml"),
        ("{kind: Pod}", "neither a queues.yaml"),
        ("{kind: ConfigMap, metadata: {name: x}}", "none of YuniKorn's"),
        ("{kind: ConfigMap, metadata: {name: yunikorn-configs}, data: {a: []}}", "a must be text"),
        ("{kind: ConfigMap, metadata: {name: yunikorn-configs}, binaryData: {queues.yaml.gz: H4}}", "is compressed"),
        ("partitions: []\n---\npartitions: []", "there are queues already"),
        ("partitions: {a: 1, a: 2}", "duplicate mapping key: a"),
        ("partitions: [", "line "),
        ("7", "neither a queues.yaml"),
    ] {
        let answer = of(&[("f.yaml", text)]).err().unwrap_or_default();
        assert!(answer.iter().any(|error| error.contains(said)), "{text}: {said}: {answer:#?}");
    }
}

#[test]
fn the_report_is_few_lines() {
    let many: Vec<String> =
        (0..20).map(|number| format!("{{name: Q{number}, properties: {{preemption.delay: 1s}}}}")).collect();
    let text = Report(right(&below(&many.join(", "))).report).text();
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.contains("and 12 more): nothing that runs is removed"), "{text}");
}

#[test]
fn a_path_that_is_too_long_is_left_out_with_all_below() {
    let long = "x".repeat(50);
    let imported = right(&below(&format!(
        "{{name: {long}, queues: [{{name: a-name-of-16-char, queues: [{{name: b}}]}}, {{name: c}}]}}"
    )));
    let names: Vec<_> = specs(&imported).into_keys().collect();
    assert_eq!(names, [format!("root.{long}"), format!("root.{long}.c")]);
    assert!(imported.report.iter().any(|one| one.word == "name" && one.note.contains("63 characters")));
}

/// Words in the table are in the order in which they are looked for: no row is behind one that takes its word.
#[test]
fn every_row_of_the_table_is_found_and_every_field_exists() {
    let crds = serde_json::to_value(crate::api::crds()).expect("JSON");
    let fields = &crds[1]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    for row in equivalents::ROWS {
        let word = row.word.replace('*', "something");
        assert_eq!(equivalents::of(&word).word, row.word);
        if let equivalents::Here::Field(field) = row.here {
            assert!(fields.get(field).is_some(), "Queues have no {field}");
        }
    }
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,6}", "[a-zA-Z0-9_:#/@-]{1,64}", "[ -~]{0,8}"]
}

fn queue() -> impl Strategy<Value = Value> {
    let amount = prop_oneof![Just("10".to_owned()), "[0-9]{1,3}[kMGT]i?", "[0-9]{1,20}"];
    let resource =
        prop_oneof![Just("vcore"), Just("memory"), Just("pods"), Just("a.b/c"), Just("x"), Just("hugepages-2Mi")];
    let max = prop::collection::btree_map(resource, amount, 0..4);
    let leaf = (name(), max, prop::option::of(0..3u32), prop::bool::ANY).prop_map(|(name, max, most, parent)| {
        serde_json::json!({"name": name, "resources": {"max": max}, "maxapplications": most, "parent": parent})
    });
    leaf.prop_recursive(4, 24, 4, |inner| {
        (name(), prop::collection::vec(inner, 0..4))
            .prop_map(|(name, queues)| serde_json::json!({"name": name, "queues": queues}))
    })
}

proptest! {
    /// Whatever is imported, `validate` finds nothing wrong with it.
    #[test]
    fn what_is_printed_is_valid(queues in prop::collection::vec(queue(), 0..4)) {
        let text = serde_json::json!({"partitions": [{"name": "default", "queues": queues}]}).to_string();
        if let Ok(imported) = of(&[("f.yaml", &text)]) {
            prop_assert_eq!(problems(&imported), Vec::<String>::new(), "{}", text);
        }
    }

    /// Any text is answered.
    #[test]
    fn no_text_is_too_strange(text in "[ -~\\n]{0,200}", at in 0..400usize, instead in any::<char>()) {
        drop(of(&[("f.yaml", &text)]));
        let mut changed: Vec<char> = WHOLE.chars().collect();
        let length = changed.len();
        changed[at % length] = instead;
        drop(of(&[("f.yaml", &changed.into_iter().collect::<String>())]));
    }
}
