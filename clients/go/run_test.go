package rocketmqtest_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

func TestMessagesAreSentAndRead(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders", "payments:FIFO:4")
	sent := must(mq.SendMessage("orders", rocketmqtest.NewMessage{
		Body: []byte("two teas"), Tag: "hot", Keys: []string{"1001"}, Properties: map[string]string{"table": "7"},
	}))(t)
	message := only(t, must(mq.Messages("orders"))(t))
	if message.Text() != "two teas" || message.Tag != "hot" || message.Keys[0] != "1001" ||
		message.Properties["table"] != "7" || message.ID != sent.ID || message.StoredAt.IsZero() {
		t.Errorf("%+v", message)
	}
	mq.AssertBodies(t, "orders", "two teas")
	must(mq.SendMessage("payments", rocketmqtest.NewMessage{Body: []byte("12 euro"), MessageGroup: "7"}))(t)
}

func TestForksAreIndependent(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	must(mq.Send("orders", "before"))(t)
	fork := must(mq.Fork())(t)
	must(fork.Send("orders", "in the fork"))(t)
	must(mq.Send("orders", "in the parent"))(t)
	fork.AssertBodies(t, "orders", "before", "in the fork")
	mq.AssertBodies(t, "orders", "before", "in the parent")
	if err := fork.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := net.DialTimeout("tcp", fork.Endpoint, time.Second); err == nil {
		t.Error("the fork still listens")
	}
}

func TestClockDeliversDelayedMessages(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "reminders")
	must(mq.SendMessage("reminders", delayed("14")))(t) // ten minutes
	mq.AssertBodies(t, "reminders")
	begin := must(mq.Clock.Now())(t)
	check(t, mq.Clock.AdvanceUntil(rocketmqtest.Until{Topic: "reminders", Messages: 1}))
	if passed := must(mq.Clock.Now())(t).Sub(begin); passed < 9*time.Minute {
		t.Error(passed)
	}
	mq.AssertBodies(t, "reminders", "drink")
}

func TestConditionOfTheTestEndsAJump(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "reminders")
	must(mq.SendMessage("reminders", delayed("5")))(t)
	arrived := func() bool {
		found, err := mq.Messages("reminders")
		return err == nil && len(found) == 1
	}
	check(t, mq.Clock.AdvanceUntilTrue(arrived, time.Hour))
	must(mq.SendMessage("reminders", delayed("5")))(t)
	err := mq.Clock.WaitingAtMost(200*time.Millisecond).AdvanceUntilTrue(func() bool { return false }, time.Second)
	if err == nil || !strings.Contains(err.Error(), "the condition did not become true") {
		t.Error(err)
	}
}

func TestRulesAreAddedCountedAndRemoved(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	rule := must(mq.Faults.Add(rocketmqtest.Rule{
		When: map[string]any{"operation": "SendMessage", "topic": "orders"}, Then: "drop_response", Times: 1,
	}))(t)
	if fired := must(rule.Fired())(t); fired != 0 {
		t.Error(fired)
	}
	if text := rule.String(); !strings.HasPrefix(text, `Rule drop_response matched=0 fired=0 {"then":"drop_response",`) {
		t.Error(text)
	}
	check(t, rule.Remove())
	if text := rule.String(); text != "Rule drop_response, removed" {
		t.Error(text)
	}
	if err := rule.Remove(); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
	if names := must(mq.Faults.AddPreset("lossy-acks", nil))(t); len(names) == 0 {
		t.Error(names)
	}
	_, err := mq.Faults.Add(rocketmqtest.Rule{Then: "drop_respone"})
	if err == nil || !strings.Contains(err.Error(), "did you mean drop_response?") {
		t.Error(err)
	}
}

func TestExplanationAndHistoryNameTheMessage(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	must(mq.SendMessage("orders", rocketmqtest.NewMessage{Body: []byte("x"), Keys: []string{"1001"}}))(t)
	if explained := must(mq.Explain("1001", "billing"))(t); !strings.Contains(explained.String(), "billing") {
		t.Error(explained)
	}
	history := must(mq.History("1001"))(t)
	if step := only(t, history.Steps); step.Kind != "sent" || !strings.Contains(history.String(), "sent") {
		t.Error(history)
	}
}

func TestUnknownNamesAreErrors(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	if _, err := mq.Messages("order"); !rocketmqtest.IsNotFound(err) || !strings.Contains(err.Error(), "did you mean orders") {
		t.Error(err)
	}
	if _, err := mq.DeadLetters("ghost"); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
}

func TestFailedAssertionNamesTheMostSimilarMessage(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	for _, body := range []string{"two tea", "coffee"} {
		must(mq.Send("orders", body))(t)
	}
	failed := &recorder{TB: t}
	mq.AssertBodies(failed, "orders", "two teas", "milk")
	if len(failed.texts) != 1 {
		t.Fatal(failed.texts)
	}
	for _, wanted := range []string{
		`missing "two teas", "milk"; not expected "two tea", "coffee"`, `most similar to "two teas" is "two tea"`, "sent",
	} {
		if !strings.Contains(failed.texts[0], wanted) {
			t.Errorf("%q is not in %s", wanted, failed.texts[0])
		}
	}
}

func TestConnectedEmulatorKeepsRunning(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	same := must(rocketmqtest.Connect(mq.ControlURL))(t)
	if same.Endpoint != mq.Endpoint || same.NameServer != mq.NameServer {
		t.Errorf("%+v %+v", same, mq)
	}
	check(t, same.Stop())
	mq.AssertBodies(t, "orders")
	if _, err := rocketmqtest.Connect("127.0.0.1:8090"); err == nil {
		t.Error("no URL was accepted")
	}
}

func TestBrokersStopStartAndRestart(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	check(t, mq.Brokers.Stop("broker-a", false))
	if err := mq.Brokers.Restart("broker-a"); err == nil {
		t.Error("a stopped broker was restarted")
	}
	check(t, mq.Brokers.Start("broker-a"))
	check(t, mq.Brokers.Restart(""))
	check(t, mq.Brokers.Crash("broker-a"))
	check(t, mq.Brokers.Configure(map[string]any{"brokerPermission": 4}))
	var found struct{ Brokers []struct{ Name string } }
	check(t, mq.Request("GET", "/v1/brokers", nil, &found))
	if len(found.Brokers) != 1 || found.Brokers[0].Name != "broker-a" {
		t.Error(found)
	}
	err := mq.Brokers.Configure(map[string]any{"brokerPermision": 4})
	var refused *rocketmqtest.Error
	if !errors.As(err, &refused) || refused.Nearest != "brokerPermission" {
		t.Error(err)
	}
}

func TestGroupsAndTopicsAreCreatedAndDeleted(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	once := 1
	check(t, mq.CreateGroup(rocketmqtest.Group{Name: "warehouse", RetryMaxTimes: &once}))
	check(t, mq.ResetOffset("warehouse", "orders", "latest"))
	if explained := must(mq.ExplainGroup("warehouse"))(t); !strings.Contains(explained.Sentence, "warehouse") {
		t.Error(explained)
	}
	check(t, mq.DeleteGroup("warehouse"))
	if _, err := mq.DeadLetters("warehouse"); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
	check(t, mq.DeleteTopic("orders"))
	if _, err := mq.Messages("orders"); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
	if err := mq.ExpireClient("nobody"); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
}
