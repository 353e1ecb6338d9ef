package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	v2 "github.com/apache/rocketmq-clients/golang/v5/protocol/v2"

	"rocketmq-testkit/line"
)

// received keeps every message of every receive: a test may acknowledge one twice, or late.
type received struct {
	lock  sync.Mutex
	views []*rmq.MessageView
}

func (r *received) keep(view *rmq.MessageView) int64 {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.views = append(r.views, view)
	return int64(len(r.views))
}

func (r *received) get(handle int64) (*rmq.MessageView, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if handle < 1 || handle > int64(len(r.views)) {
		return nil, &line.Refusal{Kind: "UnknownHandle", Text: fmt.Sprintf("handle %d was never given out", handle)}
	}
	return r.views[handle-1], nil
}

func filters(command *line.Command) (map[string]*rmq.FilterExpression, error) {
	if err := line.Need("group", command.Group); err != nil {
		return nil, err
	}
	if len(command.Sub) == 0 {
		return nil, line.Bad("field %q is missing", "sub")
	}
	made := map[string]*rmq.FilterExpression{}
	for topic, filter := range command.Sub {
		switch strings.ToUpper(filter.Type) {
		case "", "TAG":
			if filter.Expr == "" {
				filter.Expr = "*"
			}
			made[topic] = rmq.NewFilterExpression(filter.Expr)
		case "SQL92", "SQL":
			made[topic] = rmq.NewFilterExpressionWithType(filter.Expr, rmq.SQL92)
		default:
			return nil, line.Bad("filter type %q is neither TAG nor SQL92", filter.Type)
		}
	}
	return made, nil
}

func (d *driver) makeSimple(command *line.Command) (line.Reply, error) {
	subscriptions, err := filters(command)
	if err != nil {
		return nil, err
	}
	options := []rmq.SimpleConsumerOption{rmq.WithSimpleSubscriptionExpressions(subscriptions)}
	if command.AwaitMs != nil {
		options = append(options, rmq.WithSimpleAwaitDuration(duration(*command.AwaitMs)))
	}
	return nil, d.objects.Make(command.As, func() (any, error) {
		consumer, err := rmq.NewSimpleConsumer(d.config(command.Group, command.Namespace), options...)
		if err == nil {
			err = consumer.Start()
		}
		return consumer, err
	})
}

func (d *driver) receive(command *line.Command) (line.Reply, error) {
	consumer, err := line.Get[rmq.SimpleConsumer](&d.objects, command.On)
	if err != nil {
		return nil, err
	}
	views, err := take(consumer, command, line.Or(command.Max, 32))
	messages := []*line.Message{}
	for _, view := range views {
		message := shown(view)
		message.H = line.Ptr(d.received.keep(view))
		messages = append(messages, message)
	}
	return line.Reply{"messages": messages}, err
}

// take receives once; that there is nothing is no error, though the SDK makes it one.
func take(consumer rmq.SimpleConsumer, command *line.Command, max int32) ([]*rmq.MessageView, error) {
	invisible := duration(line.Or(command.InvisibleMs, 30_000))
	views, err := consumer.Receive(context.Background(), max, invisible)
	var answer *rmq.ErrRpcStatus
	if errors.As(err, &answer) && answer.Code == int32(v2.Code_MESSAGE_NOT_FOUND) {
		err = nil
	}
	return views, err
}

func (d *driver) drain(command *line.Command) (line.Reply, error) {
	consumer, err := line.Get[rmq.SimpleConsumer](&d.objects, command.On)
	if err != nil {
		return nil, err
	}
	return line.Drain(command, func(max int32) (got, failed int, err error) {
		views, err := take(consumer, command, max)
		for _, view := range views {
			if consumer.Ack(context.Background(), view) != nil {
				failed++
			}
		}
		return len(views), failed, err
	})
}

// each carries out one action for every handle of the command, up to the first error.
func (d *driver) each(command *line.Command, act func(rmq.SimpleConsumer, *rmq.MessageView) error) (line.Reply, error) {
	consumer, err := line.Get[rmq.SimpleConsumer](&d.objects, command.On)
	if err != nil {
		return nil, err
	}
	if command.H == nil {
		return nil, line.Bad("field %q is missing", "h")
	}
	var views []*rmq.MessageView
	for _, handle := range command.H {
		view, err := d.received.get(handle)
		if err != nil {
			return nil, err
		}
		views = append(views, view)
	}
	for _, view := range views {
		if err := act(consumer, view); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (d *driver) ack(command *line.Command) (line.Reply, error) {
	return d.each(command, func(consumer rmq.SimpleConsumer, view *rmq.MessageView) error {
		return consumer.Ack(context.Background(), view)
	})
}

func (d *driver) invisible(command *line.Command) (line.Reply, error) {
	if command.Ms == nil {
		return nil, line.Bad("field %q is missing", "ms")
	}
	return d.each(command, func(consumer rmq.SimpleConsumer, view *rmq.MessageView) error {
		return consumer.ChangeInvisibleDuration(view, duration(*command.Ms))
	})
}

func (d *driver) makePush(command *line.Command) (line.Reply, error) {
	subscriptions, err := filters(command)
	if err != nil {
		return nil, err
	}
	// The order of a gRPC push consumer comes from its group; the SDK has no switch for it.
	if command.Mode != "" && command.Mode != "concurrent" && command.Mode != "orderly" {
		return nil, line.Unsupported("a gRPC push consumer has no mode %q", command.Mode)
	}
	if command.Suspend != nil {
		return nil, line.Unsupported("only the SDK's consumers of lite topics can suspend")
	}
	script := line.NewScript(command)
	options := []rmq.PushConsumerOption{
		rmq.WithPushSubscriptionExpressions(subscriptions),
		rmq.WithPushMessageListener(&rmq.FuncMessageListener{Consume: func(view *rmq.MessageView) rmq.ConsumerResult {
			switch script.Listen(d.Driver, command.As, shown(view), nil) {
			case line.Success:
				return rmq.SUCCESS
			case line.Throw:
				panic("the listener panics, as the script says")
			default:
				return rmq.FAILURE
			}
		}}),
	}
	if command.Threads > 0 {
		options = append(options, rmq.WithPushConsumptionThreadCount(int32(command.Threads)))
	}
	return nil, d.objects.Make(command.As, func() (any, error) {
		consumer, err := rmq.NewPushConsumer(d.config(command.Group, command.Namespace), options...)
		if err == nil {
			err = consumer.Start()
		}
		return &push{consumer, script}, err
	})
}

// push is a push consumer and what its listener does.
type push struct {
	consumer rmq.PushConsumer
	script   *line.Script
}

func (d *driver) count(command *line.Command) (line.Reply, error) {
	made, err := line.Get[*push](&d.objects, command.On)
	if err != nil {
		return nil, err
	}
	return made.script.Calls(), nil
}

func duration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
