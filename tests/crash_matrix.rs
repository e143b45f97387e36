//! The process dies at every write of a story, in four ways: in the end the cluster is as if it had not (01, 1.11;
//! design 02, "crash at every write").

use std::sync::{Arc, Mutex};

use gangline::shim::op::Kind;
use serde_json::json;

use crate::circle::size;
use crate::sim::plan::Faults;
use crate::sim::sweep::each;
use crate::sim::world::{Death, World};

/// A story: what is there, and what people do each time everything has come to rest.
struct Story {
    name: &'static str,
    acts: &'static [fn(&mut World)],
}

fn two_nodes(world: &mut World) {
    world.node("n0", 4);
    world.node("n1", 4);
    world.queue("root", 100);
    world.queue("root.q", 6);
}

fn members(world: &mut World, group: &str, count: u32) {
    (0..count).for_each(|number| world.member(group, number, "1"));
}

fn succeed(world: &mut World, group: &str, count: u32) {
    (0..count).for_each(|number| world.succeed(&format!("{group}-{number}")));
}

const STORIES: &[Story] = &[
    Story {
        name: "Direct starts and completes",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 3, &json!({"queue": "root.q", "reservation": "Direct"}));
                members(world, "g", 3);
            },
            |world| succeed(world, "g", 3),
        ],
    },
    Story {
        name: "placeholders for all are replaced",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 3, &json!({"queue": "root.q", "placeholderFor": "all"}));
            },
            |world| members(world, "g", 3),
            |world| succeed(world, "g", 3),
        ],
    },
    Story {
        name: "placeholders for those who are missing",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 3, &json!({"queue": "root.q"}));
                members(world, "g", 1);
            },
            |world| (1..3).for_each(|number| world.member("g", number, "1")),
        ],
    },
    Story {
        name: "a member that needs another node",
        acts: &[
            |world| {
                world.node("n0", 2);
                world.node("n1", 4);
                world.queue("root", 100);
                world.queue("root.q", 8);
                world.group("g", 2, &json!({"queue": "root.q", "placeholderFor": "all"}));
            },
            |world| {
                world.member("g", 0, "3");
                world.member("g", 1, "1");
            },
        ],
    },
    Story {
        name: "a rejection that its queue heals",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 7, &json!({"queue": "root.q", "placeholderFor": "all"}));
            },
            |world| world.queue("root.q", 8),
            |world| members(world, "g", 7),
        ],
    },
    Story {
        name: "a gang that ends leaves nothing",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 3, &json!({"queue": "root.q", "placeholderFor": "all"}));
                members(world, "g", 1);
            },
            |world| succeed(world, "g", 1),
        ],
    },
    Story {
        name: "a node goes under held seats",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 5, &json!({"queue": "root.q", "placeholderFor": "all"}));
            },
            |world| world.lose_node("n0"),
            |world| world.node("n2", 4),
            |world| members(world, "g", 5),
        ],
    },
    Story {
        name: "a quota that grows and shrinks",
        acts: &[
            |world| {
                two_nodes(world);
                world.queue("root.q", 3);
                world.group("a", 2, &json!({"queue": "root.q", "placeholderFor": "all"}));
                members(world, "a", 2);
            },
            |world| {
                world.group("b", 3, &json!({"queue": "root.q", "placeholderFor": "all"}));
            },
            |world| world.queue("root.q", 5),
            |world| world.queue("root.q", 1),
            |world| members(world, "b", 3),
        ],
    },
    Story {
        name: "a gang waits for the nodes of another",
        acts: &[
            |world| {
                two_nodes(world);
                world.queue("root.q", 100);
                world.group("a", 5, &json!({"queue": "root.q", "placeholderFor": "all"}));
                members(world, "a", 5);
            },
            |world| {
                world.group("b", 5, &json!({"queue": "root.q", "placeholderFor": "all"}));
                members(world, "b", 5);
            },
            |world| succeed(world, "a", 5),
        ],
    },
    Story {
        name: "a queue is deleted under a running gang",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 2, &json!({"queue": "root.q", "placeholderFor": "all"}));
                members(world, "g", 2);
            },
            |world| world.delete(Kind::Queue, "root.q"),
            |world| world.group("h", 2, &json!({"queue": "root.q", "reservation": "Direct"})),
            |world| succeed(world, "g", 2),
        ],
    },
    Story {
        name: "an application of two task groups and a driver",
        acts: &[
            |world| {
                two_nodes(world);
                let shared = json!({"applicationId": "app", "queue": "root.q", "placeholderFor": "all",
                                    "gangGroup": ["ns/p", "ns/s"]});
                world.pod("driver", &json!({"gangline.dev/application-id": "app"}), "1");
                world.group("p", 2, &shared);
                world.group("s", 2, &shared);
            },
            |world| {
                members(world, "p", 2);
                members(world, "s", 2);
            },
        ],
    },
    Story {
        name: "a user deletes a held placeholder",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 3, &json!({"queue": "root.q", "placeholderFor": "all"}));
            },
            |world| {
                let placeholder = world.placeholders().remove(1);
                world.delete_pod(&placeholder);
            },
            |world| members(world, "g", 3),
        ],
    },
    Story {
        name: "somebody forges a placeholder",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 2, &json!({"queue": "root.q", "placeholderFor": "all"}));
            },
            |world| {
                let labels = json!({"gangline.dev/placeholder": "true", "gangline.dev/task-group": "g",
                                    "gangline.dev/application-id": "g", "gangline.dev/queue": "root.q",
                                    "gangline.dev/seat": "0", "gangline.dev/incarnation": "uid-9.1",
                                    "gangline.dev/attempt": "0"});
                world.pod("tg-g-forged", &labels, "1");
            },
            |world| members(world, "g", 2),
        ],
    },
    Story {
        name: "somebody forges the next placeholder of a seat, as it is named",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 2, &json!({"queue": "root.q", "placeholderFor": "all"}));
            },
            |world| world.forge("g", 1_000, false),
            |world| members(world, "g", 2),
        ],
    },
    Story {
        name: "a member is lost after the start",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 3, &json!({"queue": "root.q", "placeholderFor": "all"}));
                members(world, "g", 3);
            },
            |world| world.delete_pod("g-1"),
            |world| world.member("g", 9, "1"),
        ],
    },
    Story {
        name: "a task group is deleted while it holds seats, and comes again",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 3, &json!({"queue": "root.q", "placeholderFor": "all"}));
            },
            |world| world.delete(Kind::TaskGroup, "g"),
            |world| world.group("g", 2, &json!({"queue": "root.q", "placeholderFor": "all"})),
            |world| members(world, "g", 2),
        ],
    },
    Story {
        name: "style Hard ends a reservation, and others begin the next life",
        acts: &[
            |world| {
                two_nodes(world);
                let hard = json!({"queue": "root.q", "placeholderFor": "all", "style": "Hard",
                                  "placeholderTimeoutSeconds": 5});
                world.group("g", 3, &hard);
            },
            |world| members(world, "g", 3),
        ],
    },
    Story {
        name: "style Soft ends a reservation, and others begin the next life",
        acts: &[
            |world| {
                two_nodes(world);
                let soft = json!({"queue": "root.q", "placeholderFor": "all", "placeholderTimeoutSeconds": 5,
                                  "completionTimeoutSeconds": 3600});
                world.group("g", 3, &soft);
            },
            |world| members(world, "g", 3),
        ],
    },
    Story {
        name: "seats that nobody took in time are given back",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 3, &json!({"queue": "root.q", "placeholderTimeoutSeconds": 30}));
                members(world, "g", 1);
            },
            |world| (1..3).for_each(|number| world.member("g", number, "1")),
        ],
    },
    Story {
        name: "a gang is restarted inside the hold",
        acts: &[
            |world| {
                two_nodes(world);
                world.group("g", 3, &json!({"queue": "root.q", "reservation": "Direct"}));
                members(world, "g", 3);
            },
            |world| {
                (0..3).for_each(|number| world.delete_pod(&format!("g-{number}")));
                (3..6).for_each(|number| world.member("g", number, "1"));
            },
        ],
    },
    Story {
        name: "a gang with placeholders is restarted after the hold",
        acts: &[
            |world| {
                two_nodes(world);
                let spec = json!({"queue": "root.q", "placeholderFor": "all", "completionTimeoutSeconds": 3600});
                world.group("g", 3, &spec);
                members(world, "g", 3);
            },
            |world| (0..3).for_each(|number| world.delete_pod(&format!("g-{number}"))),
            |world| (3..6).for_each(|number| world.member("g", number, "1")),
        ],
    },
];

