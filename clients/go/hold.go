package rocketmqtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// holdTimeout is how long a test waits for an emulator that a test of another process holds.
const holdTimeout = time.Minute

// holdNameMax is the number of characters that the control port allows in the name of a hold.
const holdNameMax = 200

// Hold waits until no other test holds the emulator, and holds it until the function that it returns is called, or until
// this process ends. Tests of other processes that reset the emulator, those of the helpers for Java and Node too, wait
// meanwhile. Later refusals show the name of the test. A hold excludes other holds only: Reset neither needs nor ends
// one.
func (r *RocketMQ) Hold(name string, timeout time.Duration) (func(), error) {
	// The response ends with the context, and the hold with the response.
	ctx, cancel := context.WithCancel(context.Background())
	body := map[string]string{"name": name, "timeout": duration(timeout)}
	response, err := r.control.send(ctx, "POST", "/v1/hold", body)
	if err != nil {
		cancel()
		if IsNotFound(err) {
			err = errNoHold
		}
		return nil, err
	}
	return func() {
		cancel()
		_ = response.Close()
	}, nil
}

// errNoHold is the error of Hold if the emulator has no such request.
var errNoHold = errors.New("the emulator is older than this module, and cannot be held by one test at a time; update the " +
	"emulator to the version of the module")

// holdForTest holds the emulator that test processes share until a test ends.
func (r *RocketMQ) holdForTest(t testing.TB) error {
	release, err := r.Hold(holdName(filepath.Base(os.Args[0]), t.Name(), os.Getpid()), holdTimeout)
	if err == nil {
		t.Cleanup(release)
	}
	return err
}

// holdName returns the name of a hold: package, test and process.
func holdName(binary, test string, pid int) string {
	binary = strings.TrimSuffix(strings.TrimSuffix(binary, ".exe"), ".test")
	name, process := []rune(binary+"."+test), fmt.Sprintf(" (pid %d)", pid)
	if most := holdNameMax - len(process); len(name) > most {
		name = name[:most]
	}
	return string(name) + process
}
