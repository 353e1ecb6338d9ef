package rocketmqtest

import (
	"fmt"
	"regexp"
	"testing"
)

// logOf keeps the log of a test.
type logOf struct {
	testing.TB
	text string
}

func (l *logOf) Logf(format string, arguments ...any) { l.text += fmt.Sprintf(format, arguments...) }

func TestLogHasAMessageOnceWithAllItsCopies(t *testing.T) {
	mq := Run(t, "orders")
	sent, err := mq.Send("orders", "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"orders", "%RETRY%billing", "%DLQ%billing"} {
		if err := mq.CreateTopic(topic, "NORMAL", 1); err != nil {
			t.Fatal(err)
		}
		copied := NewMessage{Body: []byte("x"), Properties: map[string]string{"UNIQ_KEY": sent.ID}}
		if _, err := mq.SendMessage(topic, copied); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := mq.Send("orders", "y"); err != nil {
		t.Fatal(err)
	}
	log := &logOf{TB: t}
	mq.logHistories(log)
	if found := regexp.MustCompile(`(?m)^message \w+ of orders$`).FindAllString(log.text, -1); len(found) != 2 {
		t.Errorf("%d histories: %s", len(found), log.text)
	}
}
