//! The process dies at every write of a story, in four ways: in the end the cluster is as if it had not (01, 1.11;
//! design 02, "crash at every write").

use std::sync::{Arc, Mutex};

use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use serde_json::json;

use crate::circle::size;
use crate::sim::acts::{Act, PodAct};
use crate::sim::people::{is_placeholder, node_of, says_timed_out};
use crate::sim::plan::Faults;
use crate::sim::sweep::each;
use crate::sim::words::{Way, WordsAct};
use crate::sim::world::{Death, World};

/// Longer than any story: a year.
const ENDLESS_S: u32 = 31_536_000;

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

/// Members of a gang in Koordinator's words, which gives up when some have found nodes for so long, and not all.
fn members_in_annotations(world: &mut World, gang: &str, count: u32, waits_s: u32) {
    for number in 0..count {
        let words = WordsAct {
            way: Way::Annotations,
            gang: gang.to_owned(),
            min: count,
            team: Vec::new(),
            one_by_one: false,
            waits: Some(waits_s),
            total: None,
        };
        let name = format!("{gang}-{number}");
        world.act(&Act::Pod(PodAct { name, milli: 1_000, words: Some(words), ..PodAct::default() }));
    }
}

fn runs(pod: &Body) -> bool {
    !is_placeholder(pod) && node_of(pod).is_some()
}

fn holds_a_seat(pod: &Body) -> bool {
    is_placeholder(pod) && node_of(pod).is_some()
}

/// In the middle of a story, too, so many pods are so, wherever the process died.
fn expect(world: &mut World, count: usize, what: &str, is_so: fn(&Body) -> bool) {
    let found = world.api.store.of_kind(Kind::Pod).filter(|(_, pod)| is_so(pod)).count();
    if found != count {
        world.violated("its story", format!("{found} pods {what}, and not {count}"));
    }
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
    Story {
        name: "two task groups start together without placeholders, and another gang waits for what they leave",
        acts: &[
            |world| {
                two_nodes(world);
                world.queue("root.q", 5);
                let together = json!({"applicationId": "app", "queue": "root.q", "reservation": "Direct",
                                      "gangGroup": ["ns/a", "ns/b"]});
                world.group("a", 2, &together);
                world.group("b", 2, &together);
                world.group("c", 2, &json!({"queue": "root.q", "reservation": "Direct"}));
                ["a", "b", "c"].iter().for_each(|group| members(world, group, 2));
            },
            // Nobody got in between those who were bound and those who were not yet.
            |world| expect(world, 4, "run", runs),
            |world| ["a", "b"].iter().for_each(|group| succeed(world, group, 2)),
        ],
    },
    Story {
        name: "in mode NonStrict seats are held one by one until one more node comes",
        acts: &[
            |world| {
                world.node("n0", 4);
                world.queue("root", 100);
                world.queue("root.q", 8);
                let one_by_one = json!({"queue": "root.q", "placeholderFor": "all", "mode": "NonStrict",
                                        "waitTimeoutSeconds": ENDLESS_S});
                world.group("g", 6, &one_by_one);
            },
            |world| {
                expect(world, 4, "hold seats", holds_a_seat);
                world.node("n1", 4);
            },
            |world| {
                expect(world, 6, "hold seats", holds_a_seat);
                members(world, "g", 6);
            },
        ],
    },
    Story {
        name: "a gang in Koordinator's words waits too long for nodes, and is submitted again",
        acts: &[
            |world| {
                world.speak();
                world.node("n0", 2);
                members_in_annotations(world, "g", 3, 20);
            },
            // It is given up, so that a node which comes too late changes nothing.
            |world| {
                expect(world, 3, "say that their gang has timed out", says_timed_out);
                world.node("n1", 4);
            },
            |world| {
                expect(world, 3, "say that their gang has timed out", says_timed_out);
                expect(world, 0, "run", runs);
                (0..3).for_each(|number| world.delete_pod(&format!("g-{number}")));
            },
            |world| members_in_annotations(world, "g", 3, 20),
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
        assert_eq!(world.violation, None, "{}: {death:?}", story.name);
    }
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
