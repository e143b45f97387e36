module gangline.dev/e2e/tools/volcano-kinds

go 1.26.0

require volcano.sh/volcano v1.15.1
