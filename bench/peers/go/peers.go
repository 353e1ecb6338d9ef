package main

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/nats-io/nats-server/v2/server"
	natstest "github.com/nats-io/nats-server/v2/test"
	natsgo "github.com/nats-io/nats.go"
	goredis "github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	start     = "start"
	roundTrip = "first message sent and received, by clients that connect"
	stop      = "stop"
	text      = "two teas"
)

func kafka(found *table) error {
	const tool = "kfake"
	var cluster *kfake.Cluster
	err := found.time(tool, start, func() (err error) {
		cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
		return err
	})
	if err != nil {
		return err
	}
	err = found.time(tool, roundTrip, func() error {
		client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.DefaultProduceTopic("orders"),
			kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		if err != nil {
			return err
		}
		defer client.Close()
		if err := client.ProduceSync(context.Background(), kgo.StringRecord(text)).FirstErr(); err != nil {
			return err
		}
		return same(string(client.PollFetches(context.Background()).Records()[0].Value))
	})
	if err != nil {
		return err
	}
	return found.time(tool, stop, func() error { cluster.Close(); return nil })
}

func nats(found *table) error {
	const tool = "NATS server, embedded"
	var running *server.Server
	err := found.time(tool, start, func() error {
		options := natstest.DefaultTestOptions
		options.Port = server.RANDOM_PORT
		running = natstest.RunServer(&options)
		return nil
	})
	if err != nil {
		return err
	}
	err = found.time(tool, roundTrip, func() error {
		client, err := natsgo.Connect(running.ClientURL())
		if err != nil {
			return err
		}
		defer client.Close()
		orders, err := client.SubscribeSync("orders")
		if err != nil {
			return err
		}
		if err := client.Publish("orders", []byte(text)); err != nil {
			return err
		}
		message, err := orders.NextMsg(5 * time.Second)
		if err != nil {
			return err
		}
		return same(string(message.Data))
	})
	if err != nil {
		return err
	}
	return found.time(tool, stop, func() error { running.Shutdown(); running.WaitForShutdown(); return nil })
}

func redis(found *table) error {
	const tool = "miniredis"
	var running *miniredis.Miniredis
	err := found.time(tool, start, func() (err error) { running, err = miniredis.Run(); return err })
	if err != nil {
		return err
	}
	err = found.time(tool, roundTrip, func() error {
		client := goredis.NewClient(&goredis.Options{Addr: running.Addr()})
		defer client.Close()
		if err := client.RPush(context.Background(), "orders", text).Err(); err != nil {
			return err
		}
		message, err := client.LPop(context.Background(), "orders").Result()
		if err != nil {
			return err
		}
		return same(message)
	})
	if err != nil {
		return err
	}
	return found.time(tool, stop, func() error { running.Close(); return nil })
}

func same(received string) error {
	if received != text {
		return fmt.Errorf("%q was received instead of %q", received, text)
	}
	return nil
}
