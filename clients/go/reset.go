package rocketmqtest

import "time"

// ResetOptions are the options of ResetWith. The clock that they choose lasts until the next reset; an empty field stands
// for that of the start.
type ResetOptions struct {
	// StartAt is the time after the reset. An emulator that has started from a snapshot refuses it. A fork with messages,
	// such as that of a test, refuses a time before it was made.
	StartAt time.Time
	// Time is "real", or "frozen" to let only the test move the clock.
	Time string
	// KeepConnections leaves clients connected. They find brokers without their messages and offsets.
	KeepConnections bool
}

// Reset returns the emulator to the instant after its start, or in a test to the beginning of the test, with the topics
// of Run. Connections of clients are closed.
func (r *RocketMQ) Reset() error { return r.ResetWith(ResetOptions{}) }

// ResetKeepingConnections resets as Reset does, and leaves clients connected.
func (r *RocketMQ) ResetKeepingConnections() error {
	return r.ResetWith(ResetOptions{KeepConnections: true})
}

// ResetWith resets as Reset does, with options.
func (r *RocketMQ) ResetWith(options ResetOptions) error {
	body := map[string]any{"keep_connections": options.KeepConnections}
	if !options.StartAt.IsZero() {
		body["start_at"] = options.StartAt.Format(time.RFC3339Nano)
	}
	if options.Time != "" {
		body["time"] = options.Time
	}
	if err := r.control.post("/v1/reset", body, nil); err != nil {
		return err
	}
	return r.prepare()
}
