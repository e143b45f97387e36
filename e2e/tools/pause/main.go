// Waits until it is told to end, as the pause image of a cluster does; with a duration it ends by itself after that, with
// the exit code that may follow: `pause 2s 1`. `pause eat` takes memory until it is killed for it. `pause stay` does not end
// when it is told to: whoever wants it to end has to kill it.
package main

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	var over <-chan time.Time
	code := 0
	if len(os.Args) > 1 && os.Args[1] == "eat" {
		eat()
	}
	stays := len(os.Args) > 1 && os.Args[1] == "stay"
	if len(os.Args) > 1 && !stays {
		long, err := time.ParseDuration(os.Args[1])
		if err != nil {
			os.Exit(2)
		}
		over = time.After(long)
	}
	if len(os.Args) > 2 {
		code, _ = strconv.Atoi(os.Args[2])
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for {
		select {
		case <-over:
			os.Exit(code)
		case told := <-signals:
			if told != syscall.SIGCHLD && !stays {
				return
			}
			// Where the containers of a pod share their processes it is the first of them, which inherits orphans.
			for {
				if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
					break
				}
			}
		}
	}
}

// Every page is written to, or the kernel would not count it.
func eat() {
	var eaten [][]byte
	for {
		bite := make([]byte, 1<<20)
		for page := 0; page < len(bite); page += 4096 {
			bite[page] = 1
		}
		eaten = append(eaten, bite)
	}
}
