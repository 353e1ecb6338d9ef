package rocketmqtest

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestHoldNamesPackageTestAndProcess(t *testing.T) {
	if name := holdName("shop.test.exe", "TestOrder/paid", 4711); name != "shop.TestOrder/paid (pid 4711)" {
		t.Error(name)
	}
	name := holdName("shop.test", strings.Repeat("ä", 300), 4711)
	if len([]rune(name)) != holdNameMax || !strings.HasSuffix(name, "ä (pid 4711)") {
		t.Error(name)
	}
}

func TestEmulatorWithoutHoldsIsToBeUpdated(t *testing.T) {
	old := httptest.NewServer(http.NotFoundHandler())
	defer old.Close()
	_, err := connected(addresses{Control: old.URL}, "", nil).Hold("a test", 0)
	if err != errNoHold {
		t.Error(err)
	}
}

// limitedTest is a test whose binary has a deadline.
type limitedTest struct {
	testing.TB
	left time.Duration
}

func (l limitedTest) Deadline() (time.Time, bool) { return time.Now().Add(l.left), l.left != 0 }

func TestWaitEndsBeforeTheDeadlineOfTheBinary(t *testing.T) {
	for left, longest := range map[time.Duration]time.Duration{
		0: holdTimeout, time.Hour: holdTimeout, 30 * time.Second: 28 * time.Second, time.Second: 0,
	} {
		if wait := holdWait(limitedTest{t, left}); wait > longest || wait < longest-time.Second {
			t.Error(left, wait)
		}
	}
}

func TestEmulatorThatDoesNotRespondIsNotWaitedFor(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	mq := connected(addresses{Control: "http://" + silent.Addr().String()}, "", nil)
	_, err = mq.hold("a test", time.Millisecond, 50*time.Millisecond, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "has not responded to a request for its hold, which waits 1ms at most") {
		t.Error(err)
	}
	if _, err = mq.control.ready(50 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "does not respond") {
		t.Error(err)
	}
}

func TestHoldOfASilentEmulatorIsLost(t *testing.T) {
	closed := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		_, _ = writer.Write([]byte("{}\n"))
		if request.URL.Path == "/readyz" {
			return
		}
		writer.(http.Flusher).Flush()
		<-request.Context().Done()
		close(closed)
	}))
	defer silent.Close()
	release, err := connected(addresses{Control: silent.URL}, "", nil).hold("a test", 0, time.Minute, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	<-closed
	if err := release(); !errors.Is(err, ErrHoldLost) {
		t.Error(err)
	}
}
