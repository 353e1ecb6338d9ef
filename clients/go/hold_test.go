package rocketmqtest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

// holderVariable makes a test binary that another test has started use a running emulator: with the value wait its test
// waits for a line, with any other value it does not.
const holderVariable = "ROCKETMQTEST_HOLDER"

// messagesOfAHolder are sent one by one, so that a reset of another process would delete some of them.
const messagesOfAHolder = 50

// TestOfAHolder runs in a test binary of its own. It says that it uses the emulator, and checks that no other test does.
func TestOfAHolder(t *testing.T) {
	role := os.Getenv(holderVariable)
	if role == "" {
		return
	}
	mq := rocketmqtest.Run(t, "orders")
	fmt.Println("holds")
	if role == "twice" {
		rocketmqtest.Run(t)
	}
	if role == "wait" || role == "lose" {
		must(bufio.NewReader(os.Stdin).ReadString('\n'))(t)
	}
	if role == "lose" {
		return
	}
	texts := []string{}
	for number := 0; number < messagesOfAHolder; number++ {
		text := fmt.Sprintf("%d of %d", number, os.Getpid())
		texts = append(texts, text)
		must(mq.Send("orders", text))(t)
	}
	mq.AssertBodies(t, "orders", texts...)
}

// waitingMax is the number of requests that may wait for the hold of one emulator.
const waitingMax = 100

// holder is a running test binary with TestOfAHolder.
type holder struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	output  *bufio.Reader
}

func startHolder(t *testing.T, mq *rocketmqtest.RocketMQ, role string, options ...string) holder {
	t.Helper()
	command := exec.Command(os.Args[0], append([]string{"-test.run=^TestOfAHolder$"}, options...)...)
	command.Env = append(os.Environ(), holderVariable+"="+role, rocketmqtest.ControlVariable+"="+mq.ControlURL)
	command.Stderr = os.Stderr
	started := holder{command: command, stdin: must(command.StdinPipe())(t)}
	started.output = bufio.NewReader(must(command.StdoutPipe())(t))
	check(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() })
	return started
}

// holds waits until the test uses the emulator.
func (h holder) holds(t *testing.T) {
	t.Helper()
	if line := must(h.output.ReadString('\n'))(t); line != "holds\n" {
		t.Fatal(line)
	}
}

// passes waits for the end of the binary, whose test must have passed.
func (h holder) passes(t *testing.T) {
	t.Helper()
	output := must(io.ReadAll(h.output))(t)
	if err := h.command.Wait(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
}

func TestTestsOfTwoProcessesNeverUseTheEmulatorAtTheSameTime(t *testing.T) {
	t.Parallel()
	mq := must(rocketmqtest.Run(t).Fork())(t)
	first, second := startHolder(t, mq, "run"), startHolder(t, mq, "run")
	first.passes(t)
	second.passes(t)
}

// fails waits for the end of the binary, whose test must have failed, and returns its output.
func (h holder) fails(t *testing.T) string {
	t.Helper()
	output := must(io.ReadAll(h.output))(t)
	if err := h.command.Wait(); err == nil || h.command.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, output)
	}
	return string(output)
}

func checkContains(t *testing.T, output string, wanted ...string) {
	t.Helper()
	for _, each := range wanted {
		if !strings.Contains(output, each) {
			t.Errorf("%q is not in %s", each, output)
		}
	}
}

func TestTestWhoseEmulatorStopsFails(t *testing.T) {
	t.Parallel()
	mq := must(rocketmqtest.Run(t).Fork())(t)
	losing := startHolder(t, mq, "lose")
	losing.holds(t)
	check(t, mq.Stop())
	must(fmt.Fprintln(losing.stdin))(t)
	checkContains(t, losing.fails(t), "rocketmqtest: "+mq.ControlURL+": the hold of ",
		"TestOfAHolder (pid ", rocketmqtest.ErrHoldLost.Error())
}

func TestWaitThatEndsWithTheBinaryNamesTheHolder(t *testing.T) {
	t.Parallel()
	mq := must(rocketmqtest.Run(t).Fork())(t)
	release := must(mq.Hold("OrderTest.pays (pid 4711)", 0))(t)
	checkContains(t, startHolder(t, mq, "run", "-test.timeout=3s").fails(t), rocketmqtest.ControlVariable+"="+mq.ControlURL+
		": OrderTest.pays (pid 4711) has held the emulator for ", "; this test has waited ", ": go test -p 1 runs packages ")
	check(t, release())
}

func TestSecondUseOfASidecarByATestBinaryIsRefused(t *testing.T) {
	t.Parallel()
	mq := must(rocketmqtest.Run(t).Fork())(t)
	checkContains(t, startHolder(t, mq, "twice").fails(t), "rocketmqtest: TestOfAHolder uses the emulator of "+
		rocketmqtest.ControlVariable+", which is reset for each test; call Run once in a test, and without t.Parallel, ")
}

func TestTooManyWaitingTestsAreRefused(t *testing.T) {
	t.Parallel()
	mq := must(rocketmqtest.Run(t).Fork())(t)
	release := must(mq.Hold("the first", 0))(t)
	refused := make(chan error)
	for number := 0; number <= waitingMax; number++ {
		go func() {
			next, err := mq.Hold("one of many", time.Minute)
			if err == nil {
				err = next()
			}
			refused <- err
		}()
	}
	checkContains(t, (<-refused).Error(), "100 tests wait for the hold of this emulator, which is the most; run fewer ")
	check(t, release())
	for number := 0; number < waitingMax; number++ {
		check(t, <-refused)
	}
}

func TestTestOfAnotherProcessIsNamedUntilItEnds(t *testing.T) {
	t.Parallel()
	mq := must(rocketmqtest.Run(t).Fork())(t)
	other := startHolder(t, mq, "wait")
	other.holds(t)
	_, err := mq.Hold("the second", 0)
	var refused *rocketmqtest.Error
	if !errors.As(err, &refused) || refused.Status != 409 || !strings.HasSuffix(refused.Kind, ":emulator-held") {
		t.Fatal(err)
	}
	named := fmt.Sprintf("TestOfAHolder (pid %d) has held the emulator for ", other.command.Process.Pid)
	if !strings.Contains(refused.Detail, named) {
		t.Errorf("%q is not in %s", named, refused.Detail)
	}
	must(fmt.Fprintln(other.stdin))(t)
	release := must(mq.Hold("the second", time.Minute))(t)
	other.passes(t)
	check(t, release())
	release = must(mq.Hold("the third", time.Minute))(t)
	check(t, release())
	check(t, release()) // has no effect
}

func TestKilledProcessHoldsTheEmulatorNoLonger(t *testing.T) {
	t.Parallel()
	mq := must(rocketmqtest.Run(t).Fork())(t)
	killed := startHolder(t, mq, "wait")
	killed.holds(t)
	check(t, killed.command.Process.Kill())
	_ = killed.command.Wait()
	next := startHolder(t, mq, "run")
	next.holds(t)
	next.passes(t)
}
