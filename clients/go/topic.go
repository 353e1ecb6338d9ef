package rocketmqtest

import (
	"fmt"
	"strconv"
	"strings"
)

// NewTopic is a topic to create. Only the name is required.
type NewTopic struct {
	Name    string `json:"name"`
	Type    string `json:"type,omitempty"`    // NORMAL, FIFO, DELAY, TRANSACTION or MIXED; a new topic gets NORMAL
	Queues  int    `json:"queues,omitempty"`  // on each broker; a new topic gets eight
	Broker  string `json:"broker,omitempty"`  // on this master only
	Cluster string `json:"cluster,omitempty"` // on the masters of this cluster only
}

// CreateTopic creates a topic. kind is NORMAL, FIFO, DELAY, TRANSACTION or MIXED; queues is the number of queues on
// each broker, where 0 stands for eight.
func (r *RocketMQ) CreateTopic(name, kind string, queues int) error {
	return r.PutTopic(NewTopic{Name: name, Type: kind, Queues: queues})
}

// PutTopic creates a topic, or changes the fields of an existing one that are not zero.
func (r *RocketMQ) PutTopic(topic NewTopic) error {
	return r.control.post("/v1/topics", topic, nil)
}

// Topics returns the topics by name; with system, also those of the brokers themselves.
func (r *RocketMQ) Topics(system bool) ([]TopicInfo, error) {
	var found struct {
		Topics []TopicInfo `json:"topics"`
	}
	err := r.control.get("/v1/topics", query("system", flag(system)), &found)
	return found.Topics, err
}

// Topic returns the configuration of a topic.
func (r *RocketMQ) Topic(name string) (TopicInfo, error) {
	var found TopicInfo
	err := r.control.get("/v1/topics/"+segment(name), nil, &found)
	return found, err
}

// DeleteTopic deletes a topic.
func (r *RocketMQ) DeleteTopic(topic string) error {
	return r.control.call("DELETE", "/v1/topics/"+segment(topic), nil, nil)
}

func (r *RocketMQ) createTopics(topics []string) error {
	for _, topic := range topics {
		if err := r.createTopic(topic); err != nil {
			return err
		}
	}
	return nil
}

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
			return fmt.Errorf("topic=%s: is not NAME, NAME:TYPE or NAME:TYPE:QUEUES; use orders:FIFO:4", text)
		}
	}
	return r.CreateTopic(parts[0], kind, queues)
}

func flag(value bool) string {
	if value {
		return "true"
	}
	return ""
}
