package main

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"rocketmq-testkit/line"
)

var states = map[string]primitive.LocalTransactionState{
	"COMMIT":   primitive.CommitMessageState,
	"ROLLBACK": primitive.RollbackMessageState,
	"UNKNOWN":  primitive.UnknowState,
}

var statuses = map[primitive.SendStatus]string{
	primitive.SendOK:                "SEND_OK",
	primitive.SendFlushDiskTimeout:  "FLUSH_DISK_TIMEOUT",
	primitive.SendFlushSlaveTimeout: "FLUSH_SLAVE_TIMEOUT",
	primitive.SendSlaveNotAvailable: "SLAVE_NOT_AVAILABLE",
}

// sender is one producer of the protocol. The SDK's transaction producer can send nothing but transactions, so that one
// with a check has a plain one beside it, made when it is wanted.
type sender struct {
	*driver
	name        string
	group       string
	namespace   string
	trace       string
	lock        sync.Mutex
	plain       rocketmq.Producer
	transaction rocketmq.TransactionProducer
	listener    *listener
}

func (d *driver) makeProducer(command *line.Command) (line.Reply, error) {
	made := &sender{
		driver: d, name: command.As, group: command.Group, namespace: command.Namespace, trace: command.Trace,
	}
	return nil, d.objects.Make(command.As, func() (any, error) {
		if command.Check == nil {
			_, err := made.client()
			return made, err
		}
		made.listener = &listener{driver: d, name: command.As, answers: command.Check}
		transaction, err := rocketmq.NewTransactionProducer(made.listener, made.options("")...)
		if err == nil {
			err = transaction.Start()
		}
		made.transaction = transaction
		return made, err
	})
}

func (s *sender) options(suffix string) []producer.Option {
	options := []producer.Option{
		producer.WithNameServer(s.namesrv),
		producer.WithCredentials(credentials()),
		producer.WithInstanceName(instance(s.name + suffix)),
		producer.WithQueueSelector(&selector{fair: producer.NewRoundRobinQueueSelector(), hashed: producer.NewHashQueueSelector()}),
	}
	if s.namespace != "" {
		options = append(options, producer.WithNamespace(s.namespace))
	}
	if s.trace != "" {
		options = append(options, producer.WithTrace(s.traces(s.trace)))
	}
	if s.group != "" {
		// A broker asks any producer of a group about a transaction, and the plain one would never answer.
		options = append(options, producer.WithGroupName(s.group+suffix))
	}
	return options
}

// client returns the producer for plain messages, started.
func (s *sender) client() (rocketmq.Producer, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.plain != nil {
		return s.plain, nil
	}
	suffix := ""
	if s.listener != nil {
		suffix = "-plain"
	}
	plain, err := rocketmq.NewProducer(s.options(suffix)...)
	if err == nil {
		err = plain.Start()
	}
	if err != nil {
		return nil, err
	}
	s.plain = plain
	return plain, nil
}

func (s *sender) shutdown() error {
	var err error
	if s.plain != nil {
		err = s.plain.Shutdown()
	}
	if s.transaction != nil {
		if failed := s.transaction.Shutdown(); err == nil {
			err = failed
		}
	}
	return err
}

// selector takes the queue that the command names, else that of the sharding key, else the next one.
type selector struct{ fair, hashed producer.QueueSelector }

func (s *selector) Select(message *primitive.Message, queues []*primitive.MessageQueue, last string) *primitive.MessageQueue {
	if message.Queue != nil {
		for _, queue := range queues {
			if queue.QueueId == message.Queue.QueueId {
				return queue
			}
		}
		return nil
	}
	if message.GetShardingKey() != "" {
		return s.hashed.Select(message, queues, last)
	}
	return s.fair.Select(message, queues, last)
}

func outgoing(message *line.Outgoing) (*primitive.Message, error) {
	if err := line.Need("topic", message.Topic); err != nil {
		return nil, err
	}
	made := primitive.NewMessage(message.Topic, message.Body)
	if message.Tag != "" {
		made.WithTag(message.Tag)
	}
	if len(message.Keys) > 0 {
		made.WithKeys(message.Keys)
	}
	for name, value := range message.Props {
		made.WithProperty(name, value)
	}
	if message.Group != "" {
		made.WithShardingKey(message.Group).WithProperty(shardingKeyThere, message.Group)
	}
	if message.DelayLevel != nil {
		made.WithDelayTimeLevel(*message.DelayLevel)
	}
	if message.DeliverAt != nil {
		made.WithProperty(deliverAt, strconv.FormatInt(*message.DeliverAt, 10))
	}
	if message.Queue != nil {
		made.Queue = &primitive.MessageQueue{Topic: message.Topic, QueueId: *message.Queue}
	}
	return made, nil
}

