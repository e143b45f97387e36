#!/bin/sh
# One real node: containerd and a kubelet, in namespaces of their own for network, mounts and processes. This is process 1
# of the last of these: when it ends, however it ends, the kernel ends everything that runs here, and with that go the
# mounts and interfaces. Whatever is written to a usual place is written to memory that nobody else sees.
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

# What is said last is what whoever started the node shows.
ended() {
  echo "$1 has ended:"
  tail -n 15 "$LOG-$1.log"
  exit 1
}

# Volumes are passed on to containers.
mount --make-rshared /
for place in /run /var/lib /var/log; do mount -t tmpfs -o mode=0755 "$SITE" "$place"; done

# The kubelet insists on settings of the whole machine; those of the machine stay as they are.
setting() {
  echo "$2" >"$DIR/${1##*/}"
  mount --bind "$DIR/${1##*/}" "/proc/sys/$1"
}
setting vm/overcommit_memory 1
setting vm/panic_on_oom 0
setting kernel/panic 10
setting kernel/panic_on_oops 1
setting kernel/keys/root_maxkeys 1000000
setting kernel/keys/root_maxbytes 25000000

# By this whoever ends the node knows which processes are of it.
echo 0 >"$CGROUP/cgroup.procs"

# Now the link can be made, from outside.
: >"$DIR/born"
until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
ip link set lo up
ip address add "$ADDRESS/24" dev eth0
ip link set eth0 up
ip route add default via "$GATEWAY"
for route in $ROUTES; do ip route add "${route%@*}" via "${route#*@}"; done
echo 1 >/proc/sys/net/ipv4/ip_forward
# The one service that pods need: the API server.
for chain in PREROUTING OUTPUT; do
  iptables -t nat -A "$chain" -d "$SERVICE" -p tcp --dport 443 -j DNAT --to-destination "$SERVER"
done

containerd --config "$DIR/containerd.toml" >>"$LOG-containerd.log" 2>&1 &
until ctr version >/dev/null 2>&1; do
  kill -0 $! 2>/dev/null || ended containerd
  sleep 0.1
done
for image in "$IMAGES"/*; do
  ctr -n k8s.io images import "$image" || {
    echo "${image##*/} is no image"
    exit 1
  }
done

# A kubelet that starts again without any record of devices takes from its node what devices it has by hand.
mkdir -p /var/lib/kubelet/device-plugins
: >/var/lib/kubelet/device-plugins/by-hand

# Not `exec`: process 1 has to collect the processes that lose their parent, which a kubelet does not. A kubelet that was
# killed on purpose is started again, as the init of a node does, but not before it may return.
while :; do
  while [ -e "$DIR/away" ]; do sleep 0.05; done
  "$KUBELET" --config="$DIR/kubelet.json" --kubeconfig="$KUBECONFIG" --hostname-override="$NODE" \
    --node-ip="$ADDRESS" --node-labels="$LABELS" >>"$LOG-kubelet.log" 2>&1 &
  wait $! || true
  rm "$DIR/killed" 2>/dev/null || ended kubelet
done
