//! Help texts: examples, columns, exit codes.

/// What the program is.
pub(super) const ABOUT: &str = "\
A gang scheduler for Kubernetes: a job starts with all its members or does not hold the cluster at all.\n\n`run` is the scheduler. `release-placeholders` deletes what one that was uninstalled has left. `simulate`, `validate` and `import` need no cluster. The other commands read it with your own kubeconfig and change nothing.";

/// What the exit codes mean.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the object does not exist, or Gangline does not schedule it; or the answer could not be written
  2  wrong usage or configuration, or the cluster cannot be reached or refuses
  101, 128+N  `run` only: a fault of its own; ended at once by a second signal N

Named kubectl-gangline and put on the PATH, the same program is `kubectl gangline`.";

/// Help of `run`; the file in it is tested to be the default.
pub(in crate::runtime) const RUN_HELP: &str = "\
Examples:
  gangline run --kubeconfig ~/.kube/config      against a cluster, from your machine
  gangline run --config /etc/gangline.yaml      as the chart does it
  gangline run --http 127.0.0.1:0               on a free port; the log says which
  gangline run --http 0.0.0.0:8080              for others too: HTTPS, and a token for /metrics and /state

In a pod, the service account is used. Flags win over --config. The file, with every field and its default:
  schedulerNames: [gangline]                    # pods with these spec.schedulerName are ours
  placeholderImage: registry.k8s.io/pause:3.10@sha256:ee6521f290b2168b6e0935a181d4cff9be1ac3f505666ef0e3c98fae8199917a
  ignoreForeignMarkers: false                   # true: pods of another system's gangs are placed one by one
  dialects: [yunikorn]                          # other systems whose words on pods are understood; koordinator, coscheduling, volcano, kubernetes, none
  defaultWaitTimeout: 600s                      # of gangs of Koordinator and scheduler-plugins that do not say it
  maxPlaceholders: 5000                         # the most that one gang may ask for
  leaderElection:                               # of the processes with these scheduler names one decides
    enabled: true
    namespace: kube-system                      # of the Lease, which is named after the scheduler name
    leaseDurationSeconds: 15                    # so long others wait for one that is silent
    renewDeadlineSeconds: 10                    # so long one decides that cannot renew it
    retryPeriodSeconds: 2                       # how often it is renewed
  http:
    address: 127.0.0.1:8080                     # /livez /readyz /metrics /state; loopback: of this machine alone
    auth: auto                                  # a token for /metrics and /state: auto (not on loopback), always, never
    tls: auto                                   # HTTPS: likewise
    tlsDirectory: ''                            # of tls.crt and tls.key; none: a certificate of its own
  log:
    format: auto                                # text on a terminal, json otherwise
    level: info                                 # or per module: info,gangline=debug";

/// Help of `release-placeholders`.
pub(super) const RELEASE_HELP: &str = "\
Examples:
  gangline release-placeholders                          after `kubectl delete -f manifests/gangline.yaml`
  gangline release-placeholders --scheduler-name gangline --scheduler-name spark

The chart runs this after `helm uninstall`. A scheduler name is done when nobody leads for it: its Lease is taken, as a
scheduler would, which waits for one that was killed until its time is over; then the placeholders go, and the Lease. While
another process leads, its placeholders are left alone, and the answer names it. Deleted is what a scheduler would recognise
as a placeholder of its own, never an ordinary pod; TaskGroups and Queues stay.
Exit codes: 0 = nothing is left, or another process leads; 2 = the cluster refuses, or cannot be reached.";

/// Help of `list`.
pub(super) const LIST_HELP: &str = "\
Examples:
  gangline list -A                              every gang of the cluster, by queue, oldest first
  gangline list -n data --state Accepted        those that were accepted and do not run yet
  gangline list -A --queue root.data -o wide    a queue and all below it, with the reason in words
  gangline list -A -o json | jq '.items[] | select(.state != \"Running\")'

Columns: MIN members that start together, HELD by placeholders, RUNNING members that have a node.
State `Unseen`: the scheduler has not said anything about the object yet. States and reasons are current, numbers as they
were last written, at most every 30 seconds.";

/// Help of `why`.
pub(super) const WHY_HELP: &str = "\
Examples:
  gangline why tg/executors -n data             a TaskGroup
  gangline why pod/spark-pi-driver -n data      a pod: its own reason, then its gang's
  gangline why executors -o json                whichever of the two has the name";

