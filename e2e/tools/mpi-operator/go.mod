module gangline.dev/e2e/tools/mpi-operator

go 1.26.0

require github.com/kubeflow/mpi-operator v0.8.0
