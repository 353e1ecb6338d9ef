package rocketmqtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// silenceBeforeCheck is the time without a response after which another request checks that the emulator responds at all,
// and the limit of that request. A request may take longer: a jump waits for clients.
const silenceBeforeCheck = 30 * time.Second

// checkPath is the path of that request, which takes no time.
const checkPath = "/healthz"

// ifPaused says what to do about an emulator that does not respond.
const ifPaused = "check that the emulator's process is not paused, and start it again if it does not respond"

// open sends a request as send does, and returns the response, which need not end before the context. As long as nothing
// arrives, other requests check that the emulator responds. If it does not, the request ends with an error.
func (c *control) open(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	found := &watched{control: c, request: method + " " + path, ctx: ctx, cancel: cancel, read: time.Now()}
	found.next(c.silence)
	response, err := c.send(ctx, method, path, body)
	if err != nil {
		return nil, found.end(err)
	}
	found.response = response
	return found, nil
}

// watched is a response whose emulator is checked while nothing arrives.
type watched struct {
	control  *control
	request  string
	response io.ReadCloser
	ctx      context.Context
	cancel   context.CancelFunc

	mutex  sync.Mutex
	read   time.Time // when bytes arrived last, or the begin
	timer  *time.Timer
	silent error // the error about an emulator that does not respond
}

// next lets the next check follow after a time, unless the response has ended.
func (w *watched) next(after time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.ctx.Err() == nil {
		w.timer = time.AfterFunc(after, w.check)
	}
}

// check ends the response if the emulator is silent. Otherwise it lets another check follow.
func (w *watched) check() {
	w.mutex.Lock()
	left := w.control.silence - time.Since(w.read)
	w.mutex.Unlock()
	if left <= 0 {
		if !w.control.responds(w.ctx) {
			w.endIfSilent()
		}
		left = w.control.silence
	}
	w.next(left)
}

// endIfSilent ends the response with an error, unless bytes have arrived during the check.
func (w *watched) endIfSilent() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if quiet := time.Since(w.read); w.ctx.Err() == nil && quiet >= w.control.silence {
		w.silent = fmt.Errorf("%s: the control port has responded neither to %s for %s nor to GET %s for %s; %s", w.control.base,
			w.request, quiet.Round(time.Millisecond), checkPath, w.control.silence, ifPaused)
		w.cancel()
	}
}

// responds returns true if the emulator responds in time to a request that takes no time.
func (c *control) responds(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, c.silence)
	defer cancel()
	response, err := c.send(ctx, "GET", checkPath, nil)
	if err == nil {
		_ = response.Close()
	}
	var refused *Error
	return err == nil || errors.As(err, &refused)
}

// end ends the checks, and returns the error about a silent emulator in place of another one.
func (w *watched) end(err error) error {
	w.cancel()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.silent != nil {
		return w.silent
	}
	return err
}

// Read implements io.Reader.
func (w *watched) Read(into []byte) (int, error) {
	count, err := w.response.Read(into)
	if err != nil {
		if err != io.EOF {
			err = w.control.unreachable(err)
		}
		return count, w.end(err)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.read = time.Now()
	return count, nil
}

// Close implements io.Closer.
func (w *watched) Close() error {
	_ = w.end(nil)
	return w.response.Close()
}