/// Help of `simulate`.
pub(super) const SIMULATE_HELP: &str = "\
Examples:
  gangline simulate examples/*.yaml --nodes 20x32cpu,128Gi
  kubectl get nodes,pods -A -o yaml | gangline simulate - tonight.yaml       tonight's jobs on the cluster of today
  gangline simulate jobs.yaml --nodes 4x8cpu,32Gi -o json | jq '.gangs[] | {name, started, waited}'

The scheduler is the one that runs on clusters; API server, nodes and Jobs are models in which nothing goes wrong, and time
is virtual. A pod runs for --runs, or as long as its annotation says (on a Job: each of its pods):
  gangline.dev/simulated-run: 90s
An object is there from the beginning, or when its annotation says:
  gangline.dev/simulated-start: 5m
A pod that has a node already and names another scheduler stays, unless its annotation says how long.
Not played: autoscalers, ResourceQuotas, and kinds other than those above. A namespace that no file names has no labels but its
name's.

SUBMITTED: the TaskGroup was there. ADMITTED: its whole ask fitted the quota. STARTED: its members were let start, all at
once. PLACED: each has a node. FINISHED: nothing of it runs or waits. A full column of a chart is the limit of the queue, or
what all nodes have if it has none; each shows the most that was used within it.
Exit codes: 0 = played, whatever came of it; 2 = the input is wrong.";

/// Help of `validate`.
pub(super) const VALIDATE_HELP: &str = "\
Examples:
  gangline validate examples/*.yaml
  helm template my-job | gangline validate -
  kubectl get nodes,queues.gangline.dev -o yaml | gangline validate - job.yaml    would this job fit this cluster?
  gangline validate job.yaml -o json | jq '.findings[] | select(.severity == \"error\")'

Errors are what an API server refuses of TaskGroups and Queues, fields of the wrong type in other kinds, and what the scheduler
refuses: of specs, of pods, and of what pods say in YuniKorn's words. All of them are said, each with file, line, object and
field.
Warnings are what may be meant, or what the cluster may have and the files do not: a queue or TaskGroup that is not there, a
gang beyond a quota, fewer members than start together, fields that Kubernetes does not know, and, where the files have Nodes,
who finds no room even on empty ones.
Whether a Kubernetes object of another kind is right is not looked at; `kubectl apply --dry-run=server` asks the API server.
Exit codes: 0 = no errors, maybe warnings; 1 = errors; 2 = wrong usage, or a file cannot be read.";

/// Help of `import`.
pub(super) const IMPORT_HELP: &str = "\
Examples:
  gangline import queues.yaml > queues-of-gangline.yaml
  kubectl get cm -n yunikorn yunikorn-defaults yunikorn-configs -o yaml | gangline import -
  gangline import cm.yaml | gangline validate -
  gangline import cm.yaml -o values > values.yaml
  gangline import cm.yaml -o json | jq '.report[] | select(.fate == \"lost\")'
  kubectl get cm -n koordinator-system koord-scheduler-config -o yaml | gangline import - -o values
  kubectl get podgroups.scheduling.x-k8s.io -A -o yaml | gangline import -      what becomes of them; they need no import
  kubectl get elasticquotas.scheduling.sigs.k8s.io -A -o yaml | gangline import - > queues-of-gangline.yaml

A configuration is read as strictly as YuniKorn 1.9 reads it, or kube-scheduler a KubeSchedulerConfiguration, and everything that
is wrong is said at once, each with line and column. Of YuniKorn's partitions the one named `default` is imported; of a scheduler's
profiles those that enable Coscheduling, Koordinator's or that of scheduler-plugins. What has no equivalent, works differently, is
refused here, or has another name is told on standard error, or in the JSON.
Exit codes: 0 = imported, whatever the report says; 1 = the configuration is wrong; 2 = wrong usage, or a file cannot be read.";

/// Help of `queue`.
pub(super) const QUEUE_HELP: &str = "\
Examples:
  gangline queue                                the whole tree
  gangline queue root.data                      a queue and all below it
  gangline queue -o json

Numbers are as they were last written, at most every 30 seconds; PROBLEM and MAX are current.";
