package orders

import (
	"context"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

func TestClientOfGrpcSendsAndReceives(t *testing.T) {
	mq := RunContainer(t, "--topic", "orders")
	config := &rmq.Config{Endpoint: mq.Endpoint, ConsumerGroup: "warehouse", Credentials: &credentials.SessionCredentials{}}
	shop, err := rmq.NewProducer(config, rmq.WithTopics("orders"))
	if err == nil {
		err = shop.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer shop.GracefulStop()
	if _, err := shop.Send(context.Background(), &rmq.Message{Topic: "orders", Body: []byte("two teas")}); err != nil {
		t.Fatal(err)
	}
	warehouse, err := rmq.NewSimpleConsumer(config, rmq.WithSimpleAwaitDuration(5*time.Second),
		rmq.WithSimpleSubscriptionExpressions(map[string]*rmq.FilterExpression{"orders": rmq.SUB_ALL}))
	if err == nil {
		err = warehouse.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer warehouse.GracefulStop()
	received, err := warehouse.Receive(context.Background(), 1, 30*time.Second)
	if err != nil || len(received) != 1 || string(received[0].GetBody()) != "two teas" {
		t.Fatalf("%v was received; %v", received, err)
	}
}

func TestClientOfRemotingSends(t *testing.T) {
	mq := RunContainer(t, "--topic", "orders")
	if err := mq.Reset(); err != nil { // the mapped addresses stay
		t.Fatal(err)
	}
	shop, err := rocketmq.NewProducer(producer.WithNameServer(primitive.NamesrvAddr{mq.NameServer}),
		producer.WithGroupName("shop"))
	if err == nil {
		err = shop.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer shop.Shutdown()
	if _, err := shop.SendSync(context.Background(), primitive.NewMessage("orders", []byte("two teas"))); err != nil {
		t.Fatal(err)
	}
	mq.AssertBodies(t, "orders", "two teas")
}
