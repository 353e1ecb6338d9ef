package main

import (
	"context"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"rocketmq-testkit/line"
)

// lite is a pull consumer. The SDK acknowledges what it polled by ACK, which moves the offset that it stores every five
// seconds; so that nothing is committed unasked, ACK waits for the commit.
type lite struct {
	client  rocketmq.PullConsumer
	topic   string
	lock    sync.Mutex
	waiting []*consumer.ConsumeRequest
	queues  map[int]primitive.MessageQueue
	rest    []*line.Message
}

// beyond is an offset that no queue reaches: the answer to it names the bounds of the queue at once.
const beyond = int64(1) << 50

func (d *driver) makeLite(command *line.Command) (line.Reply, error) {
	options, err := d.options(command)
	if err != nil {
		return nil, err
	}
	if len(command.Sub) != 1 {
		return nil, line.Unsupported("a pull consumer of this SDK takes exactly one topic, in %q", "sub")
	}
	// Without this the SDK asks for no messages at all.
	options = append(options, consumer.WithPullBatchSize(line.Or(command.Batch, 32)))
	return nil, d.objects.Make(command.As, func() (any, error) {
		client, err := rocketmq.NewPullConsumer(options...)
		if err != nil {
			return nil, err
		}
		made := &lite{client: client, queues: map[int]primitive.MessageQueue{}}
		for topic, filter := range command.Sub {
			made.topic = topic
			if err := client.Subscribe(topic, selectorOf(filter)); err != nil {
				return nil, err
			}
		}
		return made, client.Start()
	})
}

func (d *driver) poll(command *line.Command) (line.Reply, error) {
	made, err := line.Get[*lite](&d.objects, command.On)
	if err != nil {
		return nil, err
	}
	made.lock.Lock()
	defer made.lock.Unlock()
	most := int(line.Or(command.Max, 32))
	wait := time.Duration(line.Or(command.Ms, 1000)) * time.Millisecond
	// The first poll waits, the others take what is there already.
	for len(made.rest) < most {
		if len(made.rest) > 0 {
			wait = time.Millisecond
		}
		request, err := made.client.Poll(context.Background(), wait)
		if consumer.IsNoNewMsgError(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		made.waiting = append(made.waiting, request)
		made.queues[request.GetMQ().QueueId] = *request.GetMQ()
		for _, message := range request.GetMsgList() {
			made.rest = append(made.rest, stored(message))
		}
	}
	most = min(most, len(made.rest))
	messages := append([]*line.Message{}, made.rest[:most]...)
	made.rest = made.rest[most:]
	return line.Reply{"messages": messages}, nil
}

func (d *driver) commit(command *line.Command) (line.Reply, error) {
	made, err := line.Get[*lite](&d.objects, command.On)
	if err != nil {
		return nil, err
	}
	made.lock.Lock()
	defer made.lock.Unlock()
	for _, request := range made.waiting {
		made.client.ACK(context.Background(), request, consumer.ConsumeSuccess)
	}
	made.waiting = nil
	return nil, made.client.PersistOffset(context.Background(), made.topic)
}

func (d *driver) offsets(command *line.Command) (line.Reply, error) {
	made, err := line.Get[*lite](&d.objects, command.On)
	if err != nil {
		return nil, err
	}
	if command.Queue == nil {
		return nil, line.Bad("field %q is missing", "queue")
	}
	made.lock.Lock()
	known, seen := made.queues[*command.Queue]
	made.lock.Unlock()
	if !seen || (command.Topic != "" && command.Topic != made.topic) {
		return nil, line.Unsupported("this SDK names a queue only after messages came from it")
	}
	queue := known
	bounds, err := made.client.PullFrom(context.Background(), &queue, beyond, 1)
	if err != nil {
		return nil, err
	}
	committed, err := made.client.CurrentOffset(&known)
	reply := line.Reply{"min": bounds.MinOffset, "max": bounds.MaxOffset, "committed": nil}
	if committed >= 0 {
		reply["committed"] = committed
	}
	return reply, err
}

func (l *lite) shutdown() error { return l.client.Shutdown() }
