//! What the programs of a real node read: containerd's, the network's and the kubelet's configuration.

use std::net::Ipv4Addr;
use std::path::Path;

use serde_json::{Value, json};

/// Debian's place of the network plugins (containernetworking-plugins).
pub const PLUGINS: &str = "/usr/lib/cni";

/// Everything else is where it usually is, in memory of the node's own (`node.sh`).
pub fn containerd(dir: &Path, pause: &str) -> String {
    let networks = dir.join("networks");
    format!(
        r#"version = 2

[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # Not everybody who may start containers may also protect them from the kernel's killer.
  restrict_oom_score_adj = true
  disable_apparmor = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{PLUGINS}"
    conf_dir = "{}"

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"#,
        networks.display()
    )
}

/// Pods on a bridge of the node, with addresses of a range that is the node's alone.
pub fn network(pods: &str) -> Value {
    let addresses = json!({
        "type": "host-local", "ranges": [[{"subnet": pods}]], "routes": [{"dst": "0.0.0.0/0"}],
    });
    let bridge = json!({
        "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true, "ipam": addresses,
    });
    json!({"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, {"type": "loopback"}]})
}

/// A kubelet that keeps to its part of the cgroups and to its own address, with further settings.
pub fn kubelet(address: Ipv4Addr, cgroup: &str, further: &Value) -> Value {
    let mut settings = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": address, "readOnlyPort": 0,
        // Nobody makes certificates by which it would know the API server. So who is on this machine can enter containers.
        "authentication": {"anonymous": {"enabled": true}, "webhook": {"enabled": false}},
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs", "cgroupRoot": cgroup, "failCgroupV1": false,
        "enforceNodeAllocatable": ["pods"], "failSwapOn": false, "protectKernelDefaults": true,
        "makeIPTablesUtilChains": false, "resolvConf": "",
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        "evictionHard": {
            "memory.available": "100Mi", "nodefs.available": "1%", "nodefs.inodesFree": "1%", "imagefs.available": "1%",
        },
        "nodeStatusUpdateFrequency": "2s",
    });
    for (key, value) in further.as_object().into_iter().flatten() {
        settings[key] = value.clone();
    }
    settings
}
