package rocketmqtest

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// shared is the emulator of this test binary. Its process ends with the binary.
var shared struct {
	once     sync.Once
	emulator *RocketMQ
	err      error
}

// serial is the fork of it that RunWithReset resets for each test. The test that is user sets it.
var serial *RocketMQ

// user is the name of the test that uses an emulator that is reset for each test: serial, or that of ControlVariable.
var user atomic.Pointer[string]

// Run returns an emulator for one test, with these topics: NAME, NAME:TYPE or NAME:TYPE:QUEUES. It ends with the test.
//
// If the test fails, its log has the histories of at most five messages that a group has not acknowledged, and the
// number of further ones.
func Run(t testing.TB, topics ...string) *RocketMQ {
	t.Helper()
	return run(t, ownFork, topics)
}

// RunWithReset returns an emulator as Run does, for tests that run one after another: all of them use the same emulator,
// with the same ports, which is reset for each test. A test that starts while another one uses it fails.
func RunWithReset(t testing.TB, topics ...string) *RocketMQ {
	t.Helper()
	return run(t, serialFork, topics)
}

func run(t testing.TB, local func(testing.TB) (*RocketMQ, error), topics []string) *RocketMQ {
	t.Helper()
	mq, err := forTest(t, local)
	if err == nil {
		err = mq.prepareBy(func() error { return mq.createTopics(topics) })
	}
	if err != nil {
		t.Fatalf("rocketmqtest: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			mq.logHistories(t)
		}
	})
	return mq
}

// forTest returns the emulator of ControlVariable, or a local one.
func forTest(t testing.TB, local func(testing.TB) (*RocketMQ, error)) (*RocketMQ, error) {
	if url := os.Getenv(ControlVariable); url != "" {
		return hold(t, errHeldSidecar, func() (*RocketMQ, error) {
			mq, err := Connect(url)
			if err != nil {
				return nil, err
			}
			return mq, mq.holdForTest(t)
		})
	}
	shared.once.Do(func() { shared.emulator, shared.err = Start(Options{}) })
	if shared.err != nil {
		return nil, shared.err
	}
	return local(t)
}

// ownFork returns a fork for one test.
func ownFork(t testing.TB) (*RocketMQ, error) {
	fork, err := shared.emulator.Fork()
	if err == nil {
		t.Cleanup(func() {
			if err := fork.Stop(); err != nil {
				t.Errorf("rocketmqtest: the emulator does not stop: %v", err)
			}
		})
	}
	return fork, err
}

// serialFork returns the fork that is reset for each test.
func serialFork(t testing.TB) (*RocketMQ, error) {
	return hold(t, errHeld, func() (*RocketMQ, error) {
		if serial == nil {
			fork, err := shared.emulator.Fork()
			if err != nil {
				return nil, err
			}
			serial = fork
		}
		// Another object without the topics of the test before.
		return connected(serial.addresses(), serial.control.token, func() error { return nil }), nil
	})
}

// errHeldSidecar is the error of a test that starts while a test of this binary uses the emulator of ControlVariable.
func errHeldSidecar(user string) error {
	return fmt.Errorf("%s uses the emulator of %s, which is reset for each test; call Run once in a test, and without "+
		"t.Parallel, or unset the variable, so that each call gets a fork", user, ControlVariable)
}

// errHeld is the error of a test that starts while another one uses the emulator of RunWithReset.
func errHeld(user string) error {
	return fmt.Errorf("%s uses the emulator of RunWithReset, which is reset for each test; call it once in a test, and "+
		"without t.Parallel, or call Run, so that each call gets a fork", user)
}

// hold returns an emulator that tests share, as it was after its start, for one test.
func hold(t testing.TB, refusal func(string) error, emulator func() (*RocketMQ, error)) (*RocketMQ, error) {
	name := t.Name()
	if !user.CompareAndSwap(nil, &name) {
		other := "another test"
		if found := user.Load(); found != nil {
			other = *found
		}
		return nil, refusal(other)
	}
	t.Cleanup(func() { user.Store(nil) })
	mq, err := emulator()
	if err != nil {
		return nil, err
	}
	return mq, mq.Reset()
}

// ForkOptions are the ports of a fork, 0 for any free one, and the addresses that its routes name.
type ForkOptions struct {
	NameServerPort int      `json:"namesrv_port"`
	BrokerPort     int      `json:"broker_port"`
	GRPCPort       int      `json:"grpc_port"`
	ControlPort    int      `json:"control_port"`
	Advertise      []string `json:"advertise,omitempty"` // such as 192.0.2.1, as of the option --advertise
}

// Fork returns another emulator with the state of this one: its messages, offsets, clock and rules. It has ports of its
// own and runs in the same process. It ends with Stop, or with its parent.
func (r *RocketMQ) Fork() (*RocketMQ, error) { return r.ForkWith(ForkOptions{}) }

// ForkWith returns another emulator as Fork does, with options.
func (r *RocketMQ) ForkWith(options ForkOptions) (*RocketMQ, error) {
	var found struct {
		ID string `json:"id"`
		addresses
	}
	if err := r.control.post("/v1/forks", options, &found); err != nil {
		return nil, err
	}
	stop := func() error { return r.control.call("DELETE", "/v1/forks/"+segment(found.ID), nil, nil) }
	return connected(found.addresses, r.control.token, stop), nil
}

// Forks returns the running forks of this emulator, oldest first.
func (r *RocketMQ) Forks() ([]ForkInfo, error) {
	var found struct {
		Forks []ForkInfo `json:"forks"`
	}
	err := r.control.get("/v1/forks", nil, &found)
	return found.Forks, err
}
