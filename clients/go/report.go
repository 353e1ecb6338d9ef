package rocketmqtest

import (
	"strings"
	"testing"
)

// historiesMax is the number of messages whose history the log of a failed test has.
const historiesMax = 5

// acknowledged is the reason of an explanation about a message that a group has finished.
const acknowledged = "ACKNOWLEDGED"

// logHistories writes what became of the messages that not every group has acknowledged to the log of a failed test.
func (r *RocketMQ) logHistories(t testing.TB) {
	t.Helper()
	topics, err := r.Topics(false)
	if err != nil {
		t.Logf("rocketmqtest: no report: %v", err)
		return
	}
	var lines []string
	left := 0
	for _, topic := range topics {
		messages, err := r.Messages(topic.Name)
		if err != nil {
			continue // a topic that was deleted meanwhile
		}
		for _, message := range messages {
			told, err := r.unfinished(message)
			if err != nil || told == "" {
				continue
			}
			if left++; left <= historiesMax {
				lines = append(lines, told)
			}
		}
	}
	if left > historiesMax {
		lines = append(lines, "and further messages")
	}
	if len(lines) > 0 {
		t.Logf("rocketmqtest: messages that are not acknowledged:\n%s", strings.Join(lines, "\n"))
	}
}

// unfinished returns the explanation and the history of a message; nothing if each group has acknowledged it.
func (r *RocketMQ) unfinished(message Message) (string, error) {
	found, err := r.ExplainWanted(Wanted{Message: message.ID, Topic: message.Topic})
	if err != nil {
		return "", err
	}
	lines := []string{found.Sentence}
	if len(found.Groups) > 0 {
		lines = nil
	}
	for _, group := range found.Groups {
		if group.Reason != acknowledged {
			lines = append(lines, group.Sentence)
		}
	}
	if len(lines) == 0 {
		return "", nil
	}
	history, err := r.History(message.ID)
	return strings.Join(append(lines, history.String()), "\n"), err
}
