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
	filler := command.Body
	if filler == nil {
		filler = bytes.Repeat([]byte("x"), command.Size)
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
				message.Body = append(bytes.Clone(filler), fmt.Sprintf("-%d", n)...)
				if command.KeysPrefix != "" {
					message.Keys = []string{fmt.Sprintf("%s%d", command.KeysPrefix, n)}
				}
				start := time.Now()
				if err := send(&message); err != nil {
					failed.Add(1)
					first.CompareAndSwap(nil, err.Error())
					continue
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

func percentile(sorted []time.Duration, percent int) *float64 {
	if len(sorted) == 0 {
		return nil
	}
	at := min(len(sorted)*percent/100, len(sorted)-1)
	return Ptr(float64(sorted[at].Microseconds()) / 1000)
}
