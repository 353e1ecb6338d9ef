// Command helpers measures the steps of tests with the Go helper. It prints a line for each.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

const tests = 4

func main() {
	var shared, fork *rocketmqtest.RocketMQ
	step("process, start", func() (err error) {
		shared, err = rocketmqtest.Start(rocketmqtest.Options{Topics: []string{"orders"}})
		return err
	})
	which := "first test"
	for range tests {
		step(which+", fork", func() (err error) { fork, err = shared.Fork(); return err })
		step(which+", message sent and read", func() error {
			if _, err := fork.Send("orders", "two teas"); err != nil {
				return err
			}
			_, err := fork.Messages("orders")
			return err
		})
		step(which+", end of the fork", fork.Stop)
		which = "later test"
	}
	for range tests {
		step("reset instead of a fork", shared.Reset)
	}
	if err := shared.Stop(); err != nil {
		panic(err)
	}
}

func step(name string, call func() error) {
	before, begin := processor(os.Getpid()), time.Now()
	err := call()
	taken, after := time.Since(begin), processor(os.Getpid())
	if err != nil {
		panic(fmt.Errorf("%s: %w", name, err))
	}
	line := map[string]any{"step": name, "ms": taken.Seconds() * 1000, "cpu_ms": float64(after-before) / 1e6}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		panic(err)
	}
}

// processor returns the processor time of a process and of its descendants in nanoseconds.
func processor(pid int) (sum int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, thread := range threads {
		sum += number(strings.Fields(text(thread+"/schedstat") + "0")[0])
		for _, child := range strings.Fields(text(thread + "/children")) {
			sum += processor(number(child))
		}
	}
	return sum
}

// text returns the content of a file; none if the thread has ended.
func text(file string) string {
	content, _ := os.ReadFile(file)
	return string(content)
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return value
}
