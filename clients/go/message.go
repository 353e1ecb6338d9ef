package rocketmqtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"time"
)

// Message is a message as the broker has stored it.
type Message struct {
	Topic          string
	Body           []byte
	Tag            string
	Keys           []string
	Properties     map[string]string
	ID             string
	MessageGroup   string
	Broker         string
	QueueID        int
	QueueOffset    int64
	BornAt         time.Time
	StoredAt       time.Time
	ReconsumeTimes int
	// OffsetID is the id that the broker forms of its address and PhysicalOffset, the position in its commit log.
	OffsetID       string
	PhysicalOffset int64
	BornHost       string // host:port of the sender
	Compressed     bool   // the body is compressed in a way that the emulator does not know
}

// Text returns the body as text.
func (m Message) Text() string { return string(m.Body) }

// UnmarshalJSON reads the form of the control port.
func (m *Message) UnmarshalJSON(encoded []byte) error {
	var form struct {
		Topic          string            `json:"topic"`
		Body           string            `json:"body"`
		Tag            *string           `json:"tag"`
		Keys           []string          `json:"keys"`
		Properties     map[string]string `json:"properties"`
		ID             string            `json:"message_id"`
		MessageGroup   *string           `json:"message_group"`
		Broker         string            `json:"broker"`
		QueueID        int               `json:"queue_id"`
		QueueOffset    int64             `json:"queue_offset"`
		BornAt         int64             `json:"born_at_ms"`
		StoredAt       int64             `json:"stored_at_ms"`
		ReconsumeTimes int               `json:"reconsume_times"`
		OffsetID       string            `json:"offset_message_id"`
		PhysicalOffset int64             `json:"physical_offset"`
		BornHost       []any             `json:"born_host"`
		Compressed     bool              `json:"compressed"`
	}
	if err := json.Unmarshal(encoded, &form); err != nil {
		return err
	}
	body, err := base64.StdEncoding.DecodeString(form.Body)
	if err != nil {
		return err
	}
	*m = Message{
		Topic: form.Topic, Body: body, Tag: text(form.Tag), Keys: form.Keys, Properties: form.Properties, ID: form.ID,
		MessageGroup: text(form.MessageGroup), Broker: form.Broker, QueueID: form.QueueID, QueueOffset: form.QueueOffset,
		BornAt: time.UnixMilli(form.BornAt), StoredAt: time.UnixMilli(form.StoredAt), ReconsumeTimes: form.ReconsumeTimes,
		OffsetID: form.OffsetID, PhysicalOffset: form.PhysicalOffset, Compressed: form.Compressed,
	}
	if len(form.BornHost) == 2 {
		m.BornHost = net.JoinHostPort(fmt.Sprint(form.BornHost[0]), fmt.Sprint(form.BornHost[1]))
	}
	return nil
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

// NewMessage is a message to send. Only the body is required.
type NewMessage struct {
	Body         []byte
	Tag          string
	Keys         []string
	Properties   map[string]string
	MessageGroup string
}

// MarshalJSON writes the form of the control port.
func (m NewMessage) MarshalJSON() ([]byte, error) {
	form := map[string]any{"body": base64.StdEncoding.EncodeToString(m.Body)}
	if m.Tag != "" {
		form["tag"] = m.Tag
	}
	if len(m.Keys) > 0 {
		form["keys"] = m.Keys
	}
	if len(m.Properties) > 0 {
		form["properties"] = m.Properties
	}
	if m.MessageGroup != "" {
		form["message_group"] = m.MessageGroup
	}
	return json.Marshal(form)
}
