package rocketmqtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// holdTimeout is how long a test waits for an emulator that a test of another process holds.
const holdTimeout = time.Minute

// holdNameMax is the number of characters that the control port allows in the name of a hold.
const holdNameMax = 200

// answerTimeout is how much longer than its wait a request for a hold may take.
const answerTimeout = 10 * time.Second

// silenceTimeout is the longest time without a line in the response of a hold. The emulator sends one every 15 s.
const silenceTimeout = 2 * time.Minute

// holdMargin is the time before the deadline of the test binary at which a wait ends, so that the test can say why.
const holdMargin = 2 * time.Second

// ErrHoldLost is the error of a hold whose connection was lost before its end, because the emulator stopped or the
// connection was cut. Another test may have reset the emulator meanwhile.
var ErrHoldLost = errors.New("was lost before its end, because the emulator stopped or the connection was cut; another " +
	"test may have reset the emulator meanwhile; check that the emulator runs until all tests have ended, and run the " +
	"test again")

// Hold waits until no other test holds the emulator, and holds it until the function that it returns is called, or until
// this process ends. The function returns ErrHoldLost if the hold was lost before. Tests of other processes that reset the
// emulator, those of the helpers for Java and Node too, wait meanwhile. Later refusals show the name of the test. A hold
// excludes other holds only: Reset neither needs nor ends one.
func (r *RocketMQ) Hold(name string, timeout time.Duration) (func() error, error) {
	return r.hold(name, timeout, answerTimeout, silenceTimeout)
}

func (r *RocketMQ) hold(name string, timeout, answer, silence time.Duration) (func() error, error) {
	// The response ends with the context, and the hold with the response.
	ctx, cancel := context.WithCancel(context.Background())
	late := time.AfterFunc(timeout+answer, cancel)
	body := map[string]string{"name": name, "timeout": duration(timeout)}
	response, err := r.control.send(ctx, "POST", "/v1/hold", body)
	if !late.Stop() {
		if err == nil {
			_ = response.Close()
		}
		return nil, fmt.Errorf("%s: the control port has not responded to a request for its hold, which waits %s at most; %s",
			r.ControlURL, timeout, ifPaused)
	}
	if err != nil {
		cancel()
		if IsNotFound(err) {
			err = errNoHold
		}
		return nil, err
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		quiet := time.AfterFunc(silence, cancel)
		defer quiet.Stop()
		for line := make([]byte, 1024); ; quiet.Reset(silence) {
			if _, err := response.Read(line); err != nil {
				return
			}
		}
	}()
	var once sync.Once
	return func() (lost error) {
		once.Do(func() {
			// An emulator that has ended just now may not have been noticed by the reader yet.
			_, gone := r.control.ready(connectTimeout)
			select {
			case <-over:
				gone = ErrHoldLost
			case <-ctx.Done(): // after a silence; the reader has not noticed it yet
				gone = ErrHoldLost
			default:
			}
			if gone != nil {
				lost = fmt.Errorf("%s: the hold of %s %w", r.ControlURL, name, ErrHoldLost)
			}
			cancel()
			<-over
			_ = response.Close()
		})
		return lost
	}, nil
}

// errNoHold is the error of Hold if the emulator has no such request.
var errNoHold = errors.New("the emulator is older than this module, and cannot be held by one test at a time; update the " +
	"emulator to the version of the module")

// holdForTest holds the emulator that test processes share until a test ends.
func (r *RocketMQ) holdForTest(t testing.TB) error {
	wait := holdWait(t)
	release, err := r.Hold(holdName(filepath.Base(os.Args[0]), t.Name(), os.Getpid()), wait)
	var refused *Error
	if errors.As(err, &refused) && refused.Status == http.StatusConflict {
		return fmt.Errorf("%s=%s: %w; this test has waited %s: go test -p 1 runs packages one after another",
			ControlVariable, r.ControlURL, err, wait)
	}
	if err == nil {
		t.Cleanup(func() {
			if err := release(); err != nil {
				t.Errorf("rocketmqtest: %v", err)
			}
		})
	}
	return err
}

// holdWait returns how long a test waits for the hold: at most until shortly before the deadline of its binary.
func holdWait(t testing.TB) time.Duration {
	if limited, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := limited.Deadline(); ok {
			return max(0, min(holdTimeout, (time.Until(deadline)-holdMargin).Truncate(time.Millisecond)))
		}
	}
	return holdTimeout
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
