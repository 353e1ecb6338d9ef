// Command launcher is the first part of the executable rocketmq-emulator. The second part is an archive with the
// program and the interpreter. The launcher unpacks it once into a cache, verifies it at each start, and replaces
// itself by the program, so that the process id, signals, standard input and the exit code are the program's own.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
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
	archive, err := openArchive(path)
	if err != nil {
		return err
	}
	folder, err := unpacked(archive)
	if err != nil {
		return err
	}
	return syscall.Exec(filepath.Join(folder, program), os.Args, os.Environ())
}
