package rocketmqtest_test

import (
	"testing"
	"time"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

// assertionRows call each assertion: once it holds, and once it fails.
var assertionRows = map[string]func(*testing.T){
	"RocketMQ.AssertBodies": func(t *testing.T) {
		shop(t).AssertBodies(t, "orders", "two teas", "more teas", "a coffee")
		fails(t, "not expected", func(t testing.TB) { shop(t).AssertBodies(t, "orders", "two teas") })
	},
	"RocketMQ.AssertBodiesInOrder": func(t *testing.T) {
		shop(t).AssertBodiesInOrder(t, "orders", "two teas", "a coffee", "more teas")
		fails(t, "order", func(t testing.TB) {
			shop(t).AssertBodiesInOrder(t, "orders", "more teas", "a coffee", "two teas")
		})
	},
	"RocketMQ.AssertSent": asserted((*rocketmqtest.RocketMQ).AssertSent,
		rocketmqtest.About{Topic: "orders", Tag: "a"}, rocketmqtest.About{Topic: "orders", Tag: "c"}, "no message"),
	"RocketMQ.AssertSentTimes": counted((*rocketmqtest.RocketMQ).AssertSentTimes,
		rocketmqtest.About{Topic: "orders", Tag: "a"}, 2, "M1"),
	"RocketMQ.AssertNotSent": asserted((*rocketmqtest.RocketMQ).AssertNotSent,
		rocketmqtest.About{Topic: "orders", Tag: "c"}, rocketmqtest.About{Topic: "orders", Tag: "a"}, "M1"),
	"RocketMQ.AssertDelivered": asserted((*rocketmqtest.RocketMQ).AssertDelivered,
		rocketmqtest.About{Message: "1001", Group: "billing", Client: "c1"}, rocketmqtest.About{Message: "1002"}, "M2"),
	"RocketMQ.AssertDeliveredTimes": counted((*rocketmqtest.RocketMQ).AssertDeliveredTimes,
		rocketmqtest.About{Message: "1001", Group: "billing"}, 1, "M1"),
	"RocketMQ.AssertNotDelivered": asserted((*rocketmqtest.RocketMQ).AssertNotDelivered,
		rocketmqtest.About{Message: "1002"}, rocketmqtest.About{Message: "1001"}, "M1"),
	"RocketMQ.AssertAcknowledged": asserted((*rocketmqtest.RocketMQ).AssertAcknowledged,
		rocketmqtest.About{Message: "1001", Group: "billing"}, rocketmqtest.About{Message: "1003", Group: "billing"}, "M3"),
	"RocketMQ.AssertRetried": counted((*rocketmqtest.RocketMQ).AssertRetried,
		rocketmqtest.About{Message: "2", Group: "delivery"}, 1, "M5"),
	"RocketMQ.AssertInDLQ": asserted((*rocketmqtest.RocketMQ).AssertInDLQ,
		rocketmqtest.About{Message: "1", Group: "delivery"}, rocketmqtest.About{Message: "2", Group: "delivery"}, "M5"),
	"RocketMQ.AssertOrdered": func(t *testing.T) {
		holds := rocketmqtest.About{Topic: "steps", Group: "kitchen", MessageGroup: "table-8"}
		shop(t).AssertOrdered(t, holds, "message_group")
		wrong := rocketmqtest.About{Topic: "steps", Group: "kitchen"}
		fails(t, "table-7", func(t testing.TB) { shop(t).AssertOrdered(t, wrong, "message_group") })
	},
	"RocketMQ.AssertNoLoss": asserted((*rocketmqtest.RocketMQ).AssertNoLoss,
		rocketmqtest.About{Topic: "parcels", Group: "delivery", Key: "1"},
		rocketmqtest.About{Topic: "orders", Group: "billing"}, "M3"),
	"RocketMQ.AssertNoDuplicates": asserted((*rocketmqtest.RocketMQ).AssertNoDuplicates,
		rocketmqtest.About{Topic: "orders", Group: "billing"}, rocketmqtest.About{Topic: "orders", Group: "audit"}, "M1"),
	"RocketMQ.AssertChecked": counted((*rocketmqtest.RocketMQ).AssertChecked,
		rocketmqtest.About{Message: "M10"}, 1, "M10"),
	"RocketMQ.AssertCommitted": asserted((*rocketmqtest.RocketMQ).AssertCommitted,
		rocketmqtest.About{Message: "M11"}, rocketmqtest.About{Message: "M12"}, "M12"),
	"RocketMQ.AssertRolledBack": asserted((*rocketmqtest.RocketMQ).AssertRolledBack,
		rocketmqtest.About{Message: "M12"}, rocketmqtest.About{Message: "M11"}, "M11"),
	"RocketMQ.AssertDelayedUntil": func(t *testing.T) {
		about := rocketmqtest.About{Message: "M13"}
		instant := must(shop(t).Clock.Now())(t).Add(2 * time.Hour)
		shop(t).AssertDelayedUntil(t, about, instant, time.Minute)
		fails(t, "M13", func(t testing.TB) { shop(t).AssertDelayedUntil(t, about, instant.Add(time.Hour), 0) })
	},
	"RocketMQ.AssertIdle": asserted((*rocketmqtest.RocketMQ).AssertIdle,
		rocketmqtest.About{Group: "leaving"}, rocketmqtest.About{Group: "billing"}, "billing"),
	"RocketMQ.AssertLag": counted((*rocketmqtest.RocketMQ).AssertLag,
		rocketmqtest.About{Group: "billing"}, 1, "billing"),
	"RocketMQ.AssertConsumers": counted((*rocketmqtest.RocketMQ).AssertConsumers,
		rocketmqtest.About{Group: "mixed"}, 2, "mixed"),
	"RocketMQ.AssertSubscriptionsAgree": asserted((*rocketmqtest.RocketMQ).AssertSubscriptionsAgree,
		rocketmqtest.About{Group: "billing"}, rocketmqtest.About{Group: "mixed"}, "mixed"),
	"RocketMQ.AssertNoErrors": func(t *testing.T) {
		rocketmqtest.Run(t).AssertNoErrors(t)
		fails(t, "refused", func(t testing.TB) { shop(t).AssertNoErrors(t) })
	},
}

type assertion = func(*rocketmqtest.RocketMQ, testing.TB, rocketmqtest.About)

// asserted returns the row of an assertion that holds for some messages and fails for others.
func asserted(call assertion, holds, wrong rocketmqtest.About, part string) func(*testing.T) {
	return func(t *testing.T) {
		call(shop(t), t, holds)
		fails(t, part, func(failed testing.TB) { call(shop(t), failed, wrong) })
	}
}

type countedAssertion = func(*rocketmqtest.RocketMQ, testing.TB, rocketmqtest.About, int)

// counted returns the row of an assertion that holds for a number and fails for the next one.
func counted(call countedAssertion, about rocketmqtest.About, count int, part string) func(*testing.T) {
	return func(t *testing.T) {
		call(shop(t), t, about, count)
		fails(t, part, func(failed testing.TB) { call(shop(t), failed, about, count+1) })
	}
}
