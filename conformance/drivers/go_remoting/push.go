package main

import (
	"context"
	"errors"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"rocketmq-testkit/line"
)

// push is a push consumer, what its listener does, and the producer of its replies.
type push struct {
	*driver
	name    string
	client  rocketmq.PushConsumer
	script  *line.Script
	orderly bool
	pause   *int64
	reply   *string
	once    sync.Once
	replier *sender
}

// virtualNodes is how many places a consumer has on the ring of consistent hashing: what the Java SDK gives it.
const virtualNodes = 10

// allocations are the ways in which consumers divide queues, by the names that brokers and the Java SDK have for them.
var allocations = map[string]consumer.AllocateStrategy{
	"AVG":             consumer.AllocateByAveragely,
	"AVG_BY_CIRCLE":   consumer.AllocateByAveragelyCircle,
	"CONSISTENT_HASH": consumer.AllocateByConsistentHash(virtualNodes),
}

// options are what push and pull consumers have in common.
func (d *driver) options(command *line.Command) ([]consumer.Option, error) {
	if err := line.Need("group", command.Group); err != nil {
		return nil, err
	}
	options := []consumer.Option{
		consumer.WithNameServer(d.namesrv),
		consumer.WithCredentials(credentials()),
		consumer.WithInstance(instance(command.As)),
		consumer.WithGroupName(command.Group),
	}
	if command.Namespace != "" {
		options = append(options, consumer.WithNamespace(command.Namespace))
	}
	if command.Trace != "" {
		options = append(options, consumer.WithTrace(d.traces(command.Trace)))
	}
	switch command.From {
	case "", "last":
	case "first":
		options = append(options, consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	default:
		return nil, line.Bad("from is neither first nor last")
	}
	return options, nil
}

func (d *driver) makePush(command *line.Command) (line.Reply, error) {
	options, err := d.options(command)
	if err != nil {
		return nil, err
	}
	if command.Suspend != nil && command.Mode != "orderly" {
		return nil, line.Unsupported("only an orderly consumer can suspend")
	}
	made := &push{
		driver: d, name: command.As, script: line.NewScript(command), pause: command.SuspendMs, reply: command.Answer,
	}
	switch command.Mode {
	case "", "concurrent":
	case "orderly":
		made.orderly = true
		options = append(options, consumer.WithConsumerOrder(true))
		if !d.slow {
			options = append(options, consumer.WithRebalanceLockInterval(time.Second))
		}
	case "broadcast":
		options = append(options, consumer.WithConsumerModel(consumer.BroadCasting))
	default:
		return nil, line.Unsupported("this SDK has no push mode %q", command.Mode)
	}
	if command.MaxReconsume != nil {
		options = append(options, consumer.WithMaxReconsumeTimes(*command.MaxReconsume))
	}
	if command.Allocate != "" {
		strategy, found := allocations[command.Allocate]
		if !found {
			return nil, line.Unsupported("this driver has no allocation %q", command.Allocate)
		}
		options = append(options, consumer.WithStrategy(strategy))
	}
	if command.Threads > 0 {
		options = append(options, consumer.WithConsumeGoroutineNums(command.Threads))
	}
	return nil, d.objects.Make(command.As, func() (any, error) {
		client, err := rocketmq.NewPushConsumer(options...)
		if err != nil {
			return nil, err
		}
		made.client = client
		for topic, filter := range command.Sub {
			if err := client.Subscribe(topic, selectorOf(filter), made.listen); err != nil {
				return nil, err
			}
		}
		return made, client.Start()
	})
}

func selectorOf(filter line.Filter) consumer.MessageSelector {
	made := consumer.MessageSelector{Type: consumer.TAG, Expression: filter.Expr}
	if filter.Type != "" {
		made.Type = consumer.ExpressionType(filter.Type)
	}
	if filter.Expr == "" {
		made.Expression = "*"
	}
	return made
}

// listen gets one message at a time, which is the SDK's default.
func (p *push) listen(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	for _, message := range messages {
		var work func() error
		if p.reply != nil && consumer.GetReplyToClient(message) != "" {
			work = func() error { return p.answer(message) }
		}
		did := p.script.Listen(p.Driver, p.name, stored(message), work)
		if did == line.Success {
			continue
		}
		result := consumer.ConsumeRetryLater
		if p.orderly {
			result = consumer.SuspendCurrentQueueAMoment
		}
		if did == line.Suspend && p.pause != nil {
			if orderly, found := primitive.GetOrderlyCtx(ctx); found {
				orderly.SuspendCurrentQueueTimeMillis = int(*p.pause)
			}
		}
		if did == line.Throw {
			return result, errThrown
		}
		return result, nil
	}
	return consumer.ConsumeSuccess, nil
}

// errThrown is what a listener returns that is to throw: the SDK forgets the message of one that panics.
var errThrown = errors.New("the listener fails with an error, as the script says")

func (p *push) answer(request *primitive.MessageExt) error {
	p.once.Do(func() { p.replier = &sender{driver: p.driver, name: p.name + "-reply", group: p.name + "-reply"} })
	client, err := p.replier.client()
	if err != nil {
		return err
	}
	reply, err := consumer.CreateReplyMessage(request, []byte(*p.reply))
	if err != nil {
		return err
	}
	// The SDK reads the text as properties and leaves the body out, which a broker answers with an error.
	reply.Body = []byte(*p.reply)
	_, err = client.SendSync(context.Background(), reply)
	return err
}

func (p *push) shutdown() error {
	err := p.client.Shutdown()
	if p.replier != nil {
		if failed := p.replier.shutdown(); err == nil {
			err = failed
		}
	}
	return err
}

func (d *driver) count(command *line.Command) (line.Reply, error) {
	made, err := line.Get[*push](&d.objects, command.On)
	if err != nil {
		return nil, err
	}
	return made.script.Calls(), nil
}

func (d *driver) pause(command *line.Command) (line.Reply, error) {
	made, err := line.Get[*push](&d.objects, command.On)
	if err == nil {
		made.client.Suspend()
	}
	return nil, err
}

func (d *driver) resume(command *line.Command) (line.Reply, error) {
	made, err := line.Get[*push](&d.objects, command.On)
	if err == nil {
		made.client.Resume()
	}
	return nil, err
}
