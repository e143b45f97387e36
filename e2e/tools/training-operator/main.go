// training-operator with the controllers that its own main starts, and as that configures them, but without its webhooks: they
// only refuse jobs that are wrong, and read their certificate from one place under /tmp, whoever else runs them on the machine.
package main

import (
	"flag"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	schedulerpluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcanoclient "volcano.sh/apis/pkg/client/clientset/versioned"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	controllerv1 "github.com/kubeflow/training-operator/pkg/controller.v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
)

func main() {
	var enabledSchemes controllerv1.EnabledSchemes
	flag.Var(&enabledSchemes, "enable-scheme", "A kind of jobs, once for each.")
	gangSchedulerName := flag.String("gang-scheduler-name", "", "volcano, or who schedules pods of scheduler-plugins' PodGroups.")
	namespace := flag.String("namespace", "", "Whose jobs are looked after; everybody's, if it is empty.")
	probeAddr := flag.String("health-probe-bind-address", "", "Where /readyz is answered.")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseDevMode(true)))
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault

	var cacheOpts cache.Options
	if *namespace != "" {
		cacheOpts.DefaultNamespaces = map[string]cache.Config{*namespace: {}}
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(kubeflowv1.AddToScheme(scheme))
	utilruntime.Must(v1beta1.AddToScheme(scheme))
	utilruntime.Must(schedulerpluginsv1alpha1.AddToScheme(scheme))
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: *probeAddr,
		Cache:                  cacheOpts,
	})
	exitOn(err)

	gangScheduling := common.GenNonGangSchedulerSetupFunc()
	if strings.EqualFold(*gangSchedulerName, string(common.GangSchedulerVolcano)) {
		gangScheduling = common.GenVolcanoSetupFunc(volcanoclient.NewForConfigOrDie(mgr.GetConfig()))
	} else if *gangSchedulerName != "" {
		gangScheduling = common.GenSchedulerPluginsSetupFunc(mgr.GetClient(), *gangSchedulerName)
	}
	for _, kind := range enabledSchemes {
		exitOn(controllerv1.SupportedSchemeReconciler[kind](mgr, gangScheduling, 1))
	}
	exitOn(mgr.AddReadyzCheck("readyz", healthz.Ping))
	exitOn(mgr.Start(ctrl.SetupSignalHandler()))
}

func exitOn(err error) {
	if err != nil {
		ctrl.Log.Error(err, "training-operator")
		os.Exit(1)
	}
}
