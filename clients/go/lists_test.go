package rocketmqtest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

func TestTopicsAreListedAndShown(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders", "payments:FIFO:4")
	found := must(mq.Topics(false))(t)
	if len(found) != 2 || found[1].Name != "payments" || found[1].Type != "FIFO" || found[1].Queues != 4 {
		t.Errorf("%+v", found)
	}
	if len(must(mq.Topics(true))(t)) <= len(found) {
		t.Error("no system topics")
	}
	check(t, mq.PutTopic(rocketmqtest.NewTopic{Name: "payments", Queues: 6, Broker: "broker-a", Cluster: "DefaultCluster"}))
	if topic := must(mq.Topic("payments"))(t); topic.Queues != 6 || topic.Type != "FIFO" || topic.Brokers[0] != "broker-a" {
		t.Errorf("%+v", topic)
	}
	if _, err := mq.Topic("order"); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
}

func TestGroupsAreListedAndShownWithOffsets(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders:NORMAL:1")
	stopped := false
	check(t, mq.CreateGroup(rocketmqtest.Group{Name: "warehouse", ConsumeEnable: &stopped}))
	if group := only(t, must(mq.Groups(false))(t)); group.Name != "warehouse" || group.ConsumeEnable {
		t.Errorf("%+v", group)
	}
	if len(must(mq.Groups(true))(t)) < 2 {
		t.Error("no system groups")
	}
	must(mq.Send("orders", "two teas"))(t)
	check(t, mq.ResetOffsetTo("warehouse", "orders", 1))
	state := must(mq.Group("warehouse"))(t)
	queue := only(t, state.Offsets)
	if state.Lag != 0 || queue.Committed == nil || *queue.Committed != 1 || queue.End != 1 {
		t.Errorf("%+v", state)
	}
	check(t, mq.DeleteGroupKeepingOffsets("warehouse"))
	if _, err := mq.Group("warehouse"); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
}

func TestClientsAreListedAndExplained(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t)
	if found := must(mq.Clients())(t); len(found) != 0 {
		t.Errorf("%+v", found)
	}
	if found := must(mq.ExplainClient("nobody"))(t); !strings.Contains(found.String(), "no client nobody is connected") {
		t.Errorf("%+v", found)
	}
}

func TestBrokersAreListedWithTheirConfiguration(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t)
	if broker := only(t, must(mq.Brokers.List())(t)); broker.Name != "broker-a" || !broker.Running || broker.ID != 0 {
		t.Errorf("%+v", broker)
	}
	check(t, mq.Brokers.ConfigureBroker("broker-a", map[string]any{"popPollingSize": 7}))
	if value := must(mq.Brokers.Configuration())(t).Brokers["broker-a"]["popPollingSize"]; value != "7" {
		t.Error(value)
	}
	if err := mq.Brokers.ConfigureBroker("broker-x", map[string]any{"popPollingSize": 7}); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
}

func TestScheduledEventsOfTheClockAreListed(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "reminders")
	must(mq.SendMessage("reminders", delayed("14")))(t)
	now := must(mq.Clock.Now())(t)
	var due []time.Time
	for _, event := range must(mq.Clock.Scheduled(100))(t) {
		if event.Kind == "delay level" {
			due = append(due, event.DueAt)
		}
	}
	if len(due) == 0 || due[0].Sub(now) < 9*time.Minute {
		t.Error(due)
	}
	if must(mq.Clock.IsFrozen())(t) {
		t.Error("the clock does not move")
	}
	check(t, mq.Clock.WaitingAtMost(time.Second).Advance(time.Minute))
}

func TestRulesAreListedWithTheirFirings(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	odd := rocketmqtest.Rule{
		Name: "odd", When: map[string]any{"operation": "SendMessage"},
		Then: map[string]any{"respond": map[string]any{"code": "CONSUMER_NOT_ONLINE"}},
	}
	if _, err := mq.Faults.Add(odd); err == nil {
		t.Error("a code that no send gets was accepted")
	}
	odd.AnyCode = true
	added := must(mq.Faults.AddAll(
		rocketmqtest.Rule{Name: "first", Then: "drop_response", When: map[string]any{"topic": "orders"}, Nth: []int{1, 3}},
		odd,
	))(t)
	if rules := must(mq.Faults.List())(t); len(rules) != 2 || rules[0].Name != "first" || rules[0].Rule["nth"] == nil {
		t.Errorf("%+v", rules)
	}
	if events := must(added[0].Events())(t); events.Name != "first" || events.Matched != 0 || len(events.Events) != 0 {
		t.Errorf("%+v", events)
	}
	_, err := mq.Faults.AddAll(rocketmqtest.Rule{Name: "third", Then: "drop_response"}, rocketmqtest.Rule{Then: "drop"})
	if err == nil || len(must(mq.Faults.List())(t)) != 2 {
		t.Error("a part of the rules was added", err)
	}
}

