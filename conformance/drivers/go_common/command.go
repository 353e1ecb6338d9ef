// Package line speaks the driver protocol (PROTOCOL.md beside this folder): JSON commands on standard input, replies
// and events on standard output. It knows no SDK; a driver hands it one handler per verb.
package line

import (
	"encoding/json"
	"fmt"
)

// Command is one line of input. Fields that a verb does not use are left at their zero value; a body that was given as
// the empty string is empty and not nil.
type Command struct {
	I  *int64 `json:"i"`
	Do string `json:"do"`
	As string `json:"as"`
	On string `json:"on"`
	Bg bool   `json:"bg"`

	Outgoing
	Messages []Outgoing `json:"messages"`

	Check     *Answers          `json:"check"`
	Outcome   string            `json:"outcome"`
	Handle    string            `json:"handle"`
	Topics    []string          `json:"topics"`
	Sub       map[string]Filter `json:"sub"`
	AwaitMs   *int64            `json:"await_ms"`
	Max       *int32            `json:"max"`
	Ms        *int64            `json:"ms"`
	H         Handles           `json:"h"`
	TimeoutMs *int64            `json:"timeout_ms"`

	InvisibleMs *int64 `json:"invisible_ms"`

	Count      int    `json:"count"`
	Size       int    `json:"size"`
	Threads    int    `json:"threads"`
	KeysPrefix string `json:"keys_prefix"`

	Mode         string           `json:"mode"`
	From         string           `json:"from"`
	Fail         map[string]int   `json:"fail"`
	Throw        map[string]int   `json:"throw"`
	Suspend      map[string]int   `json:"suspend"`
	SuspendMs    *int64           `json:"suspend_ms"`
	HangMs       map[string]int64 `json:"hang_ms"`
	Begin        bool             `json:"begin"`
	MaxReconsume *int32           `json:"max_reconsume"`
	Allocate     string           `json:"allocate"`
	Answer       *string          `json:"answer"`
	Quiet        bool             `json:"quiet"`
	Batch        *int32           `json:"batch"`
	Offset       *int64           `json:"offset"`
	Queues       *int             `json:"queues"`
	Broker       string           `json:"broker"`
	Namespace    string           `json:"namespace"`
	Trace        string           `json:"trace"`
}

// Outgoing is a message to send. Group is also the consumer or producer group of the verbs that make a client.
type Outgoing struct {
	Topic      string            `json:"topic"`
	Body       []byte            `json:"body"`
	Tag        string            `json:"tag"`
	Keys       []string          `json:"keys"`
	Props      map[string]string `json:"props"`
	Group      string            `json:"group"`
	DeliverAt  *int64            `json:"deliver_at"`
	DelayLevel *int              `json:"delay_level"`
	Queue      *int              `json:"queue"`
}

// Filter is the expression of one subscription; an absent expression means every message, an absent type TAG.
type Filter struct {
	Expr string `json:"expr"`
	Type string `json:"type"`
}

// Handles is one handle or a list of them.
type Handles []int64

// UnmarshalJSON accepts a number or a list of numbers.
func (h *Handles) UnmarshalJSON(text []byte) error {
	var one int64
	if json.Unmarshal(text, &one) == nil {
		if string(text) != "null" {
			*h = Handles{one}
		}
		return nil
	}
	var many []int64
	if err := json.Unmarshal(text, &many); err != nil {
		return fmt.Errorf("h is neither a handle nor a list of handles")
	}
	*h = many
	return nil
}

// Message is a message that an SDK has shown; what it does not show stays nil.
type Message struct {
	H         *int64            `json:"h"`
	ID        *string           `json:"id"`
	Topic     string            `json:"topic"`
	Body      []byte            `json:"body"`
	Tag       *string           `json:"tag"`
	Keys      []string          `json:"keys"`
	Props     map[string]string `json:"props"`
	Group     *string           `json:"group"`
	Attempt   *int64            `json:"attempt"`
	Queue     *int64            `json:"queue"`
	Offset    *int64            `json:"offset"`
	Born      *int64            `json:"born"`
	DeliverAt *int64            `json:"deliver_at"`
	Stored    *int64            `json:"stored"`
	OffsetID  *string           `json:"offset_id"`
	Broker    *string           `json:"broker"`
	BornHost  *string           `json:"born_host"`
	StoreHost *string           `json:"store_host"`
}

// Queue is one queue of a topic on one broker.
type Queue struct {
	Topic  string `json:"topic"`
	Broker string `json:"broker"`
	Queue  int    `json:"queue"`
}

// Refusal is an error of the driver itself; its kind is one of PROTOCOL.md.
type Refusal struct {
	Kind string
	Text string
}

func (r *Refusal) Error() string { return r.Text }

// Bad refuses a command with a missing or wrong field.
func Bad(format string, words ...any) error {
	return &Refusal{"BadCommand", fmt.Sprintf(format, words...)}
}

// Unsupported refuses a field that this SDK has no way to express, so that a test does not believe in it.
func Unsupported(format string, words ...any) error {
	return &Refusal{"Unsupported", fmt.Sprintf(format, words...)}
}

// Need refuses a command in which one of the named text fields is empty; names and values alternate.
func Need(pairs ...string) error {
	for n := 0; n+1 < len(pairs); n += 2 {
		if pairs[n+1] == "" {
			return Bad("field %q is missing", pairs[n])
		}
	}
	return nil
}

// Or returns the value behind a pointer, or the default when there is none.
func Or[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}

// Ptr returns a pointer to a value.
func Ptr[T any](value T) *T { return &value }

// Some returns a pointer to a text, or nil for the empty one, which SDKs use for "not there".
func Some(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
