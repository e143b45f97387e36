module gangline.dev/e2e/tools/koordinator-kinds

go 1.26.0

require github.com/koordinator-sh/koordinator v1.8.0