func TestForksAreListed(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t)
	fork := must(mq.ForkWith(rocketmqtest.ForkOptions{Advertise: []string{"192.0.2.1"}}))(t)
	if found := only(t, must(mq.Forks())(t)); !strings.HasPrefix(found.Advertised["endpoint"], "192.0.2.1:") {
		t.Errorf("%+v", found)
	}
	check(t, fork.Stop())
	if found := must(mq.Forks())(t); len(found) != 0 {
		t.Errorf("%+v", found)
	}
	if _, err := mq.ForkWith(rocketmqtest.ForkOptions{NameServerPort: 70_000}); err == nil {
		t.Error("a wrong port was accepted")
	}
}

func TestTransactionsAreListed(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "payments:TRANSACTION")
	if found := must(mq.HalfMessages("payments"))(t); len(found) != 0 {
		t.Error(found)
	}
	if found := must(mq.DiscardedMessages(""))(t); len(found) != 0 {
		t.Error(found)
	}
	if _, err := mq.HalfMessages("payment"); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
}

func TestMetricsAndCertificateAreRead(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t)
	if text := must(mq.Metrics())(t); !strings.Contains(text, "# TYPE rocketmq_") {
		t.Error(text)
	}
	if counters := must(mq.ReceiveMetrics())(t); counters.Receives != 0 {
		t.Errorf("%+v", counters)
	}
	if text := must(mq.CertificateAuthority())(t); !strings.HasPrefix(text, "-----BEGIN CERTIFICATE-----") {
		t.Error(text)
	}
}

func TestUsersAreCreatedWhereBrokersKeepThem(t *testing.T) {
	t.Parallel()
	user := rocketmqtest.User{Name: "shop", Password: "secret", Allow: map[string][]string{"Topic:orders": {"Pub", "Get"}}}
	if err := rocketmqtest.Run(t).PutUser(user); err == nil || !strings.Contains(err.Error(), "keeps no users") {
		t.Error(err)
	}
	keeper := "org.apache.rocketmq.auth.%s.provider.Local%sMetadataProvider"
	mq := must(rocketmqtest.Start(rocketmqtest.Options{Arguments: []string{
		"--set", "authenticationMetadataProvider=" + fmt.Sprintf(keeper, "authentication", "Authentication"),
		"--set", "authorizationMetadataProvider=" + fmt.Sprintf(keeper, "authorization", "Authorization"),
	}}))(t)
	defer mq.Stop()
	check(t, mq.PutUser(user))
}

func TestAdvertisedAddressesAreInRoutes(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t)
	check(t, mq.Advertise("broker-a", "127.0.0.1:32768"))
	mapped := must(mq.Mapped("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"))(t)
	check(t, mapped.Reset())
	var ready struct{ Advertised map[string]string }
	check(t, mq.Request("GET", "/readyz", nil, &ready))
	if ready.Advertised["broker-a"] != "127.0.0.1:2" || ready.Advertised["endpoint"] != "127.0.0.1:3" {
		t.Error(ready)
	}
	check(t, mq.Advertise("broker-a", ""))
	if err := mq.Advertise("broker-x", "127.0.0.1:2"); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
}

func TestResetMayChooseTheClock(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	check(t, mq.ResetWith(rocketmqtest.ResetOptions{StartAt: noon, Time: "frozen"}))
	if now := must(mq.Clock.Now())(t); !now.Equal(noon) {
		t.Error(now)
	}
	if topic := only(t, must(mq.Topics(false))(t)); topic.Name != "orders" {
		t.Errorf("%+v", topic)
	}
	check(t, mq.Reset())
	if now := must(mq.Clock.Now())(t); now.Sub(noon) < time.Hour {
		t.Error(now)
	}
	if err := mq.ResetWith(rocketmqtest.ResetOptions{Time: "frozn"}); err == nil || !strings.Contains(err.Error(), "frozn") {
		t.Error(err)
	}
}

func TestResetMayKeepConnections(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "payments:FIFO:4")
	check(t, mq.CreateTopic("orders", "NORMAL", 1))
	check(t, mq.ResetKeepingConnections())
	if topic := only(t, must(mq.Topics(false))(t)); topic.Name != "payments" || topic.Queues != 4 {
		t.Errorf("%+v", topic)
	}
}
