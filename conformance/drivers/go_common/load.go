package line

import (
	"bytes"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// SendMany sends command.Count messages from command.Threads goroutines and returns rate and latencies.
func SendMany(command *Command, send func(*Outgoing) error) (Reply, error) {
	if command.Count <= 0 {
		return nil, Bad("count must be positive")
	}
	size := command.Size
	if size == 0 {
		size = 1024
	}
	threads := max(command.Threads, 1)
	times := make([][]time.Duration, threads)
	var next, failed atomic.Int64
	var first atomic.Value
	var group sync.WaitGroup
	begin := time.Now()
	for thread := range threads {
		group.Add(1)
		go func() {
			defer group.Done()
			for n := next.Add(1) - 1; n < int64(command.Count); n = next.Add(1) - 1 {
				message := command.Outgoing
				message.Body = numbered(command.Body, size, n)
				if command.KeysPrefix != "" {
					message.Keys = []string{fmt.Sprintf("%s%d", command.KeysPrefix, n)}
				}
				start := time.Now()
				if err := send(&message); err != nil {
					failed.Add(1)
					first.CompareAndSwap(nil, err.Error())
				}
				times[thread] = append(times[thread], time.Since(start))
			}
		}()
	}
	group.Wait()
	elapsed := time.Since(begin)
	var all []time.Duration
	for _, some := range times {
		all = append(all, some...)
	}
	sort.Slice(all, func(a, b int) bool { return all[a] < all[b] })
	return Reply{
		"count": len(all), "errors": failed.Load(), "first_error": first.Load(),
		"per_second": float64(len(all)) / elapsed.Seconds(),
		"p50_ms":     percentile(all, 50), "p99_ms": percentile(all, 99),
	}, nil
}

// numbered is the stem, or so much filler that the whole has size bytes, and "-n".
func numbered(stem []byte, size int, n int64) []byte {
	end := fmt.Sprintf("-%d", n)
	if stem == nil {
		stem = bytes.Repeat([]byte("x"), max(size-len(end), 0))
	}
	return append(bytes.Clone(stem), end...)
}

// Drain receives and acknowledges from command.Threads goroutines until command.Count messages are done or one receive
// finds nothing. take does both for up to max messages and returns how many it got and how many it failed to
// acknowledge.
func Drain(command *Command, take func(max int32) (got, failed int, err error)) (Reply, error) {
	if command.Count <= 0 {
		return nil, Bad("count must be positive")
	}
	var done, errors atomic.Int64
	var first atomic.Value
	var group sync.WaitGroup
	begin := time.Now()
	for range max(command.Threads, 1) {
		group.Add(1)
		go func() {
			defer group.Done()
			for done.Load() < int64(command.Count) {
				got, failed, err := take(Or(command.Max, 32))
				errors.Add(int64(failed))
				done.Add(int64(got - failed))
				if err != nil {
					errors.Add(1)
					first.CompareAndSwap(nil, err.Error())
				}
				if got == 0 {
					return
				}
			}
		}()
	}
	group.Wait()
	return Reply{
		"count": done.Load(), "errors": errors.Load(), "first_error": first.Load(),
		"per_second": float64(done.Load()) / time.Since(begin).Seconds(),
	}, nil
}

func percentile(sorted []time.Duration, percent int) *float64 {
	if len(sorted) == 0 {
		return nil
	}
	at := min(len(sorted)*percent/100, len(sorted)-1)
	return Ptr(float64(sorted[at].Microseconds()) / 1000)
}
