package rocketmqtest_test

import (
	"strings"
	"testing"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

func TestTestsWithResetUseTheSameEmulator(t *testing.T) {
	endpoints := map[string]bool{}
	for _, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			mq := rocketmqtest.RunWithReset(t, "orders")
			endpoints[mq.Endpoint] = true
			if topic := only(t, must(mq.Topics(false))(t)); topic.Name != "orders" {
				t.Errorf("%+v", topic)
			}
			mq.AssertBodies(t, "orders")
			must(mq.Send("orders", "two teas"))(t)
			check(t, mq.CreateTopic(name, "NORMAL", 1))
			if found := must(rocketmqtest.Run(t).Topics(false))(t); len(found) != 0 {
				t.Errorf("a fork has the topics of another test: %+v", found)
			}
			check(t, mq.Reset())
			mq.AssertBodies(t, "orders")
		})
	}
	if len(endpoints) != 1 {
		t.Error(endpoints)
	}
}

func TestResetIsRefusedWhileAnotherTestHoldsTheEmulator(t *testing.T) {
	rocketmqtest.RunWithReset(t, "orders")
	second := &recorder{TB: t}
	func() {
		defer func() {
			if caught := recover(); caught != any(second) {
				panic(caught)
			}
		}()
		rocketmqtest.RunWithReset(second)
	}()
	if !strings.HasPrefix(strings.Join(second.texts, ""), "rocketmqtest: "+t.Name()+" uses the emulator of RunWithReset") {
		t.Error(second.texts)
	}
}
