// Pins the source that has the definition of a kind, of which tests read the file; says the kind's group.
package main

import (
	"fmt"

	"sigs.k8s.io/scheduler-plugins/apis/scheduling"
)

func main() {
	fmt.Println(scheduling.GroupName)
}
