package rocketmqtest_test

import (
	"errors"
	"testing"
	"time"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

func TestInspectionListsStoredMessagesQueuesAndTimers(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders:NORMAL:1")
	sent := must(mq.Send("orders", "two teas"))(t)
	must(mq.SendMessage("orders", delayed("14")))(t)
	stored := only(t, must(mq.Inspect.Messages("orders", "stored"))(t))
	if stored.Message.ID != sent.ID || stored.Place.QueueOffset != 0 || !stored.DueAt.IsZero() || stored.Record != nil {
		t.Errorf("%+v", stored)
	}
	later := only(t, must(mq.Inspect.Records("orders", "delayed"))(t))
	if later.DueAt.Sub(later.StoredAt) < 9*time.Minute || len(later.Record) == 0 {
		t.Errorf("%+v", later)
	}
	timer := only(t, must(mq.Inspect.Timers())(t))
	if timer.Topic != "orders" || timer.Level == nil || *timer.Level != 14 || !timer.DueAt.Equal(later.DueAt) {
		t.Errorf("%+v", timer)
	}
	if queue := only(t, must(mq.Inspect.Queues("orders"))(t)); queue.End != 1 || queue.Broker != "broker-a" {
		t.Errorf("%+v", queue)
	}
	_, err := mq.Inspect.Messages("orders", "lost")
	var refused *rocketmqtest.Error
	if !errors.As(err, &refused) || refused.Field != "state" {
		t.Error(err)
	}
}

func TestInspectionListsGroupsWithProgress(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders:NORMAL:1")
	check(t, mq.CreateGroup(rocketmqtest.Group{Name: "warehouse"}))
	check(t, mq.ResetOffset("warehouse", "orders", "earliest"))
	must(mq.Send("orders", "two teas"))(t)
	progress := only(t, must(mq.Inspect.Queues("orders"))(t)).Groups["warehouse"]
	if progress.Lag != 1 || progress.Committed == nil || *progress.Committed != 0 {
		t.Errorf("%+v", progress)
	}
	if group := only(t, must(mq.Inspect.Groups())(t)); group.Name != "warehouse" || len(group.Members) != 0 {
		t.Errorf("%+v", group)
	}
	if group := must(mq.Inspect.Group("warehouse"))(t); !group.Exists || group.RetryMaxTimes != 16 {
		t.Errorf("%+v", group)
	}
	if must(mq.Inspect.Group("ghost"))(t).Exists {
		t.Error("the group exists")
	}
	if found := must(mq.Inspect.Assignments("warehouse", "orders"))(t); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

func TestInspectionListsTopicsRulesAndConfiguration(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	names := map[string]bool{}
	for _, topic := range must(mq.Inspect.Topics())(t) {
		names[topic.Name] = topic.System
	}
	if isSystem, ok := names["orders"]; !ok || isSystem || len(names) < 2 {
		t.Error(names)
	}
	must(mq.Faults.Add(rocketmqtest.Rule{Then: "drop_response", Times: 1}))(t)
	if rule := only(t, must(mq.Inspect.Rules())(t)); rule.Kind != "drop_response" || rule.Fired != 0 || !rule.Open {
		t.Errorf("%+v", rule)
	}
	check(t, mq.Brokers.Configure(map[string]any{"popPollingSize": 7}))
	origins := map[string]string{}
	for _, key := range must(mq.Inspect.Configuration("broker-a"))(t) {
		origins[key.Key] = key.Value + " " + key.Origin
	}
	if origins["popPollingSize"] != "7 changed" {
		t.Error(origins)
	}
	if found, err := mq.Inspect.Configuration("broker-x"); !rocketmqtest.IsNotFound(err) {
		t.Error(found, err)
	}
	if found, err := mq.Inspect.Queues("order"); !rocketmqtest.IsNotFound(err) {
		t.Error(found, err)
	}
}

func TestInspectionOfAnEmulatorWithoutClientsIsEmpty(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	check(t, mq.CreateGroup(rocketmqtest.Group{Name: "warehouse"}))
	look := mq.Inspect
	counts := []int{
		len(must(look.Connections())(t)), len(must(look.Polls())(t)), len(must(look.Locks())(t)),
		len(must(look.Receipts("warehouse"))(t)), len(must(look.HalfMessages())(t)),
	}
	for _, count := range counts {
		if count != 0 {
			t.Error(counts)
		}
	}
}
