// Pins the source that has the definition of a kind, of which tests read the file; says the version.
package main

import (
	"fmt"

	"volcano.sh/volcano/pkg/version"
)

func main() {
	fmt.Println(version.Version)
}
