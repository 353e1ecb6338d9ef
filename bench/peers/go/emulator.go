package main

import (
	"context"
	"fmt"
	"os"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
	"github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

// tests is the number of tests of a test binary here. The process loads code at the first one.
const tests = 4

// emulator measures the process of a test binary, and in it the fork and the reset that tests get.
func emulator(found *table) error {
	const process = "rocketmq-testkit, process of a test binary"
	var shared *rocketmqtest.RocketMQ
	err := found.time(process, start, func() (err error) {
		shared, err = rocketmqtest.Start(rocketmqtest.Options{Topics: []string{"orders"}})
		return err
	})
	if err != nil {
		return err
	}
	tool := "rocketmq-testkit, fork of the first test"
	for range tests {
		if err := test(found, tool, shared); err != nil {
			return err
		}
		tool = "rocketmq-testkit, fork of a later test"
	}
	if err := found.time("rocketmq-testkit, instead of a fork", "reset", shared.Reset); err != nil {
		return err
	}
	return found.time(process, stop, shared.Stop)
}

// test measures one test with a fork.
func test(found *table, tool string, shared *rocketmqtest.RocketMQ) error {
	var fork *rocketmqtest.RocketMQ
	var closed []func() error
	steps := []struct {
		step string
		call func() error
	}{
		{start, func() (err error) { fork, err = shared.Fork(); return err }},
		{roundTrip, func() (err error) { closed, err = sdk(fork.Endpoint); return err }},
		{"message sent and read by the helper", func() error { return helper(fork) }},
	}
	for _, each := range steps {
		if err := found.time(tool, each.step, each.call); err != nil {
			return err
		}
	}
	for _, each := range closed {
		if err := each(); err != nil {
			return err
		}
	}
	return found.time(tool, stop, fork.Stop)
}

// helper sends a message and reads all messages of the topic.
func helper(mq *rocketmqtest.RocketMQ) error {
	if _, err := mq.Send("orders", text); err != nil {
		return err
	}
	messages, err := mq.Messages("orders")
	if err != nil {
		return err
	}
	return same(messages[len(messages)-1].Text())
}

// sdk sends a message with a producer of the official SDK and receives it with a simple consumer. It returns the calls
// that close both.
func sdk(endpoint string) ([]func() error, error) {
	config := &rmq.Config{Endpoint: endpoint, ConsumerGroup: "warehouse", Credentials: &credentials.SessionCredentials{}}
	producer, err := rmq.NewProducer(config, rmq.WithTopics("orders"))
	if err != nil {
		return nil, err
	}
	if err := producer.Start(); err != nil {
		return nil, err
	}
	if _, err := producer.Send(context.Background(), &rmq.Message{Topic: "orders", Body: []byte(text)}); err != nil {
		return nil, err
	}
	consumer, err := rmq.NewSimpleConsumer(config, rmq.WithSimpleAwaitDuration(5*time.Second),
		rmq.WithSimpleSubscriptionExpressions(map[string]*rmq.FilterExpression{"orders": rmq.SUB_ALL}))
	if err != nil {
		return nil, err
	}
	if err := consumer.Start(); err != nil {
		return nil, err
	}
	messages, err := consumer.Receive(context.Background(), 1, 30*time.Second)
	if err != nil {
		return nil, err
	}
	if len(messages) != 1 {
		return nil, fmt.Errorf("%d messages were received", len(messages))
	}
	return []func() error{producer.GracefulStop, consumer.GracefulStop}, same(string(messages[0].GetBody()))
}

func init() {
	// The SDK writes its log to a file in the home folder, unless it is told otherwise.
	os.Setenv("mq.consoleAppender.enabled", "true")
	os.Setenv("rocketmq.client.logLevel", "error")
	rmq.ResetLogger()
	rmq.EnableSsl = true
}
