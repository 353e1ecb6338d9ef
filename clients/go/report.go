package rocketmqtest

import (
	"fmt"
	"sort"
	"strings"
	"testing"
)

// historiesMax is the number of messages whose history the log of a failed test has.
const historiesMax = 5

// acknowledged and broadcast are the reasons of explanations about messages that a group has finished. Members of a
// broadcasting group report no acknowledgements.
const acknowledged, broadcast = "ACKNOWLEDGED", "BROADCAST"

// logHistories writes what became of the messages that not every group has acknowledged to the log of a failed test. A
// message that brokers have copied to retry topics and dead letter queues is there once: its history has the copies.
func (r *RocketMQ) logHistories(t testing.TB) {
	t.Helper()
	topics, err := r.Topics(false)
	if err != nil {
		t.Logf("rocketmqtest: no report: %v", err)
		return
	}
	// Topics with copies are last: their messages may be in no other topic any more.
	sort.SliceStable(topics, func(i, j int) bool { return !isOfCopies(topics[i].Name) && isOfCopies(topics[j].Name) })
	var lines []string
	seen := map[string]bool{}
	left := 0
	for _, topic := range topics {
		messages, err := r.Messages(topic.Name)
		if err != nil {
			continue // a topic that was deleted meanwhile
		}
		for _, message := range messages {
			if seen[message.ID] {
				continue
			}
			seen[message.ID] = true
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
		lines = append(lines, fmt.Sprintf("and further messages: %d", left-historiesMax))
	}
	if len(lines) > 0 {
		t.Logf("rocketmqtest: messages that are not acknowledged:\n%s", strings.Join(lines, "\n"))
	}
}

// isOfCopies reports if a topic is a retry topic or a dead letter queue.
func isOfCopies(topic string) bool { return strings.HasPrefix(topic, "%") }

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
		if group.Reason != acknowledged && group.Reason != broadcast {
			lines = append(lines, group.Sentence)
		}
	}
	if len(lines) == 0 {
		return "", nil
	}
	history, err := r.HistoryOf(Wanted{Message: message.ID, Topic: message.Topic})
	return strings.Join(append(lines, history.String()), "\n"), err
}
