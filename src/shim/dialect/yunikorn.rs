//! YuniKorn's labels and annotations (`yunikorn.apache.org/…`, as its scheduler 1.9 reads them). Its task groups are JSON on
//! the first pod of an application, or on all of them.

pub mod namespace;
mod task_groups;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::{Spoken, Warnings, annotation, hashed, label};
use crate::api::names;
use crate::api::task_group::Style;
use crate::core::base::ids::Text;
use crate::core::model::countdown::Deadline;
use crate::core::reason::SpecError;
use crate::shim::group_check::range_of;
use crate::shim::spec_errors::Errors;
use crate::shim::{escape, syntax};

/// Its name, for people.
const SYSTEM: &str = "YuniKorn";
/// Annotation of its own placeholders.
const PLACEHOLDER: &str = "internal.yunikorn.apache.org/placeholder";
/// Label or annotation: the application.
const APP_ID: &str = "yunikorn.apache.org/app-id";
/// Labels that name it too: of Spark, and of old versions.
const OTHER_APP_IDS: [&str; 2] = [SPARK_APP_ID, "applicationId"];
/// The one that Spark writes, another one for each driver.
const SPARK_APP_ID: &str = "spark-app-selector";
/// The label by which Spark tells drivers from executors.
const SPARK_ROLE: &str = "spark-role";
/// Label or annotation: the queue.
const QUEUE: &str = "yunikorn.apache.org/queue";
/// The label that names it in old versions.
const OLD_QUEUE: &str = "queue";
/// Annotation of members: the name of their task group.
const TASK_GROUP_NAME: &str = "yunikorn.apache.org/task-group-name";
/// Annotation: all task groups of the application, as JSON.
const TASK_GROUPS: &str = "yunikorn.apache.org/task-groups";
/// Annotation: timeout and style, `placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard`.
const PARAMETERS: &str = "yunikorn.apache.org/schedulingPolicyParameters";

/// What a pod says; none if it says nothing of YuniKorn.
pub fn read(pod: &Pod) -> Option<Spoken> {
    let (id, group) = (application(pod), annotation(pod, TASK_GROUP_NAME));
    let groups = annotation(pod, TASK_GROUPS);
    let names_queue = label(pod, QUEUE).is_some() || annotation(pod, QUEUE).is_some();
    if id.is_none() && group.is_none() && groups.is_none() && !names_queue {
        return None;
    }
    if annotation(pod, PLACEHOLDER) == Some("true") {
        let problem = "is a placeholder of YuniKorn, which nobody replaces here: delete it".into();
        let problems = vec![SpecError { field: PLACEHOLDER.into(), problem }];
        return Some(Spoken { system: SYSTEM, problems, ..Spoken::default() });
    }
    let (mut errors, mut warnings) = (Errors::default(), Warnings::default());
    let id = id.filter(|id| {
        let is_fine = syntax::is_label_value(id);
        errors.unless(is_fine, APP_ID, "must be a label value of 1 to 63 characters");
        is_fine
    });
    if application(pod).is_none() && (group.is_some() || groups.is_some()) {
        errors.add(APP_ID, "is missing: a pod of a task group names its application by this label");
    }
    let queue = queue(pod, &mut errors, &mut warnings);
    let mut spoken = Spoken {
        application: id.map(Text::from),
        group: id.zip(group).map(|(id, group)| object_name(id, group)),
        queue: queue.clone(),
        system: SYSTEM,
        ..Spoken::default()
    };
    if let (Some(id), Some(groups)) = (id, groups) {
        let parameters = Parameters::read(annotation(pod, PARAMETERS).unwrap_or_default(), &mut warnings);
        let of = task_groups::Of { pod, application: id, queue: queue.as_deref(), parameters };
        (spoken.declares, spoken.left_out) = task_groups::read(groups, &of, &mut errors, &mut warnings);
        let names = || spoken.declares.iter().map(|declared| &declared.name).chain(&spoken.left_out);
        let is_declared = |name: &&Text| names().any(|declared| declared == *name);
        if let Some(name) = spoken.group.as_ref().filter(|name| spoken.is_declaration() && !is_declared(name)) {
            errors.add(TASK_GROUP_NAME, format!("{} is none of the {TASK_GROUPS}", group.unwrap_or(name)));
        }
    }
    spoken.problems = errors.into_sorted();
    if !spoken.problems.is_empty() {
        spoken.declares.clear();
        spoken.left_out.clear();
    }
    spoken.warnings = warnings.0;
    Some(spoken)
}

