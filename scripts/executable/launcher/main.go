// Command launcher is the first part of the executable rocketmq-emulator. The second part is a bundle with the
// program and the interpreter. The launcher unpacks it once into a cache, looks for changes at each start, and replaces
// itself by the program, so that the process id, signals, standard input and the exit code are the program's own.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rocketmq-testkit/rocketmq-testkit/scripts/executable/launcher/bundle"
)

const program = "rocketmq-emulator"

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		os.Exit(2)
	}
}

func run() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	opened, err := bundle.Open(path)
	if err != nil {
		return advised(path, err)
	}
	folder, err := unpacked(opened)
	if err != nil {
		return advised(path, err)
	}
	return syscall.Exec(filepath.Join(folder, program), os.Args, os.Environ())
}

// advised says what to do with an executable that cannot be read.
func advised(path string, err error) error {
	if errors.Is(err, bundle.ErrDamaged) || errors.Is(err, bundle.ErrIncomplete) {
		return fmt.Errorf("%s: %w; build or download it again", path, err)
	}
	return err
}
