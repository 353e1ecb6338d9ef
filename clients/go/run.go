package rocketmqtest

import (
	"errors"
	"os"
	"sync"
	"testing"
)

// shared is the emulator of this test binary. Its process ends with the binary.
var shared struct {
	once     sync.Once
	emulator *RocketMQ
	err      error
}

// held is locked while a test uses the emulator of ControlVariable, which all tests share.
var held sync.Mutex

// Run returns an emulator for one test, with these topics: NAME, NAME:TYPE or NAME:TYPE:QUEUES. It ends with the test.
//
// If the test fails, its log has the history of each message that a group has not acknowledged.
func Run(t testing.TB, topics ...string) *RocketMQ {
	t.Helper()
	mq, err := forTest(t)
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

func forTest(t testing.TB) (*RocketMQ, error) {
	if url := os.Getenv(ControlVariable); url != "" {
		return sidecar(t, url)
	}
	shared.once.Do(func() { shared.emulator, shared.err = Start(Options{}) })
	if shared.err != nil {
		return nil, shared.err
	}
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

// errHeld is the error of a test that starts while another one uses the shared emulator.
var errHeld = errors.New("another test holds the emulator of " + ControlVariable + ", which is reset for each test; " +
	"call Run in tests without t.Parallel, or unset the variable, so that each test gets a fork")

// sidecar returns the emulator that all tests share, as it was after its start.
func sidecar(t testing.TB, url string) (*RocketMQ, error) {
	if !held.TryLock() {
		return nil, errHeld
	}
	t.Cleanup(held.Unlock)
	mq, err := Connect(url)
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
