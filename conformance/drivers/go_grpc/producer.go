package main

import (
	"context"
	"sync"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"

	"rocketmq-testkit/line"
)

var resolutions = map[string]rmq.TransactionResolution{
	"COMMIT": rmq.COMMIT, "ROLLBACK": rmq.ROLLBACK, "UNKNOWN": rmq.UNKNOWN,
}

func (d *driver) makeProducer(command *line.Command) (line.Reply, error) {
	made := &producer{driver: d, namespace: command.Namespace}
	if command.Check != nil {
		made.options = append(made.options, rmq.WithTransactionChecker(&rmq.TransactionChecker{
			Check: func(view *rmq.MessageView) rmq.TransactionResolution {
				return resolutions[d.Checked(command.As, command.Check, shown(view), "")]
			},
		}))
	}
	return nil, d.objects.Make(command.As, func() (any, error) {
		if len(command.Topics) == 0 {
			return made, nil
		}
		_, err := made.running(command.Topics...)
		return made, err
	})
}

// producer starts the SDK's own one with the first topics that it hears of: without a topic the SDK knows no broker to
// ask for settings, and its start would wait for them for ever.
type producer struct {
	*driver
	namespace string
	options   []rmq.ProducerOption
	lock      sync.Mutex
	client    rmq.Producer
}

func (p *producer) running(topics ...string) (rmq.Producer, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.client != nil {
		return p.client, nil
	}
	client, err := rmq.NewProducer(p.config("", p.namespace), append(p.options, rmq.WithTopics(topics...))...)
	if err == nil {
		err = client.Start()
	}
	if err != nil {
		return nil, err
	}
	p.client = client
	return client, nil
}

func (p *producer) stop() error {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.client == nil {
		return nil
	}
	return p.client.GracefulStop()
}

func outgoing(message *line.Outgoing) (*rmq.Message, error) {
	if err := line.Need("topic", message.Topic); err != nil {
		return nil, err
	}
	if message.DelayLevel != nil {
		return nil, line.Unsupported("gRPC SDKs have no delay_level")
	}
	if message.Queue != nil {
		return nil, line.Unsupported("this SDK chooses the queue itself")
	}
	made := &rmq.Message{Topic: message.Topic, Body: message.Body}
	if message.Tag != "" {
		made.SetTag(message.Tag)
	}
	if len(message.Keys) > 0 {
		made.SetKeys(message.Keys...)
	}
	for name, value := range message.Props {
		made.AddProperty(name, value)
	}
	if message.Group != "" {
		made.SetMessageGroup(message.Group)
	}
	if message.DeliverAt != nil {
		made.SetDelayTimestamp(time.UnixMilli(*message.DeliverAt))
	}
	return made, nil
}

// prepare finds the producer of a send command and makes its message.
func (d *driver) prepare(command *line.Command) (rmq.Producer, *rmq.Message, error) {
	message, err := outgoing(&command.Outgoing)
	if err != nil {
		return nil, nil, err
	}
	client, err := d.client(command)
	return client, message, err
}

func (d *driver) client(command *line.Command) (rmq.Producer, error) {
	made, err := line.Get[*producer](&d.objects, command.On)
	if err != nil {
		return nil, err
	}
	if err := line.Need("topic", command.Topic); err != nil {
		return nil, err
	}
	return made.running(command.Topic)
}

func receipts(sent []*rmq.SendReceipt, err error) (line.Reply, error) {
	if err != nil || len(sent) == 0 {
		return line.Reply{"id": nil}, err
	}
	return line.Reply{
		"id": sent[0].MessageID, "offset": sent[0].Offset,
		"transaction": line.Some(sent[0].TransactionId), "recall": line.Some(sent[0].RecallHandle),
	}, nil
}

func (d *driver) send(command *line.Command) (line.Reply, error) {
	producer, message, err := d.prepare(command)
	if err != nil {
		return nil, err
	}
	return receipts(producer.Send(context.Background(), message))
}

func (d *driver) sendAsync(command *line.Command) (line.Reply, error) {
	producer, message, err := d.prepare(command)
	if err != nil {
		return nil, err
	}
	type outcome struct {
		sent []*rmq.SendReceipt
		err  error
	}
	done := make(chan outcome, 1)
	producer.SendAsync(context.Background(), message, func(_ context.Context, sent []*rmq.SendReceipt, err error) {
		done <- outcome{sent, err}
	})
	answer := <-done
	return receipts(answer.sent, answer.err)
}

func (d *driver) sendMany(command *line.Command) (line.Reply, error) {
	producer, err := d.client(command)
	if err != nil {
		return nil, err
	}
	return line.SendMany(command, func(message *line.Outgoing) error {
		made, err := outgoing(message)
		if err == nil {
			_, err = producer.Send(context.Background(), made)
		}
		return err
	})
}

func (d *driver) sendTransaction(command *line.Command) (line.Reply, error) {
	if _, known := resolutions[command.Outcome]; !known {
		return nil, line.Bad("outcome is none of COMMIT, ROLLBACK, UNKNOWN")
	}
	producer, message, err := d.prepare(command)
	if err != nil {
		return nil, err
	}
	transaction := producer.BeginTransaction()
	reply, err := receipts(producer.SendWithTransaction(context.Background(), message, transaction))
	if err != nil {
		return nil, err
	}
	switch command.Outcome {
	case "COMMIT":
		err = transaction.Commit()
	case "ROLLBACK":
		err = transaction.RollBack()
	}
	return reply, err
}

func (d *driver) recall(command *line.Command) (line.Reply, error) {
	producer, err := d.client(command)
	if err != nil {
		return nil, err
	}
	id, err := producer.Recall(context.Background(), command.Topic, command.Handle)
	return line.Reply{"id": id}, err
}
