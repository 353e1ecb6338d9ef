package rocketmqtest

import (
	"strconv"
	"time"
)

// Clock is the clock of an emulator. It runs with real time, and a test can move it forward.
//
// A jump waits for connected clients: messages that become due on the way are delivered, and clients finish their
// responses before the clock moves on.
type Clock struct {
	control *control
	wait    time.Duration
}

// WaitingAtMost returns this clock with another longest wait for one response of a client, in real time. The
// default is ten seconds.
func (c Clock) WaitingAtMost(wait time.Duration) Clock { return Clock{c.control, wait} }

// jump returns the fields of a jump.
func (c Clock) jump(fields map[string]any) map[string]any {
	if c.wait != 0 {
		fields["wait"] = duration(c.wait)
	}
	return fields
}

// Now returns the emulator's time.
func (c Clock) Now() (time.Time, error) {
	found, err := c.read()
	return time.UnixMilli(found.Milliseconds), err
}

// IsFrozen is true if the clock moves only by jumps.
func (c Clock) IsFrozen() (bool, error) {
	found, err := c.read()
	return found.Frozen, err
}

type clockState struct {
	Milliseconds int64 `json:"now_ms"`
	Frozen       bool  `json:"frozen"`
}

func (c Clock) read() (found clockState, err error) {
	return found, c.control.get("/v1/clock", nil, &found)
}

// Scheduled returns the scheduled events, such as redeliveries, the earliest first, at most this many.
func (c Clock) Scheduled(limit int) ([]ScheduledEvent, error) {
	var found struct {
		Scheduled []ScheduledEvent `json:"scheduled"`
	}
	err := c.control.get("/v1/clock/scheduled", query("limit", strconv.Itoa(limit)), &found)
	return found.Scheduled, err
}

// Advance moves the clock forward.
func (c Clock) Advance(by time.Duration) error {
	return c.control.post("/v1/clock/advance", c.jump(map[string]any{"by": duration(by)}), nil)
}

// AdvanceToNext moves the clock to the next scheduled event, such as a redelivery.
func (c Clock) AdvanceToNext() error {
	return c.control.post("/v1/clock/advance_to_next", c.jump(map[string]any{}), nil)
}

// Until is a condition of AdvanceUntil. A field with its zero value is no condition. Messages that wait for their retry
// delay are not in the lag.
type Until struct {
	Topic        string        // the topic of Messages
	Messages     int           // the topic holds at least this many messages
	Group        string        // the group of the fields below
	NoLag        bool          // the group has no lag: no messages left to finish
	Acknowledged int           // at least this many messages of its topics are not in its lag
	Members      int           // at least this many consumers of the group are connected
	DeadLetters  int           // the dead letter queue of the group holds at least this many messages
	Limit        time.Duration // how far the clock may jump in all; 0 is a day
}

// AdvanceUntil moves the clock from event to event until a condition is true. It returns an error that names the clients
// that it waited for if the condition cannot become true within the limit.
func (c Clock) AdvanceUntil(condition Until) error {
	body := map[string]any{}
	set := func(name string, value any, isSet bool) {
		if isSet {
			body[name] = value
		}
	}
	set("topic", condition.Topic, condition.Topic != "")
	set("messages", condition.Messages, condition.Messages != 0)
	set("group", condition.Group, condition.Group != "")
	set("lag", 0, condition.NoLag)
	set("acknowledged", condition.Acknowledged, condition.Acknowledged != 0)
	set("members", condition.Members, condition.Members != 0)
	set("dead_letters", condition.DeadLetters, condition.DeadLetters != 0)
	set("limit", duration(condition.Limit), condition.Limit != 0)
	return c.control.post("/v1/clock/advance_until", c.jump(body), nil)
}

// AdvanceUntilTrue moves the clock from event to event until a function returns true. The function may look at the
// application under test. Before each jump the emulator waits for clients, at most ten seconds for one response. It
// returns an error if the condition cannot become true within the limit; the error names the clients that it waited for.
func (c Clock) AdvanceUntilTrue(condition func() bool, limit time.Duration) error {
	var search struct {
		ID string `json:"id"`
	}
	if err := c.control.post("/v1/clock/searches", c.jump(map[string]any{"limit": duration(limit)}), &search); err != nil {
		return err
	}
	for !condition() {
		if err := c.control.post("/v1/clock/searches/"+segment(search.ID)+"/step", nil, nil); err != nil {
			return err
		}
	}
	return nil
}
