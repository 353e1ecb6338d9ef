package rocketmqtest

import (
	"encoding/base64"
	"testing"
	"time"
	"unicode/utf8"
)

// About selects the messages of an assertion. A field with its zero value is no criterion.
type About struct {
	Message      string            // an id, an offset id or a key
	Topic        string            // only messages of this topic
	Tag          string            // only messages with this tag
	Key          string            // only messages with this key
	ID           string            // only the message with this id
	MessageGroup string            // only messages of this message group
	Properties   map[string]string // only messages with these properties
	Body         []byte            // only messages with this body
	Group        string            // the consumer group of the assertion
	Client       string            // the client id of the assertion
	// Within moves the clock from event to event until the assertion holds, at most this far. Without it the state is
	// judged now.
	Within time.Duration
}

func (a About) fields() map[string]any {
	fields := map[string]any{}
	for name, value := range map[string]string{
		"message": a.Message, "topic": a.Topic, "tag": a.Tag, "key": a.Key, "id": a.ID, "message_group": a.MessageGroup,
		"group": a.Group, "client": a.Client,
	} {
		if value != "" {
			fields[name] = value
		}
	}
	if len(a.Properties) > 0 {
		fields["properties"] = a.Properties
	}
	if a.Body != nil {
		fields["body"] = base64.StdEncoding.EncodeToString(a.Body)
	}
	if a.Within != 0 {
		fields["within"] = duration(a.Within)
	}
	return fields
}

// check fails the test if an assertion does not hold, with an error that has the history of the messages.
func (r *RocketMQ) check(t testing.TB, name string, fields map[string]any) {
	t.Helper()
	if err := r.control.post("/v1/assertions/"+name, fields, nil); err != nil {
		t.Error(err.Error())
	}
}

func (a About) with(name string, value any) map[string]any {
	fields := a.fields()
	fields[name] = value
	return fields
}

// AssertBodies fails the test unless a topic holds messages with exactly these bodies, in any order.
func (r *RocketMQ) AssertBodies(t testing.TB, topic string, bodies ...string) {
	t.Helper()
	r.check(t, "bodies", expected(topic, bodies, true))
}

// AssertBodiesInOrder fails the test unless a topic holds messages with exactly these bodies, in this order.
func (r *RocketMQ) AssertBodiesInOrder(t testing.TB, topic string, bodies ...string) {
	t.Helper()
	r.check(t, "bodies", expected(topic, bodies, false))
}

// expected returns the fields of an assertion about bodies: as texts, or in base64 if one of them is not UTF-8.
func expected(topic string, bodies []string, inAnyOrder bool) map[string]any {
	fields := map[string]any{"topic": topic, "in_any_order": inAnyOrder}
	encoded, areTexts := make([]string, len(bodies)), true
	for at, body := range bodies {
		encoded[at] = base64.StdEncoding.EncodeToString([]byte(body))
		areTexts = areTexts && utf8.ValidString(body)
	}
	if areTexts {
		fields["texts"] = append([]string{}, bodies...)
	} else {
		fields["bodies"] = encoded
	}
	return fields
}

// AssertSent fails the test unless messages were sent.
func (r *RocketMQ) AssertSent(t testing.TB, about About) {
	t.Helper()
	r.check(t, "sent", about.fields())
}

// AssertSentTimes fails the test unless exactly this number of messages was sent.
func (r *RocketMQ) AssertSentTimes(t testing.TB, about About, times int) {
	t.Helper()
	r.check(t, "sent", about.with("times", times))
}

// AssertNotSent fails the test if such a message was sent.
func (r *RocketMQ) AssertNotSent(t testing.TB, about About) {
	t.Helper()
	r.check(t, "not_sent", about.fields())
}

// AssertDelivered fails the test unless the messages were delivered, to About.Group and About.Client if they are given.
func (r *RocketMQ) AssertDelivered(t testing.TB, about About) {
	t.Helper()
	r.check(t, "delivered", about.fields())
}

// AssertDeliveredTimes fails the test unless each message was delivered exactly this often.
func (r *RocketMQ) AssertDeliveredTimes(t testing.TB, about About, times int) {
	t.Helper()
	r.check(t, "delivered", about.with("times", times))
}

