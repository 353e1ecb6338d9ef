package rocketmqtest_test

import (
	"context"
	"testing"
	"time"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

// rows call functions and the methods of RocketMQ and of values.
var rows = map[string]func(*testing.T){
	"Run": func(t *testing.T) { equal(t, topicNames(t, rocketmqtest.Run(t, "a", "b")), []string{"a", "b"}) },
	"RunWithReset": func(t *testing.T) {
		equal(t, topicNames(t, rocketmqtest.RunWithReset(t, "a")), []string{"a"})
	},
	"Start": func(t *testing.T) {
		mq := must(rocketmqtest.Start(rocketmqtest.Options{Topics: []string{"a"}}))(t)
		equal(t, topicNames(t, mq), []string{"a"})
		check(t, mq.Stop())
	},
	"Connect": func(t *testing.T) {
		mq := shop(t)
		equal(t, must(rocketmqtest.Connect(mq.ControlURL))(t).Endpoint, mq.Endpoint)
	},
	"IsNotFound": func(t *testing.T) {
		_, err := shop(t).Topic("order")
		equal(t, rocketmqtest.IsNotFound(err), true)
		equal(t, rocketmqtest.IsNotFound(context.Canceled), false)
	},

	"RocketMQ.Request": func(t *testing.T) {
		var found struct{ OpenAPI string }
		check(t, shop(t).Request("GET", "/openapi.json", nil, &found))
		equal(t, found.OpenAPI, "3.1.0")
	},
	"RocketMQ.Stop": func(t *testing.T) {
		mq := must(shop(t).Fork())(t)
		check(t, mq.Stop())
		if _, err := mq.Clock.Now(); err == nil {
			t.Error("the fork runs")
		}
	},
	"RocketMQ.Reset": func(t *testing.T) {
		mq := fork(t)
		must(mq.Send("reminders", "drink"))(t)
		check(t, mq.Reset())
		equal(t, len(must(mq.Messages("reminders"))(t)), 0)
	},
	"RocketMQ.ResetKeepingConnections": func(t *testing.T) {
		mq := fork(t)
		must(mq.Send("reminders", "drink"))(t)
		check(t, mq.ResetKeepingConnections())
		equal(t, len(must(mq.Messages("reminders"))(t)), 0)
	},
	"RocketMQ.Hold": func(t *testing.T) {
		mq := fork(t)
		release := must(mq.Hold("a row", time.Minute))(t)
		_, err := mq.Hold("another row", 0)
		contains(t, err.Error(), "a row has held the emulator for ")
		release()
		must(mq.Hold("another row", time.Minute))(t)()
	},
	"RocketMQ.ResetWith": func(t *testing.T) {
		mq := fork(t)
		later := must(mq.Clock.Now())(t).Add(time.Hour)
		check(t, mq.ResetWith(rocketmqtest.ResetOptions{StartAt: later, Time: "frozen"}))
		equal(t, must(mq.Clock.Now())(t).UnixMilli(), later.UnixMilli())
	},
	"RocketMQ.Mapped": func(t *testing.T) {
		mapped := must(fork(t).Mapped("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"))(t)
		equal(t, advertised(t, mapped, "endpoint"), "127.0.0.1:3")
	},
	"RocketMQ.Advertise": func(t *testing.T) {
		mq := fork(t)
		check(t, mq.Advertise("broker-a", "127.0.0.1:2"))
		equal(t, advertised(t, mq, "broker-a"), "127.0.0.1:2")
	},
	"RocketMQ.Fork": func(t *testing.T) {
		mq := must(fork(t).Fork())(t)
		equal(t, len(must(mq.Messages("orders"))(t)), 3)
	},
	"RocketMQ.ForkWith": func(t *testing.T) {
		mq := must(fork(t).ForkWith(rocketmqtest.ForkOptions{Advertise: []string{"192.0.2.1"}}))(t)
		contains(t, advertised(t, mq, "endpoint"), "192.0.2.1:")
	},
	"RocketMQ.Forks": func(t *testing.T) {
		mq := fork(t)
		child := must(mq.Fork())(t)
		equal(t, only(t, must(mq.Forks())(t)).Control, child.ControlURL)
	},
	"RocketMQ.CreateTopic": func(t *testing.T) {
		mq := fork(t)
		check(t, mq.CreateTopic("stock", "FIFO", 3))
		equal(t, must(mq.Topic("stock"))(t).Queues, 3)
	},
	"RocketMQ.PutTopic": func(t *testing.T) {
		mq := fork(t)
		check(t, mq.PutTopic(rocketmqtest.NewTopic{Name: "orders", Queues: 6}))
		equal(t, must(mq.Topic("orders"))(t).Queues, 6)
	},
	"RocketMQ.Topics": func(t *testing.T) {
		mq := shop(t)
		equal(t, len(must(mq.Topics(true))(t)) > len(must(mq.Topics(false))(t)), true)
	},
	"RocketMQ.Topic": func(t *testing.T) { equal(t, must(shop(t).Topic("steps"))(t).Type, "FIFO") },
	"RocketMQ.DeleteTopic": func(t *testing.T) {
		mq := fork(t)
		check(t, mq.DeleteTopic("teas"))
		equal(t, has(t, topicNames(t, mq), "teas"), false)
	},
	"RocketMQ.CreateGroup": func(t *testing.T) {
		mq := fork(t)
		twice := 2
		check(t, mq.CreateGroup(rocketmqtest.Group{Name: "storage", RetryMaxTimes: &twice}))
		equal(t, must(mq.Group("storage"))(t).Group.RetryMaxTimes, 2)
	},
	"RocketMQ.Groups": func(t *testing.T) {
		mq := shop(t)
		equal(t, len(must(mq.Groups(true))(t)) > len(must(mq.Groups(false))(t)), true)
	},
	"RocketMQ.Group": func(t *testing.T) {
		equal(t, must(shop(t).Group("billing"))(t).Members, []string{"c1"})
	},
	"RocketMQ.DeleteGroup": func(t *testing.T) {
		mq := fork(t)
		check(t, mq.DeleteGroup("audit"))
		equal(t, has(t, groupNames(t, mq), "audit"), false)
	},
	"RocketMQ.DeleteGroupKeepingOffsets": func(t *testing.T) {
		mq := fork(t)
		check(t, mq.DeleteGroupKeepingOffsets("audit"))
		check(t, mq.CreateGroup(rocketmqtest.Group{Name: "audit"}))
		mq.AssertLag(t, rocketmqtest.About{Group: "audit"}, 1)
	},
	"RocketMQ.ResetOffset": func(t *testing.T) {
		mq := fork(t)
		check(t, mq.ResetOffset("audit", "orders", "earliest"))
		mq.AssertLag(t, rocketmqtest.About{Group: "audit"}, 3)
	},
	"RocketMQ.ResetOffsetTo": func(t *testing.T) {
		mq := fork(t)
		check(t, mq.ResetOffsetTo("audit", "orders", 1))
		mq.AssertLag(t, rocketmqtest.About{Group: "audit"}, 1)
	},
	"RocketMQ.Clients": func(t *testing.T) { equal(t, must(shop(t).Clients())(t)[1].ID, "c1") },
	"RocketMQ.ExpireClient": func(t *testing.T) {
		check(t, shop(t).ExpireClient("leaving-go"))
		equal(t, has(t, clientNames(t), "leaving-go"), false)
	},
	"RocketMQ.PutUser": func(t *testing.T) {
		err := shop(t).PutUser(rocketmqtest.User{Name: "a", Password: "b"})
		contains(t, err.Error(), "keeps no users")
	},
	"RocketMQ.Send": func(t *testing.T) {
		equal(t, must(fork(t).Send("reminders", "drink"))(t).Text(), "drink")
	},
	"RocketMQ.SendMessage": func(t *testing.T) {
		sent := rocketmqtest.NewMessage{Body: []byte("drink"), Tag: "hot"}
		equal(t, must(fork(t).SendMessage("reminders", sent))(t).Tag, "hot")
	},
	"RocketMQ.Messages": func(t *testing.T) { equal(t, len(must(shop(t).Messages("orders"))(t)), 3) },
	"RocketMQ.DeadLetters": func(t *testing.T) {
		equal(t, only(t, must(shop(t).DeadLetters("delivery"))(t)).Keys, []string{"1"})
	},
	"RocketMQ.RetryMessages": func(t *testing.T) {
		equal(t, only(t, must(shop(t).RetryMessages("delivery"))(t)).Keys, []string{"2"})
	},
	"RocketMQ.HalfMessages": func(t *testing.T) {
		equal(t, only(t, must(shop(t).HalfMessages("payments"))(t)).Text(), "open")
	},
	"RocketMQ.DiscardedMessages": func(t *testing.T) {
		mq := fork(t)
		equal(t, len(must(mq.DiscardedMessages("payments"))(t)), 0)
		check(t, mq.Clock.Advance(15*time.Minute))
		equal(t, only(t, must(mq.DiscardedMessages("payments"))(t)).Text(), "open")
	},
	"RocketMQ.Explain": func(t *testing.T) {
		equal(t, must(shop(t).Explain("1001", "billing"))(t).Reason, "ACKNOWLEDGED")
	},
	"RocketMQ.ExplainWanted": func(t *testing.T) {
		wanted := rocketmqtest.Wanted{Message: "1001", Topic: "orders", Group: "billing"}
		equal(t, must(shop(t).ExplainWanted(wanted))(t).Reason, "ACKNOWLEDGED")
	},
	"RocketMQ.History": func(t *testing.T) {
		equal(t, must(shop(t).History("1001"))(t).Steps[0].Kind, "sent")
	},
	"RocketMQ.HistoryOf": func(t *testing.T) {
		steps := must(shop(t).HistoryOf(rocketmqtest.Wanted{Message: "1001", Topic: "orders", Group: "billing"}))(t).Steps
		kinds := names(steps, func(each rocketmqtest.Step) string { return each.Kind })
		equal(t, kinds, []string{"sent", "delivered", "acknowledged"})
	},
	"RocketMQ.ExplainGroup": func(t *testing.T) {
		contains(t, must(shop(t).ExplainGroup("billing"))(t).String(), "1 message in flight")
	},
	"RocketMQ.ExplainClient": func(t *testing.T) {
		contains(t, must(shop(t).ExplainClient("c1"))(t).String(), "1 message in flight")
	},
	"RocketMQ.Warnings": func(t *testing.T) {
		groups := names(must(shop(t).Warnings())(t), func(each rocketmqtest.Warning) string { return each.Group })
		equal(t, has(t, groups, "mixed"), true)
	},
	"RocketMQ.Metrics": func(t *testing.T) {
		contains(t, must(shop(t).Metrics())(t), "# TYPE rocketmq_")
	},
	"RocketMQ.ReceiveMetrics": func(t *testing.T) {
		equal(t, must(shop(t).ReceiveMetrics())(t), rocketmqtest.ReceiveMetrics{})
	},
	"RocketMQ.CertificateAuthority": func(t *testing.T) {
		contains(t, must(shop(t).CertificateAuthority())(t), "-----BEGIN CERTIFICATE-----")
	},
	"RocketMQ.WaitForConsumer": func(t *testing.T) {
		check(t, shop(t).WaitForConsumer("billing", false, time.Second))
		if err := shop(t).WaitForConsumer("ghosts", false, time.Millisecond); err == nil {
			t.Error("a consumer was found")
		}
	},
	"RocketMQ.WaitForProducer": func(t *testing.T) {
		check(t, shop(t).WaitForProducer("shop", time.Second))
		if err := shop(t).WaitForProducer("ghosts", time.Millisecond); err == nil {
			t.Error("a producer was found")
		}
	},

	"Message.Text": func(t *testing.T) {
		equal(t, rocketmqtest.Message{Body: []byte("tea")}.Text(), "tea")
	},
	"Error.Error": func(t *testing.T) {
		equal(t, (&rocketmqtest.Error{Detail: "wrong"}).Error(), "wrong")
	},
	"Explanation.String": func(t *testing.T) {
		contains(t, must(shop(t).Explain("1001", "billing"))(t).String(), "billing")
	},
	"IdleExplanation.String": func(t *testing.T) {
		contains(t, must(shop(t).ExplainGroup("billing"))(t).String(), "c1")
	},
	"History.String": func(t *testing.T) {
		contains(t, must(shop(t).History("1001"))(t).String(), " of orders\n")
	},
	"Step.String": func(t *testing.T) {
		contains(t, must(shop(t).History("1001"))(t).Steps[0].String(), "sent")
	},
}
