package orders

import (
	"context"
	"sync"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// Group is the consumer group of warehouses.
const Group = "warehouse"

// Warehouse ships orders.
type Warehouse struct {
	consumer rocketmq.PushConsumer
	ship     func(order string) error

	mutex   sync.Mutex
	shipped []string
}

// NewWarehouse connects a warehouse to a name server. It calls ship for each order, and again later if ship returns an
// error.
func NewWarehouse(nameServer, name string, ship func(order string) error) (*Warehouse, error) {
	warehouse := &Warehouse{ship: ship}
	var err error
	warehouse.consumer, err = rocketmq.NewPushConsumer(
		consumer.WithNameServer(primitive.NamesrvAddr{nameServer}),
		consumer.WithInstance(name),
		consumer.WithGroupName(Group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithMaxReconsumeTimes(3),
	)
	if err != nil {
		return nil, err
	}
	all := consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}
	if err := warehouse.consumer.Subscribe(Topic, all, warehouse.receive); err != nil {
		return nil, err
	}
	return warehouse, warehouse.consumer.Start()
}

func (w *Warehouse) receive(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	for _, message := range messages {
		order := string(message.Body)
		if err := w.ship(order); err != nil {
			return consumer.ConsumeRetryLater, nil
		}
		w.mutex.Lock()
		w.shipped = append(w.shipped, order)
		w.mutex.Unlock()
	}
	return consumer.ConsumeSuccess, nil
}

// Shipped returns the orders that were shipped.
func (w *Warehouse) Shipped() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return append([]string(nil), w.shipped...)
}

// Close disconnects the warehouse.
func (w *Warehouse) Close() error { return w.consumer.Shutdown() }
