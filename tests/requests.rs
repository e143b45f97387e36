//! Our pod requests against golden vectors of kube-scheduler's own computation (tests/golden/pod_requests.jsonl).
//!
//! Made by a throw-away Go program: `PodRequests` of k8s.io/component-helpers v0.36.3 with UseStatusResources and
//! InPlacePodLevelResourcesVerticalScalingEnabled, as kube-scheduler 1.36 calls it, over 80 random pods with init
//! containers, sidecars, overhead, pod-level resources and resizes; `MilliValue()` of cpu, `Value()` of others, no zeros.

use gangline::core::base::resources::Resources;
use gangline::shim::requests;
use serde_json::Value;

const GOLDEN: &str = include_str!("golden/pod_requests.jsonl");

#[test]
fn every_pod_requests_what_kube_scheduler_counts() {
    for line in GOLDEN.lines() {
        let mut row: Value = serde_json::from_str(line).unwrap();
        let mut expected = Resources::pod(0, 0);
        for (name, amount) in row["requests"].as_object().unwrap() {
            expected.set(name, amount.as_i64().unwrap());
        }
        let pod = serde_json::from_value(row["pod"].take()).unwrap();
        assert_eq!(requests::of_pod(&pod), expected, "{line}");
    }
}
