// Command pack writes the bundle of a folder to standard output: pack FOLDER > FILE.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/rocketmq-testkit/rocketmq-testkit/scripts/executable/launcher/bundle"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "pack: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("%d arguments; name the folder to pack", len(os.Args)-1)
	}
	out := bufio.NewWriter(os.Stdout)
	if err := bundle.Pack(os.Args[1], out); err != nil {
		return err
	}
	return out.Flush()
}
