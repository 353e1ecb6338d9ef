package orders_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"orders"

	"github.com/apache/rocketmq-client-go/v2/rlog"
	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

func init() { rlog.SetLogLevel("error") }

func open(t *testing.T, mq *rocketmqtest.RocketMQ) *orders.Shop {
	t.Helper()
	shop, err := orders.NewShop(mq.NameServer, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shop.Close() })
	return shop
}

func staff(t *testing.T, mq *rocketmqtest.RocketMQ, ship func(string) error) *orders.Warehouse {
	t.Helper()
	warehouse, err := orders.NewWarehouse(mq.NameServer, t.Name()+"-warehouse", ship)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = warehouse.Close() })
	return warehouse
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOrderThatCannotBeShippedIsADeadLetter(t *testing.T) {
	mq := rocketmqtest.Run(t, "orders")
	check(t, open(t, mq).Order("1001", "two teas"))
	staff(t, mq, func(string) error { return errors.New("no tea") })
	check(t, mq.Clock.AdvanceUntil(rocketmqtest.Until{Group: orders.Group, DeadLetters: 1}))
	mq.AssertInDLQ(t, rocketmqtest.About{Key: "1001", Group: orders.Group})
}

func TestLostResponseStoresTheOrderTwice(t *testing.T) {
	mq := rocketmqtest.Run(t, "orders")
	rule, err := mq.Faults.Add(rocketmqtest.Rule{
		When: map[string]any{"operation": "SendMessage", "topic": "orders"}, Then: "drop_response", Times: 1,
	})
	check(t, err)
	check(t, open(t, mq).Order("1001", "two teas"))
	if fired, err := rule.Fired(); fired != 1 || err != nil {
		t.Error(fired, err)
	}
	mq.AssertBodies(t, "orders", "two teas", "two teas") // the SDK has sent it again: consumers must be idempotent
}

func TestOrderIsVisibleOnceItIsPaid(t *testing.T) {
	mq := rocketmqtest.Run(t, "paid-orders:TRANSACTION")
	shop := open(t, mq)
	check(t, shop.OrderWhenPaid("1001", "two teas"))
	mq.AssertBodies(t, "paid-orders")
	shop.Pay("1001")
	check(t, mq.WaitForProducer("payments", 40*time.Second)) // the SDK registers a second after its start
	check(t, mq.Clock.AdvanceUntil(rocketmqtest.Until{Topic: "paid-orders", Messages: 1}))
	mq.AssertCommitted(t, rocketmqtest.About{Key: "1001"})
}

func TestReminderArrivesAfterTenMinutes(t *testing.T) {
	mq := rocketmqtest.Run(t, "orders")
	warehouse := staff(t, mq, func(string) error { return nil })
	begin, err := mq.Clock.Now()
	check(t, err)
	check(t, open(t, mq).Remind("1001", "bring the tea"))
	mq.AssertNotDelivered(t, rocketmqtest.About{Key: "1001"})
	mq.AssertAcknowledged(t, rocketmqtest.About{Key: "1001", Group: orders.Group, Within: time.Hour})
	end, err := mq.Clock.Now()
	check(t, err)
	if passed := end.Sub(begin); passed < 10*time.Minute || passed > 11*time.Minute {
		t.Error(passed)
	}
	if shipped := warehouse.Shipped(); len(shipped) != 1 {
		t.Error(shipped)
	}
}

func TestOrderIsShippedAtTheSecondAttempt(t *testing.T) {
	mq := rocketmqtest.Run(t, "orders")
	var attempts atomic.Int32
	staff(t, mq, func(string) error {
		if attempts.Add(1) == 1 {
			return errors.New("the lorry is late")
		}
		return nil
	})
	check(t, open(t, mq).Order("1001", "two teas"))
	mq.AssertAcknowledged(t, rocketmqtest.About{Key: "1001", Group: orders.Group, Within: time.Hour})
	mq.AssertRetried(t, rocketmqtest.About{Key: "1001", Group: orders.Group}, 1)
	if attempts.Load() != 2 {
		t.Error(attempts.Load())
	}
}
