package main

import (
	"context"
	"sort"
	"time"

	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"rocketmq-testkit/line"
)

// adminSeconds is how long a call of an admin that takes a limit may last.
const adminSeconds = 5 * time.Second

// administrator is an admin of the protocol.
type administrator struct{ client admin.Admin }

func (a *administrator) shutdown() error { return a.client.Close() }

func (d *driver) makeAdmin(command *line.Command) (line.Reply, error) {
	return nil, d.objects.Make(command.As, func() (any, error) {
		client, err := admin.NewAdmin(
			admin.WithResolver(primitive.NewPassthroughResolver(d.namesrv)), admin.WithCredentials(credentials()))
		return &administrator{client}, err
	})
}

// on finds the admin of a command and refuses one in which a needed text is missing.
func (d *driver) admin(command *line.Command, needed ...string) (admin.Admin, error) {
	made, err := line.Get[*administrator](&d.objects, command.On)
	if err != nil {
		return nil, err
	}
	return made.client, line.Need(needed...)
}

func (d *driver) createTopic(command *line.Command) (line.Reply, error) {
	// Without the broker's address the SDK would send the request to nobody.
	client, err := d.admin(command, "topic", command.Topic, "broker", command.Broker)
	if err != nil {
		return nil, err
	}
	options := []admin.OptionCreate{admin.WithTopicCreate(command.Topic), admin.WithBrokerAddrCreate(command.Broker)}
	if command.Queues != nil {
		options = append(options, admin.WithReadQueueNums(*command.Queues), admin.WithWriteQueueNums(*command.Queues))
	}
	return nil, client.CreateTopic(context.Background(), options...)
}

func (d *driver) deleteTopic(command *line.Command) (line.Reply, error) {
	client, err := d.admin(command, "topic", command.Topic)
	if err != nil {
		return nil, err
	}
	options := []admin.OptionDelete{admin.WithTopicDelete(command.Topic)}
	if command.Broker != "" {
		options = append(options, admin.WithBrokerAddrDelete(command.Broker))
	}
	return nil, client.DeleteTopic(context.Background(), options...)
}

func (d *driver) topics(command *line.Command) (line.Reply, error) {
	client, err := d.admin(command)
	if err != nil {
		return nil, err
	}
	list, err := client.FetchAllTopicList(context.Background())
	if err != nil {
		return nil, err
	}
	sort.Strings(list.TopicList)
	return line.Reply{"topics": list.TopicList}, nil
}

func (d *driver) groups(command *line.Command) (line.Reply, error) {
	client, err := d.admin(command, "broker", command.Broker)
	if err != nil {
		return nil, err
	}
	table, err := client.GetAllSubscriptionGroup(context.Background(), command.Broker, adminSeconds)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for name := range table.SubscriptionGroupTable {
		names = append(names, name)
	}
	sort.Strings(names)
	return line.Reply{"groups": names}, nil
}

func (d *driver) route(command *line.Command) (line.Reply, error) {
	client, err := d.admin(command, "topic", command.Topic)
	if err != nil {
		return nil, err
	}
	found, err := client.FetchPublishMessageQueues(context.Background(), command.Topic)
	queues := []line.Queue{}
	for _, queue := range found {
		queues = append(queues, line.Queue{Topic: queue.Topic, Broker: queue.BrokerName, Queue: queue.QueueId})
	}
	return line.Reply{"queues": queues}, err
}
