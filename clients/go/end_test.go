package rocketmqtest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

// roleVariable is the end of a test binary that another test has started: pass, fail, timeout or killed.
const roleVariable = "ROCKETMQTEST_ROLE"

// endTimeout is the longest time until an emulator has noticed the end of its test or of its parent.
const endTimeout = 2 * time.Second

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv(roleVariable) != "" {
		// The test has ended. Its fork must end now, before this process does.
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	os.Exit(code)
}

// TestOfTheChild runs in a test binary of its own. It prints the addresses of a fork and of a process of its own, waits
// for a line, and ends as its role says.
func TestOfTheChild(t *testing.T) {
	role := os.Getenv(roleVariable)
	if role == "" {
		return
	}
	mq := rocketmqtest.Run(t, "orders")
	own := must(rocketmqtest.Start(rocketmqtest.Options{Topics: []string{"orders"}}))(t)
	check(t, json.NewEncoder(os.Stdout).Encode([]string{mq.Endpoint, own.Endpoint}))
	must(bufio.NewReader(os.Stdin).ReadString('\n'))(t)
	switch role {
	case "fail":
		t.Fatal("the test fails")
	case "timeout", "killed":
		select {}
	}
}

// child is a running test binary.
type child struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	fork    net.Conn // a connection to the emulator of its test
	own     net.Conn // a connection to an emulator in a process of its own, which the test does not stop
}

// startChild starts a test binary with TestOfTheChild, and lets the test end when both emulators are connected.
func startChild(t *testing.T, role string, options ...string) child {
	t.Helper()
	command := exec.Command(os.Args[0], append([]string{"-test.run=^TestOfTheChild$"}, options...)...)
	command.Env = append(os.Environ(), roleVariable+"="+role)
	started := child{command: command, stdin: must(command.StdinPipe())(t)}
	output := must(command.StdoutPipe())(t)
	check(t, command.Start())
	reader := bufio.NewReader(output)
	var endpoints []string
	check(t, json.Unmarshal(must(reader.ReadBytes('\n'))(t), &endpoints))
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	started.fork = must(net.Dial("tcp", endpoints[0]))(t)
	started.own = must(net.Dial("tcp", endpoints[1]))(t)
	must(fmt.Fprintln(started.stdin))(t)
	return started
}

// checkEnd fails the test unless an emulator closes a connection, which it does when it ends.
func checkEnd(t *testing.T, name string, connection net.Conn) {
	t.Helper()
	check(t, connection.SetReadDeadline(time.Now().Add(endTimeout)))
	if _, err := io.Copy(io.Discard, connection); err != nil {
		t.Errorf("%s has not ended: %v", name, err)
	}
}

func TestEmulatorsEndWithTheirTestAndWithTheBinary(t *testing.T) {
	for role, code := range map[string]int{"pass": 0, "fail": 1} {
		role, code := role, code
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			started := startChild(t, role)
			checkEnd(t, "the fork", started.fork)
			check(t, started.stdin.Close())
			_ = started.command.Wait()
			if found := started.command.ProcessState.ExitCode(); found != code {
				t.Errorf("the binary has ended with code %d", found)
			}
			checkEnd(t, "the process", started.own)
		})
	}
}

func TestEmulatorsEndWithABinaryThatHasTimedOut(t *testing.T) {
	t.Parallel()
	started := startChild(t, "timeout", "-test.timeout=10s")
	_ = started.command.Wait()
	if code := started.command.ProcessState.ExitCode(); code != 2 {
		t.Errorf("the binary has ended with code %d, not with a panic", code)
	}
	checkEnd(t, "the fork", started.fork)
	checkEnd(t, "the process", started.own)
}

func TestEmulatorsEndWithAKilledBinary(t *testing.T) {
	t.Parallel()
	started := startChild(t, "killed")
	check(t, started.command.Process.Signal(syscall.SIGKILL))
	_ = started.command.Wait()
	checkEnd(t, "the fork", started.fork)
	checkEnd(t, "the process", started.own)
}