/// Plays a story; what it comes to, and every write.
fn play(story: &Story, death: Option<(usize, Death)>) -> (Vec<String>, Vec<String>) {
    let mut world = World::new(0, Faults::default(), death);
    for act in story.acts {
        act(&mut world);
        world.rest();
        world.check_at_rest();
    }
    assert_eq!(world.violation, None, "{}: {death:?}", story.name);
    (world.summary(), world.writes)
}

#[test]
fn a_crash_at_any_write_changes_nothing_in_the_end() {
    let stories = STORIES.iter().map(|story| (story, play(story, None)));
    let deaths = stories.flat_map(|(story, (expected, writes))| {
        let expected = Arc::new(expected);
        let of_write = move |(at, write): (usize, String)| {
            Death::ALL.map(|death| (story, Arc::clone(&expected), at, write.clone(), death))
        };
        writes.into_iter().enumerate().flat_map(of_write)
    });
    // Some of each kind: how many kinds there are divides no circle's step.
    let deaths: Vec<_> = deaths.step_by(size().deaths).collect();
    let problems = Mutex::new(Vec::new());
    each(
        0..deaths.len() as u64,
        |_| {},
        |number| {
            let (story, expected, at, write, death) = &deaths[number as usize];
            let (found, _) = play(story, Some((*at, *death)));
            if found != **expected {
                let what = format!("{}: {death:?} write {at} ({write})", story.name);
                let problem = format!("{what}\n  expected {expected:#?}\n  found {found:#?}");
                problems.lock().expect("nobody fails over a list").push(problem);
            }
        },
    );
    let (problems, played) = (problems.into_inner().expect("as above"), deaths.len());
    assert!(problems.is_empty(), "{} of {played}:\n{}", problems.len(), problems[..problems.len().min(5)].join("\n"));
    assert!(played * size().deaths > 1_000, "{played} deaths");
}