// AssertNotDelivered fails the test if such a message was delivered.
func (r *RocketMQ) AssertNotDelivered(t testing.TB, about About) {
	t.Helper()
	r.check(t, "not_delivered", about.fields())
}

// AssertAcknowledged fails the test unless About.Group has acknowledged the messages.
func (r *RocketMQ) AssertAcknowledged(t testing.TB, about About) {
	t.Helper()
	r.check(t, "acknowledged", about.fields())
}

// AssertRetried fails the test unless About.Group received the messages again, exactly this often.
func (r *RocketMQ) AssertRetried(t testing.TB, about About, times int) {
	t.Helper()
	r.check(t, "retried", about.with("times", times))
}

// AssertInDLQ fails the test unless the messages are dead letters of About.Group.
func (r *RocketMQ) AssertInDLQ(t testing.TB, about About) {
	t.Helper()
	r.check(t, "in_dlq", about.fields())
}

// AssertOrdered fails the test unless About.Group received the messages in the order of
// sending: by "message_group", "queue" or "key".
func (r *RocketMQ) AssertOrdered(t testing.TB, about About, by string) {
	t.Helper()
	r.check(t, "ordered", about.with("by", by))
}

// AssertNoLoss fails the test unless About.Group has acknowledged each message that was sent, or has it as a dead
// letter.
func (r *RocketMQ) AssertNoLoss(t testing.TB, about About) {
	t.Helper()
	r.check(t, "no_loss", about.fields())
}

// AssertNoDuplicates fails the test if a message was delivered to About.Group more than once.
func (r *RocketMQ) AssertNoDuplicates(t testing.TB, about About) {
	t.Helper()
	r.check(t, "no_duplicates", about.fields())
}

// AssertChecked fails the test unless the broker has sent exactly this number of transaction checks about the messages.
func (r *RocketMQ) AssertChecked(t testing.TB, about About, times int) {
	t.Helper()
	r.check(t, "checked", about.with("times", times))
}

// AssertCommitted fails the test unless the transactions of the messages were committed.
func (r *RocketMQ) AssertCommitted(t testing.TB, about About) {
	t.Helper()
	r.check(t, "committed", about.fields())
}

// AssertRolledBack fails the test unless the transactions of the messages were rolled back.
func (r *RocketMQ) AssertRolledBack(t testing.TB, about About) {
	t.Helper()
	r.check(t, "rolled_back", about.fields())
}

// AssertDelayedUntil fails the test unless the broker delivers the messages at an instant, or up to a tolerance before or
// after it.
func (r *RocketMQ) AssertDelayedUntil(t testing.TB, about About, instant time.Time, tolerance time.Duration) {
	t.Helper()
	fields := about.with("instant", instant.UnixMilli())
	fields["tolerance"] = duration(tolerance)
	r.check(t, "delayed_until", fields)
}

// AssertIdle fails the test unless About.Group, or each group, has no message that is available, in flight, delayed or
// half. Without About.Group, every client must also have responded to the requests of brokers.
func (r *RocketMQ) AssertIdle(t testing.TB, about About) {
	t.Helper()
	r.check(t, "idle", about.fields())
}

// AssertLag fails the test unless About.Group has exactly this number of unfinished messages.
func (r *RocketMQ) AssertLag(t testing.TB, about About, lag int) {
	t.Helper()
	r.check(t, "lag", about.with("lag", lag))
}

// AssertConsumers fails the test unless this number of consumers of About.Group is connected.
func (r *RocketMQ) AssertConsumers(t testing.TB, about About, count int) {
	t.Helper()
	r.check(t, "consumers", about.with("count", count))
}

// AssertSubscriptionsAgree fails the test unless all members of About.Group have the same subscriptions.
func (r *RocketMQ) AssertSubscriptionsAgree(t testing.TB, about About) {
	t.Helper()
	r.check(t, "subscriptions_agree", about.fields())
}

// AssertNoErrors fails the test if a request of a client was refused, apart from codes that SDKs expect.
func (r *RocketMQ) AssertNoErrors(t testing.TB) {
	t.Helper()
	r.check(t, "no_errors", map[string]any{})
}
