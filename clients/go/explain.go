package rocketmqtest

import (
	"fmt"
	"strings"
	"time"
)

// Explanation says what became of a message, and why.
type Explanation struct {
	Reason   string `json:"reason"`   // such as DELIVERED_AND_ACKNOWLEDGED or FILTERED_BY_TAG
	Sentence string `json:"sentence"` // for people
	Changes  []struct {
		Action   string `json:"action"`
		Sentence string `json:"sentence"`
	} `json:"changes"` // what would change it
}

// String returns the sentence.
func (e Explanation) String() string { return e.Sentence }

// Step is one step of a message's history.
type Step struct {
	At      int64  `json:"at_ms"` // since 1970
	Kind    string `json:"kind"`  // such as sent, delivered, acknowledged
	Node    string `json:"node"`
	Client  string `json:"client"`
	Group   string `json:"group"`
	Attempt *int   `json:"attempt"`
	Detail  string `json:"detail"`
}

// History is every step of a message in order.
type History struct {
	MessageID string `json:"message_id"`
	Topic     string `json:"topic"`
	Steps     []Step `json:"steps"`
}

// String returns a line for each step.
func (h History) String() string {
	lines := []string{fmt.Sprintf("message %s of %s", h.MessageID, h.Topic)}
	for _, step := range h.Steps {
		words := []string{"  " + time.UnixMilli(step.At).UTC().Format("15:04:05.000"), step.Kind}
		for _, word := range []string{step.Group, step.Client, step.Node, step.Detail} {
			if word != "" {
				words = append(words, word)
			}
		}
		lines = append(lines, strings.Join(words, "  "))
	}
	return strings.Join(lines, "\n")
}

// Explain says what became of a message for a group. The message is named by its id, a key, or its offset id; an empty
// group stands for all groups.
func (r *RocketMQ) Explain(message, group string) (Explanation, error) {
	var found Explanation
	err := r.control.get("/v1/explain/"+segment(message), query("group", group), &found)
	return found, err
}

// History returns every step of a message, which is named as in Explain.
func (r *RocketMQ) History(message string) (History, error) {
	var found History
	err := r.control.get("/v1/history/"+segment(message), nil, &found)
	return found, err
}
