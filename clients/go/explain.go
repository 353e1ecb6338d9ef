package rocketmqtest

import (
	"fmt"
	"strings"
)

// String returns the sentence.
func (v Explanation) String() string { return v.Sentence }

// String returns the sentence.
func (v IdleExplanation) String() string { return v.Sentence }

// String returns a line for each step.
func (v History) String() string {
	lines := []string{fmt.Sprintf("message %s of %s", v.MessageID, v.Topic)}
	for _, step := range v.Steps {
		lines = append(lines, "  "+step.String())
	}
	return strings.Join(lines, "\n")
}

// String returns the time and the kind, and the group, client, node and detail if there are any, in one line.
func (v Step) String() string {
	words := []string{v.At.UTC().Format("15:04:05.000"), v.Kind}
	for _, word := range []string{v.Group, v.Client, v.Node, v.Detail} {
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, "  ")
}

// Wanted names a message for ExplainWanted and HistoryOf. Only Message is required.
type Wanted struct {
	Message string // an id, an offset id or a key
	Topic   string // the topic, if messages of several topics have the key
	Group   string // the consumer group; empty: all groups
}

// Explain says what became of a message for a group. The message is named by its id, a key, or its offset id; an empty
// group stands for all groups.
func (r *RocketMQ) Explain(message, group string) (Explanation, error) {
	return r.ExplainWanted(Wanted{Message: message, Group: group})
}

// ExplainWanted says what became of a message, as Explain does.
func (r *RocketMQ) ExplainWanted(wanted Wanted) (Explanation, error) {
	var found Explanation
	asked := query("group", wanted.Group, "topic", wanted.Topic)
	err := r.control.get("/v1/explain/"+segment(wanted.Message), asked, &found)
	return found, err
}

// History returns every step of a message, which is named as in Explain.
func (r *RocketMQ) History(message string) (History, error) {
	return r.HistoryOf(Wanted{Message: message})
}

// HistoryOf returns the steps of a message; with a group, without those of other groups.
func (r *RocketMQ) HistoryOf(wanted Wanted) (History, error) {
	var found History
	asked := query("group", wanted.Group, "topic", wanted.Topic)
	err := r.control.get("/v1/history/"+segment(wanted.Message), asked, &found)
	return found, err
}

// ExplainGroup explains why a group is idle, or says that it is not idle.
func (r *RocketMQ) ExplainGroup(group string) (IdleExplanation, error) {
	var found IdleExplanation
	err := r.control.get("/v1/groups/"+segment(group)+"/explain", nil, &found)
	return found, err
}

// ExplainClient explains why a client is idle, or says that it is not idle.
func (r *RocketMQ) ExplainClient(client string) (IdleExplanation, error) {
	var found IdleExplanation
	err := r.control.get("/v1/clients/"+segment(client)+"/explain", nil, &found)
	return found, err
}
