// mpi-operator as its own main starts it, but for one thing: it says on port 8080 of the machine that it is well, whatever else
// runs there. Here that port is a flag.
package main

import (
	"flag"
	_ "unsafe" // For go:linkname.

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app"
	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	"k8s.io/klog/v2"
)

//go:linkname healthPort github.com/kubeflow/mpi-operator/cmd/mpi-operator/app.healthCheckPort
var healthPort int

func main() {
	klog.InitFlags(nil)
	option := options.NewServerOption()
	option.AddFlags(flag.CommandLine)
	flag.IntVar(&healthPort, "health-port", 8080, "Where /healthz is answered.")
	flag.Parse()
	if err := app.Run(option); err != nil {
		klog.Fatalf("%v\n", err)
	}
}
