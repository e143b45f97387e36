//! Every object of the chart as the API server's own definitions see it.

use k8s_openapi::api::core::v1::Namespace;
use serde_json::json;

use crate::harness::{Context, Needs, Test, test};
use crate::support::chart::{self, EVERYTHING, NAMESPACE};
use crate::support::components::Options;
use crate::support::error::{Error, Result};
use crate::support::manifests;
use crate::support::tools::Program;

/// The kind that Kubernetes does not bring along.
const SERVICE_MONITORS: &str = include_str!("servicemonitors.yaml");

pub(crate) fn tests() -> Vec<Test> {
    let own = Needs::OwnControlPlane(Options::default());
    vec![test("chart: the API server knows every field of every object", own, strict).without_gangline()]
}

async fn strict(t: &mut Context) -> Result<()> {
    let helm = Program::Helm.find()?;
    t.everywhere::<Namespace>().create(json!({"metadata": {"name": NAMESPACE}})).await?;
    manifests::apply(&t.client, SERVICE_MONITORS, "default", &[]).await?;
    for (values, least) in [(&[][..], 30), (&["--values", EVERYTHING], 34)] {
        let text = chart::render(&helm, values)?;
        let count = manifests::would_be_taken(&t.client, &text, NAMESPACE).await?;
        assert!(count >= least, "only {count} objects of {values:?}");
        // One letter is enough.
        for (word, misspelt) in
            [("terminationGracePeriodSeconds:", "terminationGracePeriodSecond:"), ("verbs:", "verb:")]
        {
            let wrong = text.replacen(word, misspelt, 1);
            assert_ne!(wrong, text, "{word}");
            match manifests::would_be_taken(&t.client, &wrong, NAMESPACE).await {
                Err(error) if error.to_string().contains(misspelt.trim_end_matches(':')) => {}
                other => return Err(Error::new(format!("{misspelt} is taken: {other:?}"))),
            }
        }
    }
    Ok(())
}
