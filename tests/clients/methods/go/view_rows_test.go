package rocketmqtest_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

// viewRows call the methods of the clock, the brokers and the other parts of an emulator.
var viewRows = map[string]func(*testing.T){
	"Clock.WaitingAtMost": func(t *testing.T) {
		check(t, fork(t).Clock.WaitingAtMost(time.Second).Advance(time.Second))
	},
	"Clock.Now":       func(t *testing.T) { equal(t, must(shop(t).Clock.Now())(t).UTC().Hour(), 12) },
	"Clock.IsFrozen":  func(t *testing.T) { equal(t, must(shop(t).Clock.IsFrozen())(t), true) },
	"Clock.Scheduled": func(t *testing.T) { equal(t, len(must(shop(t).Clock.Scheduled(2))(t)), 2) },
	"Clock.Advance": func(t *testing.T) {
		clock := fork(t).Clock
		before := must(clock.Now())(t)
		check(t, clock.Advance(time.Hour))
		equal(t, must(clock.Now())(t).Sub(before), time.Hour)
	},
	"Clock.AdvanceToNext": func(t *testing.T) {
		clock := fork(t).Clock
		before := must(clock.Now())(t)
		check(t, clock.AdvanceToNext())
		equal(t, must(clock.Now())(t).After(before), true)
	},
	"Clock.AdvanceUntil": func(t *testing.T) {
		mq := fork(t)
		check(t, mq.Clock.AdvanceUntil(rocketmqtest.Until{Topic: "teas", Messages: 1}))
		equal(t, len(must(mq.Messages("teas"))(t)), 1)
	},
	"Clock.AdvanceUntilTrue": func(t *testing.T) {
		mq := fork(t)
		check(t, mq.Clock.AdvanceUntilTrue(func() bool { return len(must(mq.Messages("teas"))(t)) == 1 }, 3*time.Hour))
	},

	"Brokers.List": func(t *testing.T) {
		equal(t, only(t, must(shop(t).Brokers.List())(t)).Name, "broker-a")
	},
	"Brokers.Configuration": func(t *testing.T) {
		equal(t, len(must(shop(t).Brokers.Configuration())(t).Brokers), 1)
	},
	"Brokers.Crash":        func(t *testing.T) { check(t, fork(t).Brokers.Crash("broker-a")) },
	"Brokers.CrashProcess": func(t *testing.T) { check(t, fork(t).Brokers.CrashProcess("broker-a")) },
	"Brokers.Restart":      func(t *testing.T) { check(t, fork(t).Brokers.Restart("")) },
	"Brokers.Stop": func(t *testing.T) {
		mq := fork(t)
		check(t, mq.Brokers.Stop("broker-a", false))
		equal(t, isRunning(t, mq), false)
	},
	"Brokers.Start": func(t *testing.T) {
		mq := fork(t)
		check(t, mq.Brokers.Stop("broker-a", true))
		check(t, mq.Brokers.Start("broker-a"))
		equal(t, isRunning(t, mq), true)
	},
	"Brokers.Configure": func(t *testing.T) {
		brokers := fork(t).Brokers
		check(t, brokers.Configure(map[string]any{"popPollingSize": 7}))
		equal(t, must(brokers.Configuration())(t).Brokers["broker-a"]["popPollingSize"], "7")
	},
	"Brokers.ConfigureBroker": func(t *testing.T) {
		brokers := fork(t).Brokers
		check(t, brokers.ConfigureBroker("broker-a", map[string]any{"popPollingSize": 7}))
		equal(t, must(brokers.Configuration())(t).Brokers["broker-a"]["popPollingSize"], "7")
	},

	"Inspection.Topics": func(t *testing.T) {
		found := names(must(shop(t).Inspect.Topics())(t), func(each rocketmqtest.TopicView) string { return each.Name })
		equal(t, has(t, found, "orders"), true)
	},
	"Inspection.Queues": func(t *testing.T) { equal(t, len(must(shop(t).Inspect.Queues("orders"))(t)), 2) },
	"Inspection.Messages": func(t *testing.T) {
		only(t, must(shop(t).Inspect.Messages("teas", "delayed"))(t))
	},
	"Inspection.Records": func(t *testing.T) {
		equal(t, len(only(t, must(shop(t).Inspect.Records("teas", "delayed"))(t)).Record) > 0, true)
	},
	"Inspection.Receipts": func(t *testing.T) {
		equal(t, only(t, must(shop(t).Inspect.Receipts("billing"))(t)).Client, "c1")
	},
	"Inspection.Locks": func(t *testing.T) {
		equal(t, only(t, must(shop(t).Inspect.Locks())(t)).Client, "locker")
	},
	"Inspection.Timers": func(t *testing.T) {
		equal(t, only(t, must(shop(t).Inspect.Timers())(t)).MessageID, "M13")
	},
	"Inspection.HalfMessages": func(t *testing.T) {
		equal(t, only(t, must(shop(t).Inspect.HalfMessages())(t)).MessageID, "M10")
	},
	"Inspection.Groups": func(t *testing.T) {
		found := names(must(shop(t).Inspect.Groups())(t), func(each rocketmqtest.GroupView) string { return each.Name })
		equal(t, has(t, found, "kitchen"), true)
	},
	"Inspection.Group": func(t *testing.T) {
		equal(t, must(shop(t).Inspect.Group("kitchen"))(t).Exists, true)
	},
	"Inspection.Assignments": func(t *testing.T) {
		equal(t, must(shop(t).Inspect.Assignments("audit", "orders"))(t)[0].Client, "c2")
	},
	"Inspection.Connections": func(t *testing.T) {
		equal(t, must(shop(t).Inspect.Connections())(t)[0].Client, "c1")
	},
	"Inspection.Polls": func(t *testing.T) {
		equal(t, only(t, must(shop(t).Inspect.Polls())(t)).Client, "waiting")
	},
	"Inspection.Rules": func(t *testing.T) {
		mq := fork(t)
		must(mq.Faults.Add(lost()))(t)
		equal(t, only(t, must(mq.Inspect.Rules())(t)).Kind, "drop_response")
	},
	"Inspection.Configuration": func(t *testing.T) {
		equal(t, len(must(shop(t).Inspect.Configuration("broker-a"))(t)) > 100, true)
	},

	"Journal.Read": func(t *testing.T) {
		page := must(shop(t).Journal.Read(rocketmqtest.Lines{Operation: "SendMessage", Topic: "orders"}))(t)
		equal(t, len(page.Entries), 3)
	},
	"Journal.Clear": func(t *testing.T) {
		mq := fork(t)
		must(mq.Send("reminders", "drink"))(t)
		equal(t, must(mq.Journal.Clear())(t) > 0, true)
		equal(t, len(must(mq.Journal.Read(rocketmqtest.Lines{}))(t).Entries), 0)
	},
	"Journal.Export": func(t *testing.T) {
		var file bytes.Buffer
		check(t, shop(t).Journal.Export(&file, rocketmqtest.Lines{}, true))
		contains(t, file.String(), `{"format":"rocketmq-journal"`)
	},
	"Journal.Follow": func(t *testing.T) {
		var clients []string
		wanted := rocketmqtest.Lines{Client: "c1", Limit: 2}
		check(t, shop(t).Journal.Follow(context.Background(), wanted, func(line rocketmqtest.JournalEvent) error {
			clients = append(clients, line.Client)
			return nil
		}))
		equal(t, clients, []string{"c1", "c1"})
	},

	"Snapshots.Create": func(t *testing.T) {
		equal(t, must(fork(t).Snapshots.Create())(t).Brokers, []string{"broker-a"})
	},
	"Snapshots.List": func(t *testing.T) {
		snapshots := fork(t).Snapshots
		kept := must(snapshots.Create())(t)
		equal(t, only(t, must(snapshots.List())(t)).ID, kept.ID)
	},
	"Snapshots.Delete": func(t *testing.T) {
		snapshots := fork(t).Snapshots
		check(t, snapshots.Delete(must(snapshots.Create())(t).ID))
		equal(t, len(must(snapshots.List())(t)), 0)
	},
	"Snapshots.Restore": func(t *testing.T) {
		mq := fork(t)
		kept := must(mq.Snapshots.Create())(t)
		must(mq.Send("reminders", "drink"))(t)
		check(t, mq.Snapshots.Restore(kept.ID))
		equal(t, len(must(mq.Messages("reminders"))(t)), 0)
	},
	"Snapshots.Save": func(t *testing.T) {
		var file bytes.Buffer
		check(t, fork(t).Snapshots.Save(&file))
		equal(t, file.Len() > 100, true)
	},
	"Snapshots.Load": func(t *testing.T) {
		mq := fork(t)
		var file bytes.Buffer
		check(t, mq.Snapshots.Save(&file))
		must(mq.Send("reminders", "drink"))(t)
		check(t, mq.Snapshots.Load(&file))
		equal(t, len(must(mq.Messages("reminders"))(t)), 0)
	},

	"Faults.Add": func(t *testing.T) { equal(t, must(fork(t).Faults.Add(lost()))(t).Name, "lost") },
	"Faults.AddAll": func(t *testing.T) {
		equal(t, only(t, must(fork(t).Faults.AddAll(lost()))(t)).Name, "lost")
	},
	"Faults.AddPreset": func(t *testing.T) {
		equal(t, len(must(fork(t).Faults.AddPreset("lossy-acks", nil))(t)) > 0, true)
	},
	"Faults.List": func(t *testing.T) {
		faults := fork(t).Faults
		must(faults.Add(lost()))(t)
		equal(t, only(t, must(faults.List())(t)).Name, "lost")
	},
	"Faults.Clear": func(t *testing.T) {
		faults := fork(t).Faults
		must(faults.Add(lost()))(t)
		check(t, faults.Clear())
		equal(t, len(must(faults.List())(t)), 0)
	},
	"AddedRule.Events": func(t *testing.T) {
		rule := must(fork(t).Faults.Add(lost()))(t)
		equal(t, must(rule.Events())(t).Rule["times"], 3.0)
	},
	"AddedRule.Fired": func(t *testing.T) {
		rule := must(fork(t).Faults.Add(lost()))(t)
		equal(t, must(rule.Fired())(t), 0)
	},
	"AddedRule.String": func(t *testing.T) {
		text := must(fork(t).Faults.Add(lost()))(t).String()
		equal(t, strings.HasPrefix(text, "Rule lost matched=0 fired=0 {"), true)
	},
	"AddedRule.Remove": func(t *testing.T) {
		faults := fork(t).Faults
		rule := must(faults.Add(lost()))(t)
		check(t, rule.Remove())
		equal(t, len(must(faults.List())(t)), 0)
	},
}