// prepare finds the producer of a send command and makes its messages.
func (d *driver) prepare(command *line.Command, from ...line.Outgoing) (rocketmq.Producer, []*primitive.Message, error) {
	made, err := line.Get[*sender](&d.objects, command.On)
	if err != nil {
		return nil, nil, err
	}
	var messages []*primitive.Message
	for _, one := range from {
		message, err := outgoing(&one)
		if err != nil {
			return nil, nil, err
		}
		messages = append(messages, message)
	}
	client, err := made.client()
	return client, messages, err
}

func receipt(result *primitive.SendResult) line.Reply {
	reply := line.Reply{
		"id": line.Some(result.MsgID), "offset": result.QueueOffset, "offset_id": line.Some(result.OffsetMsgID),
		"transaction": line.Some(result.TransactionID), "status": line.Some(statuses[result.Status]),
	}
	if result.MessageQueue != nil {
		reply["queue"] = result.MessageQueue.QueueId
	}
	return reply
}

func (d *driver) send(command *line.Command) (line.Reply, error) {
	client, messages, err := d.prepare(command, command.Outgoing)
	if err != nil {
		return nil, err
	}
	result, err := client.SendSync(context.Background(), messages...)
	if err != nil {
		return nil, err
	}
	return receipt(result), nil
}

func (d *driver) sendAsync(command *line.Command) (line.Reply, error) {
	client, messages, err := d.prepare(command, command.Outgoing)
	if err != nil {
		return nil, err
	}
	type outcome struct {
		result *primitive.SendResult
		err    error
	}
	// The SDK may call back twice after an error.
	done := make(chan outcome, 2)
	err = client.SendAsync(context.Background(), func(_ context.Context, result *primitive.SendResult, err error) {
		done <- outcome{result, err}
	}, messages...)
	if err != nil {
		return nil, err
	}
	first := <-done
	if first.err != nil {
		return nil, first.err
	}
	return receipt(first.result), nil
}

func (d *driver) oneway(command *line.Command) (line.Reply, error) {
	client, messages, err := d.prepare(command, command.Outgoing)
	if err != nil {
		return nil, err
	}
	return nil, client.SendOneWay(context.Background(), messages...)
}

func (d *driver) sendBatch(command *line.Command) (line.Reply, error) {
	if len(command.Messages) == 0 {
		return nil, line.Bad("field %q is missing", "messages")
	}
	client, messages, err := d.prepare(command, command.Messages...)
	if err != nil {
		return nil, err
	}
	result, err := client.SendSync(context.Background(), messages...)
	if err != nil {
		return nil, err
	}
	reply := receipt(result)
	// The messages of a batch get no id of the client's here, only the broker's.
	ids := result.MsgID
	if ids == "" {
		ids = result.OffsetMsgID
	}
	reply["ids"] = strings.Split(ids, ",")
	return reply, nil
}

func (d *driver) sendMany(command *line.Command) (line.Reply, error) {
	client, _, err := d.prepare(command)
	if err != nil {
		return nil, err
	}
	return line.SendMany(command, func(message *line.Outgoing) error {
		made, err := outgoing(message)
		if err == nil {
			_, err = client.SendSync(context.Background(), made)
		}
		return err
	})
}

// listener answers for the transactions of one producer.
type listener struct {
	*driver
	name     string
	answers  *line.Answers
	outcomes sync.Map
}

// ExecuteLocalTransaction answers what the command of this message wants.
func (l *listener) ExecuteLocalTransaction(message *primitive.Message) primitive.LocalTransactionState {
	outcome, _ := l.outcomes.LoadAndDelete(message)
	state, _ := outcome.(primitive.LocalTransactionState)
	return state
}

// CheckLocalTransaction answers what the producer's command wants.
func (l *listener) CheckLocalTransaction(message *primitive.MessageExt) primitive.LocalTransactionState {
	return states[l.Checked(l.name, l.answers, stored(message), message.TransactionId)]
}

func (d *driver) sendTransaction(command *line.Command) (line.Reply, error) {
	state, known := states[command.Outcome]
	if !known {
		return nil, line.Bad("outcome is none of COMMIT, ROLLBACK, UNKNOWN")
	}
	made, err := line.Get[*sender](&d.objects, command.On)
	if err != nil {
		return nil, err
	}
	if made.transaction == nil {
		return nil, line.Bad("%q was made without %q", command.On, "check")
	}
	message, err := outgoing(&command.Outgoing)
	if err != nil {
		return nil, err
	}
	made.listener.outcomes.Store(message, state)
	result, err := made.transaction.SendMessageInTransaction(context.Background(), message)
	if err != nil {
		made.listener.outcomes.Delete(message)
		return nil, err
	}
	return receipt(result.SendResult), nil
}

func (d *driver) request(command *line.Command) (line.Reply, error) {
	client, messages, err := d.prepare(command, command.Outgoing)
	if err != nil {
		return nil, err
	}
	timeout := time.Duration(line.Or(command.TimeoutMs, 3000)) * time.Millisecond
	reply, err := client.Request(context.Background(), timeout, messages[0])
	if err != nil {
		return nil, err
	}
	return line.Reply{"message": shown(reply)}, nil
}