/// The name of the TaskGroup for a task group of an application: readable, and another one for each pair.
pub fn object_name(application: &str, group: &str) -> Text {
    hashed(group, "yk", &[application, group])
}

/// The application's id, where YuniKorn looks for it, in its order.
fn application(pod: &Pod) -> Option<&str> {
    let others = || OTHER_APP_IDS.into_iter().find_map(|key| label(pod, key));
    label(pod, APP_ID).or_else(|| annotation(pod, APP_ID)).or_else(others)
}

/// With whom TaskGroups go that this pod declares. Spark names an application anew for each driver, so that they are of no use
/// without it: where a driver is submitted again and again, its controller would gather them.
fn owner(pod: &Pod) -> OwnerReference {
    let is_named = label(pod, APP_ID).or_else(|| annotation(pod, APP_ID)).is_some();
    let is_of_spark = label(pod, SPARK_APP_ID).is_some() && label(pod, SPARK_ROLE) == Some("driver");
    if is_of_spark && !is_named { super::itself(pod) } else { super::owner(pod) }
}

/// The path of the queue; what does not begin with the root is below it. Our own label counts before YuniKorn's words.
fn queue(pod: &Pod, errors: &mut Errors, warnings: &mut Warnings) -> Option<Text> {
    let of_label = |key: &'static str| label(pod, key).map(|said| (key, said));
    let own = of_label(names::QUEUE);
    let theirs =
        of_label(QUEUE).or_else(|| annotation(pod, QUEUE).map(|said| (QUEUE, said))).or_else(|| of_label(OLD_QUEUE));
    let (key, said) = own.or(theirs)?;
    let path =
        |said: &str| if said == "root" || said.starts_with("root.") { said.to_owned() } else { format!("root.{said}") };
    if let (Some((own, ours)), Some((key, theirs))) = (own, theirs)
        && path(theirs) != ours
    {
        warnings.add(|| format!("{key}: {theirs:?} is left out, since the label {own} says {ours:?}"));
    }
    let path = path(said);
    let problem = format!("{said:?} must be a queue path of at most 63 characters: DNS labels joined by dots");
    errors.unless(syntax::is_queue_path(&path), key, &*escape::message(&problem));
    Some(escape::bounded(&path, syntax::MAX_LABEL))
}

/// Timeout and style of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Parameters {
    /// None: the default, which is the same here.
    timeout_seconds: Option<u32>,
    style: Style,
}

impl Parameters {
    /// What YuniKorn does not understand it leaves out, and takes the default for a wrong value; so do we, and say so.
    fn read(text: &str, warnings: &mut Warnings) -> Self {
        let mut parameters = Self::default();
        let (least, most) = range_of(Deadline::Placeholder);
        let mut warn = |token: &str, why: &str| {
            warnings.add(|| format!("{PARAMETERS}: {token:?} {why}"));
        };
        for token in text.split_whitespace() {
            match token.split_once('=') {
                Some(("placeholderTimeoutInSeconds", seconds)) => match seconds.parse::<u32>() {
                    Ok(seconds) if (least..=most).contains(&seconds) => parameters.timeout_seconds = Some(seconds),
                    Ok(_) | Err(_) => warn(token, "is no time of 1 s to 365 days: the default is taken, 900"),
                },
                Some(("gangSchedulingStyle", "Soft")) => parameters.style = Style::Soft,
                Some(("gangSchedulingStyle", "Hard")) => parameters.style = Style::Hard,
                Some(("gangSchedulingStyle", _)) => warn(token, "is no style: the default is taken, Soft"),
                Some(_) | None => warn(token, "is not known, and left out"),
            }
        }
        parameters
    }
}

#[cfg(test)]
mod tests;
