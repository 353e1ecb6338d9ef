package rocketmqtest

import (
	"fmt"
	"strconv"
	"strings"
)

// createTopic creates a topic that is written as NAME, NAME:TYPE or NAME:TYPE:QUEUES.
func (r *RocketMQ) createTopic(text string) error {
	parts := strings.Split(text, ":")
	kind, queues := "NORMAL", 0
	if len(parts) > 1 {
		kind = parts[1]
	}
	if len(parts) > 2 {
		var err error
		if queues, err = strconv.Atoi(parts[2]); err != nil || len(parts) > 3 {
			return fmt.Errorf("topic=%s: is no NAME, NAME:TYPE or NAME:TYPE:QUEUES; use orders:FIFO:4", text)
		}
	}
	return r.CreateTopic(parts[0], kind, queues)
}
