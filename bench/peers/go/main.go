// Command go compares the Go helper of the emulator with servers that Go tests embed: kfake, NATS and miniredis.
//
//	go run . [-repeats N]
//
// Each tool starts, gets one message and gives it back through a client, and stops. The tools take turns. The table has
// milliseconds by the wall clock. Clients connect within the round trip, and close after
// it, which is not measured. ROCKETMQ_EMULATOR is the command of the
// emulator. The official SDK sleeps for one second at the start of each of its two clients.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	repeats := flag.Int("repeats", 20, "times that each tool starts")
	flag.Parse()
	found := &table{}
	// The first round loads code and fills caches.
	for round := range *repeats + 1 {
		if round == 1 {
			found = &table{}
		}
		for _, measure := range []func(*table) error{emulator, kafka, nats, redis} {
			if err := measure(found); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
	found.print()
}
