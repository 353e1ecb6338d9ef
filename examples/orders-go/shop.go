// Package orders is a small order application: a shop that sends orders, and a warehouse that ships them.
package orders

import (
	"context"
	"sync"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// Topic is the topic of orders.
const Topic = "orders"

// tenMinutes is the delay level of a reminder.
const tenMinutes = 14

// Shop sends orders.
type Shop struct {
	producer rocketmq.Producer
	payments rocketmq.TransactionProducer

	mutex sync.Mutex
	paid  map[string]bool
}

// NewShop connects a shop to a name server.
func NewShop(nameServer, name string) (*Shop, error) {
	shop := &Shop{paid: map[string]bool{}}
	options := []producer.Option{
		producer.WithNameServer(primitive.NamesrvAddr{nameServer}),
		producer.WithInstanceName(name),
		producer.WithRetry(2),
	}
	var err error
	if shop.producer, err = rocketmq.NewProducer(append(options, producer.WithGroupName("shop"))...); err != nil {
		return nil, err
	}
	if err = shop.producer.Start(); err != nil {
		return nil, err
	}
	options[1] = producer.WithInstanceName(name + "-payments")
	options = append(options, producer.WithGroupName("payments"))
	if shop.payments, err = rocketmq.NewTransactionProducer(shop, options...); err != nil {
		return nil, err
	}
	return shop, shop.payments.Start()
}

// Order sends an order.
func (s *Shop) Order(number, text string) error {
	message := primitive.NewMessage(Topic, []byte(text)).WithKeys([]string{number})
	_, err := s.producer.SendSync(context.Background(), message)
	return err
}

// Remind sends a reminder that the warehouse gets ten minutes later.
func (s *Shop) Remind(number, text string) error {
	message := primitive.NewMessage(Topic, []byte(text)).WithKeys([]string{number}).WithDelayTimeLevel(tenMinutes)
	_, err := s.producer.SendSync(context.Background(), message)
	return err
}

// OrderWhenPaid sends an order that becomes visible when it is paid.
func (s *Shop) OrderWhenPaid(number, text string) error {
	message := primitive.NewMessage("paid-orders", []byte(text)).WithKeys([]string{number})
	_, err := s.payments.SendMessageInTransaction(context.Background(), message)
	return err
}

// Pay notes a payment. The broker learns of it with its next transaction check.
func (s *Shop) Pay(number string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.paid[number] = true
}

// ExecuteLocalTransaction leaves the decision to the transaction check.
func (s *Shop) ExecuteLocalTransaction(*primitive.Message) primitive.LocalTransactionState {
	return primitive.UnknowState
}

// CheckLocalTransaction commits an order that is paid.
func (s *Shop) CheckLocalTransaction(message *primitive.MessageExt) primitive.LocalTransactionState {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.paid[message.GetKeys()] {
		return primitive.CommitMessageState
	}
	return primitive.UnknowState
}

// Close disconnects the shop.
func (s *Shop) Close() error {
	if err := s.payments.Shutdown(); err != nil {
		return err
	}
	return s.producer.Shutdown()
}
