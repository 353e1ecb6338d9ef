// Command go_grpc drives the Go SDK of the gRPC protocol (rocketmq-clients/golang) by the driver protocol.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
	"google.golang.org/grpc/status"

	"rocketmq-testkit/line"
)

type driver struct {
	*line.Driver
	endpoint string
	objects  line.Objects
	received received
}

func main() {
	endpoint := flag.String("endpoint", "", "HOST:PORT of the gRPC proxy")
	tls := flag.Bool("tls", false, "talk TLS; this SDK accepts every certificate")
	flag.String("ca", "", "not used: this SDK has no way to verify")
	flag.Bool("slow", false, "not used: this SDK has no intervals to shorten")
	flag.Parse()
	if *endpoint == "" {
		fmt.Fprintln(os.Stderr, "--endpoint HOST:PORT is missing")
		os.Exit(2)
	}
	rmq.EnableSsl = *tls
	d := &driver{Driver: &line.Driver{
		Package:  "github.com/apache/rocketmq-clients/golang/v5",
		Protocol: "grpc",
		Modes:    []string{"concurrent", "orderly"},
		Outcomes: []line.Did{line.Success, line.Fail, line.Hang, line.Throw},
		Options:  []string{"namespace"},
		Explain:  explain,
	}, endpoint: *endpoint}
	d.Verbs = map[string]line.Handler{
		"producer":   d.makeProducer,
		"send":       d.send,
		"send_async": d.sendAsync,
		"send_many":  d.sendMany,
		"send_tx":    d.sendTransaction,
		"recall":     d.recall,
		"simple":     d.makeSimple,
		"receive":    d.receive,
		"ack":        d.ack,
		"invisible":  d.invisible,
		"drain":      d.drain,
		"push":       d.makePush,
		"count":      d.count,
		"close":      d.close,
	}
	if err := d.Protect(); err != nil {
		fmt.Fprintln(os.Stderr, "standard output:", err)
		os.Exit(1)
	}
	d.Run()
}

func (d *driver) config(group, namespace string) *rmq.Config {
	// The SDK signs every call, so it wants credentials even where nobody checks them.
	signed := &credentials.SessionCredentials{
		AccessKey:    os.Getenv("TESTKIT_ACCESS_KEY"),
		AccessSecret: os.Getenv("TESTKIT_SECRET_KEY"),
	}
	return &rmq.Config{Endpoint: d.endpoint, NameSpace: namespace, ConsumerGroup: group, Credentials: signed}
}

func (d *driver) close(command *line.Command) (line.Reply, error) {
	client, err := d.objects.Take(command.On)
	if err != nil {
		return nil, err
	}
	switch client := client.(type) {
	case *producer:
		return nil, client.stop()
	case rmq.SimpleConsumer:
		return nil, client.GracefulStop()
	case *push:
		return nil, client.consumer.GracefulStop()
	}
	return nil, fmt.Errorf("cannot close a %T", client)
}

// explain finds the status of the proxy, or that of the transport, inside the SDK's own errors.
func explain(err error) (string, *int64) {
	if answer, found := rmq.AsErrRpcStatus(err); found {
		return "ErrRpcStatus", line.Ptr(int64(answer.GetCode()))
	}
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if transport, found := cause.(interface{ GRPCStatus() *status.Status }); found {
			return "grpc.Status", line.Ptr(int64(transport.GRPCStatus().Code()))
		}
	}
	return "", nil
}

func shown(view *rmq.MessageView) *line.Message {
	message := &line.Message{
		ID:     line.Some(view.GetMessageId()),
		Topic:  view.GetTopic(),
		Body:   view.GetBody(),
		Tag:    view.GetTag(),
		Keys:   append([]string{}, view.GetKeys()...),
		Props:  map[string]string{},
		Group:  view.GetMessageGroup(),
		Offset: line.Ptr(view.GetOffset()),
	}
	for name, value := range view.GetProperties() {
		message.Props[name] = value
	}
	if attempt := int64(view.GetDeliveryAttempt()); attempt > 0 {
		message.Attempt = &attempt
	}
	message.Born = millis(view.GetBornTimestamp())
	message.DeliverAt = millis(view.GetDeliveryTimestamp())
	message.BornHost = view.GetBornHost()
	return message
}

func millis(at *time.Time) *int64 {
	if at == nil {
		return nil
	}
	return line.Ptr(at.UnixMilli())
}
