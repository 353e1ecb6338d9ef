package rocketmqtest_test

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

// roleVariable makes the test binary play another program.
const roleVariable = "ROCKETMQTEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "parent":
		parent()
	default:
		os.Exit(m.Run())
	}
}

// parent starts an emulator, prints its addresses, and waits to be killed.
func parent() {
	mq, err := rocketmqtest.Start(rocketmqtest.Options{Topics: []string{"orders"}})
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(mq.Endpoint); err != nil {
		panic(err)
	}
	select {}
}

func TestKilledParentEndsTheEmulator(t *testing.T) {
	t.Parallel()
	started := exec.Command(os.Args[0])
	started.Env = append(os.Environ(), roleVariable+"=parent")
	output, err := started.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := started.Start(); err != nil {
		t.Fatal(err)
	}
	var endpoint string
	if err := json.NewDecoder(output).Decode(&endpoint); err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if err := started.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = started.Wait()
	// The connection closes when the emulator ends.
	_ = connection.SetReadDeadline(time.Now().Add(2 * time.Second))
	var received bytes.Buffer
	if _, err := received.ReadFrom(connection); err != nil {
		t.Errorf("the emulator has not ended: %v", err)
	}
}

func TestMissingCommandIsOneSentence(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(rocketmqtest.CommandVariable, "")
	_, err := rocketmqtest.Start(rocketmqtest.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "rocketmq-emulator: there is no such command;") {
		t.Error(err)
	}
	_, err = rocketmqtest.Start(rocketmqtest.Options{Command: "/nowhere/emulator"})
	if err == nil || !strings.HasPrefix(err.Error(), "Command=/nowhere/emulator: is not a program") {
		t.Error(err)
	}
}

func TestCommandThatRefusesToStartIsQuoted(t *testing.T) {
	t.Parallel()
	_, err := rocketmqtest.Start(rocketmqtest.Options{Topics: []string{"orders:FIFOO"}})
	if err == nil || !strings.Contains(err.Error(), "FIFOO") {
		t.Error(err)
	}
}
