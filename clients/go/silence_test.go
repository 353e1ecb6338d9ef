package rocketmqtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// startPausable starts an emulator in a process of its own, whose silence the requests notice after a time.
func startPausable(t *testing.T, silence time.Duration) (*RocketMQ, *process) {
	t.Helper()
	started, err := startProcess("", nil)
	if err != nil {
		t.Fatal(err)
	}
	mq := connected(started.ready, "", started.stop)
	mq.control.silence = silence
	t.Cleanup(func() { _ = started.command.Process.Kill() })
	return mq, started
}

func signalTo(t *testing.T, started *process, signal syscall.Signal) {
	t.Helper()
	if err := started.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// checkSilent fails the test unless an error is about an emulator that responds to no request.
func checkSilent(t *testing.T, request string, err error) {
	t.Helper()
	expected := regexp.MustCompile(`^http://127.0.0.1:\d+: the control port has responded neither to ` + request +
		` for [\d.]+m?s nor to GET /healthz for 100ms; check that the emulator's process is not paused, and start it again ` +
		`if it does not respond$`)
	if err == nil || !expected.MatchString(err.Error()) {
		t.Errorf("%s: %v", request, err)
	}
}

func TestRequestsOfAPausedEmulatorEnd(t *testing.T) {
	t.Parallel()
	mq, started := startPausable(t, 100*time.Millisecond)
	signalTo(t, started, syscall.SIGSTOP)
	for request, send := range map[string]func() error{
		"GET /v1/clock":            func() error { _, err := mq.Clock.Now(); return err },
		"POST /v1/reset":           mq.Reset,
		"POST /v1/clock/advance":   func() error { return mq.Clock.Advance(24 * time.Hour) },
		"PATCH /v1/config":         func() error { return mq.Brokers.Configure(map[string]any{"popPollingSize": 5}) },
		"DELETE /v1/faults":        mq.Faults.Clear,
		"GET /metrics":             func() error { _, err := mq.Metrics(); return err },
		"GET /v1/snapshot":         func() error { return mq.Snapshots.Save(io.Discard) },
		"GET /v1/journal/follow":   func() error { return mq.Journal.Follow(context.Background(), Lines{}, nil) },
		"POST /v1/forks":           func() error { _, err := mq.Fork(); return err },
		"POST /v1/assertions/sent": func() error { return mq.Request(http.MethodPost, "/v1/assertions/sent", map[string]any{}, nil) },
	} {
		checkSilent(t, request, send())
	}
	_, err := mq.control.ready(100 * time.Millisecond)
	if err == nil || err.Error() != mq.ControlURL+": the control port has not responded to GET /readyz within 100ms; "+ifPaused {
		t.Error(err)
	}
	signalTo(t, started, syscall.SIGCONT)
	mq.control.silence = time.Minute
	if _, err := mq.Topics(false); err != nil {
		t.Error(err)
	}
}

func TestStreamOfAPausedEmulatorEnds(t *testing.T) {
	t.Parallel()
	mq, started := startPausable(t, time.Minute)
	if err := mq.CreateTopic("orders", "NORMAL", 1); err != nil {
		t.Fatal(err)
	}
	if _, err := mq.Send("orders", "two teas"); err != nil {
		t.Fatal(err)
	}
	mq.control.silence = 100 * time.Millisecond
	wanted := Lines{Topic: "orders", Operation: "SendMessage"}
	err := mq.Journal.Follow(context.Background(), wanted, func(JournalEvent) error {
		return started.command.Process.Signal(syscall.SIGSTOP)
	})
	checkSilent(t, "GET /v1/journal/follow.*", err)
}

// hangingServer returns a control port that hangs after some checks with a response, and the time of the only line of its
// stream: half a silence after the last of these checks, or after the first one, began.
func hangingServer(t *testing.T, healthy int, silence time.Duration) (*RocketMQ, <-chan time.Time) {
	t.Helper()
	checks, line := make(chan int, 100), make(chan time.Time, 1)
	var served atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path == checkPath {
			number := int(served.Add(1))
			checks <- number
			if number > healthy {
				<-request.Context().Done()
			}
			return
		}
		_ = http.NewResponseController(response).Flush()
		for number := 0; number < max(1, healthy); {
			number = <-checks
		}
		time.Sleep(silence / 2)
		line <- time.Now()
		_, _ = io.WriteString(response, "data: {}\n")
		_ = http.NewResponseController(response).Flush()
		<-request.Context().Done()
	}))
	t.Cleanup(server.Close)
	mq := connected(addresses{Control: server.URL}, "", nil)
	mq.control.silence = silence
	return mq, line
}

// checkSilentAfterLine fails the test unless a stream ends because nothing has arrived since its line.
func checkSilentAfterLine(t *testing.T, healthy int) {
	t.Helper()
	mq, line := hangingServer(t, healthy, 200*time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := mq.Journal.Follow(ctx, Lines{}, func(JournalEvent) error { return nil })
	found := regexp.MustCompile(`: the control port has responded neither to GET /v1/journal/follow for (\S+) nor to `).
		FindStringSubmatch(fmt.Sprint(err))
	if found == nil {
		t.Fatal(err)
	}
	named, _ := time.ParseDuration(found[1])
	if most := time.Since(<-line) + time.Millisecond; named <= 0 || named > most {
		t.Errorf("%s; the line came %s before", err, most)
	}
}

func TestStreamThatHangsAfterALineNamesTheTimeSinceThen(t *testing.T) {
	t.Parallel()
	checkSilentAfterLine(t, 2)
}

func TestStreamThatHangsAfterALineDuringACheckEnds(t *testing.T) {
	t.Parallel()
	checkSilentAfterLine(t, 0)
}

func TestRequestThatTakesLongIsNotCut(t *testing.T) {
	t.Parallel()
	mq, _ := startPausable(t, time.Second)
	err := mq.WaitForProducer("nobody", 2500*time.Millisecond)
	var refused *Error
	if !errors.As(err, &refused) || refused.Status != http.StatusGatewayTimeout {
		t.Error(err)
	}
}

func TestStreamThatIsSilentForLongIsNotCut(t *testing.T) {
	t.Parallel()
	mq, _ := startPausable(t, time.Minute)
	if err := mq.CreateTopic("orders", "NORMAL", 1); err != nil {
		t.Fatal(err)
	}
	mq.control.silence = time.Second
	go func() {
		_ = mq.WaitForProducer("nobody", 2500*time.Millisecond)
		_, _ = mq.Send("orders", "two teas")
	}()
	wanted := Lines{Topic: "orders", Operation: "SendMessage"}
	if err := mq.Journal.Follow(context.Background(), wanted, func(JournalEvent) error { return ErrStop }); err != nil {
		t.Error(err)
	}
}

func TestFollowingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	mq, _ := startPausable(t, time.Minute)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := mq.Journal.Follow(ctx, Lines{}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPausedEmulatorIsKilledAtItsEnd(t *testing.T) {
	t.Parallel()
	_, started := startPausable(t, time.Minute)
	signalTo(t, started, syscall.SIGSTOP)
	err := started.stopWithin(100 * time.Millisecond)
	if err == nil || !strings.HasPrefix(err.Error(), "rocketmq-emulator: has not stopped within 100ms, and was killed; ") {
		t.Error(err)
	}
}
