// Pins the source that has the definition of a kind, of which tests read the file; says the kind's group.
package main

import (
	"fmt"

	"github.com/koordinator-sh/koordinator/apis/thirdparty/scheduler-plugins/pkg/apis/scheduling"
)

func main() {
	fmt.Println(scheduling.GroupName)
}
