package rocketmqtest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"
)

// ControlVariable is the environment variable with the control port of a running emulator, such as
// http://127.0.0.1:8090. With it no command is started.
const ControlVariable = "ROCKETMQ_CONTROL_URL"

// TokenVariable is the environment variable with the token of that control port, if it requires one.
const TokenVariable = "ROCKETMQ_CONTROL_TOKEN"

// RocketMQ is a running emulator: name server, broker and gRPC proxy.
type RocketMQ struct {
	// Endpoint is the address for SDKs of the gRPC protocol, such as 127.0.0.1:8081.
	Endpoint string
	// NameServer is the address for SDKs of the remoting protocol.
	NameServer string
	// Broker is the address of the first broker.
	Broker string
	// ControlURL is the address of the control port. Request sends the requests for which there is no method here.
	ControlURL string
	// Clock is the emulator's clock.
	Clock Clock
	// Brokers stops, starts and configures the emulator's brokers.
	Brokers Brokers
	// Faults are the rules by which the emulator loses, delays or refuses what clients and broker exchange.
	Faults Faults
	// Inspect lists everything that the emulator holds.
	Inspect Inspection
	// Journal has the requests of clients and their outcomes.
	Journal Journal
	// Snapshots keeps states, to which the emulator can return.
	Snapshots Snapshots

	control *control
	release func() error
	// prepare restores, after a reset, the topics of Run and the addresses of Mapped.
	prepare func() error
}

func connected(found addresses, token string, release func() error) *RocketMQ {
	port := newControl(found.Control, token)
	return &RocketMQ{
		Endpoint: found.Endpoint, NameServer: found.NameServer, Broker: found.Broker, ControlURL: found.Control,
		Clock: Clock{control: port}, Brokers: Brokers{port}, Faults: Faults{port}, Inspect: Inspection{port},
		Journal: Journal{port}, Snapshots: Snapshots{port}, control: port, release: release,
		prepare: func() error { return nil },
	}
}

func (r *RocketMQ) addresses() addresses {
	return addresses{NameServer: r.NameServer, Broker: r.Broker, Endpoint: r.Endpoint, Control: r.ControlURL}
}

// Options are the options of Start.
type Options struct {
	// Topics to create: NAME, NAME:TYPE or NAME:TYPE:QUEUES. TYPE is NORMAL, FIFO, DELAY, TRANSACTION or MIXED.
	Topics []string
	// Command is the path of rocketmq-emulator. If it is empty, it is looked for as the package documentation says.
	Command string
	// Arguments are further options of the command, such as "--brokers", "2".
	Arguments []string
}

// Start starts an emulator in a process of its own. It ends with Stop, or with this process.
func Start(options Options) (*RocketMQ, error) {
	var arguments []string
	for _, topic := range options.Topics {
		arguments = append(arguments, "--topic", topic)
	}
	started, err := startProcess(options.Command, append(arguments, options.Arguments...))
	if err != nil {
		return nil, err
	}
	return connected(started.ready, os.Getenv(TokenVariable), started.stop), nil
}

// Connect returns the emulator with this control port. Stop leaves it running.
//
// If the control port is on another host, such as a container, the other addresses name that host as well, unless the
// emulator advertises addresses.
func Connect(controlURL string) (*RocketMQ, error) {
	base, err := url.Parse(controlURL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("control URL=%s: is not a URL; it is the control port of an emulator; use "+
			"http://127.0.0.1:8090", controlURL)
	}
	token := os.Getenv(TokenVariable)
	found, err := newControl(controlURL, token).ready(connectTimeout)
	if err != nil {
		return nil, err
	}
	return connected(found.seenFrom(base), token, func() error { return nil }), nil
}

// Request sends any other request of the control API, such as GET /v1/brokers. A body of nil sends none, a result of nil
// discards the response; both are values of encoding/json.
func (r *RocketMQ) Request(method, path string, body, result any) error {
	return r.control.call(method, path, body, result)
}

// Stop stops the emulator.
func (r *RocketMQ) Stop() error { return r.release() }

// prepareBy calls a function that prepares the emulator, now and after each reset.
func (r *RocketMQ) prepareBy(preparation func() error) error {
	earlier := r.prepare
	r.prepare = func() error {
		if err := earlier(); err != nil {
			return err
		}
		return preparation()
	}
	return preparation()
}

// Send sends a text to a topic, without a client, and returns the stored message.
func (r *RocketMQ) Send(topic, text string) (Message, error) {
	return r.SendMessage(topic, NewMessage{Body: []byte(text)})
}

// SendMessage sends a message to a topic, without a client, and returns the stored message.
func (r *RocketMQ) SendMessage(topic string, message NewMessage) (Message, error) {
	var stored Message
	err := r.control.post("/v1/messages/"+segment(topic), message, &stored)
	return stored, err
}

// Messages returns the messages of a topic in the order of their queues.
func (r *RocketMQ) Messages(topic string) ([]Message, error) {
	return r.messages("/v1/messages/" + segment(topic))
}

// DeadLetters returns the messages in the dead letter queue of a group. A group without dead letters has none; a group
// that does not exist is an error.
func (r *RocketMQ) DeadLetters(group string) ([]Message, error) {
	return r.messages("/v1/groups/" + segment(group) + "/dead-letters")
}

// RetryMessages returns the messages that wait in the retry topics of a group.
func (r *RocketMQ) RetryMessages(group string) ([]Message, error) {
	return r.messages("/v1/groups/" + segment(group) + "/retry-messages")
}

// HalfMessages returns the half messages of a topic whose transactions are not decided. The topic "" stands for all.
func (r *RocketMQ) HalfMessages(topic string) ([]Message, error) {
	return r.messages("/v1/transactions/half", "topic", topic)
}

// DiscardedMessages returns the half messages of a topic that brokers discarded after the last check. The topic ""
// stands for all.
func (r *RocketMQ) DiscardedMessages(topic string) ([]Message, error) {
	return r.messages("/v1/transactions/discarded", "topic", topic)
}

func (r *RocketMQ) messages(path string, pairs ...string) ([]Message, error) {
	var found struct {
		Messages []Message `json:"messages"`
	}
	err := r.control.get(path, query(pairs...), &found)
	return found.Messages, err
}

// WaitForConsumer waits until a consumer of a group has registered; with assigned, until it also has its queues.
func (r *RocketMQ) WaitForConsumer(group string, assigned bool, timeout time.Duration) error {
	body := map[string]any{"group": group, "assigned": assigned, "timeout": duration(timeout)}
	return r.control.post("/v1/wait/consumer", body, nil)
}

// WaitForProducer waits until a producer has registered: name is the group of a remoting producer, or the topic of a gRPC
// producer. Before that the broker cannot send it transaction checks.
func (r *RocketMQ) WaitForProducer(name string, timeout time.Duration) error {
	return r.control.post("/v1/wait/producer", map[string]any{"name": name, "timeout": duration(timeout)}, nil)
}

// Warnings returns probable mistakes of clients, such as members of a group that subscribe differently.
func (r *RocketMQ) Warnings() ([]Warning, error) {
	var found struct {
		Warnings []Warning `json:"warnings"`
	}
	err := r.control.get("/v1/warnings", nil, &found)
	return found.Warnings, err
}

// Metrics returns the metrics of the emulator in the text format of Prometheus.
func (r *RocketMQ) Metrics() (string, error) { return r.control.text("/metrics") }

// ReceiveMetrics returns counters of receives since the start, and the number of receives in progress.
func (r *RocketMQ) ReceiveMetrics() (ReceiveMetrics, error) {
	var found struct {
		Receive ReceiveMetrics `json:"receive"`
	}
	err := r.control.get("/v1/receive-metrics", nil, &found)
	return found.Receive, err
}

// CertificateAuthority returns the certificate, in PEM, that clients trust if the emulator uses TLS.
func (r *RocketMQ) CertificateAuthority() (string, error) { return r.control.text("/v1/ca") }

// IsNotFound is true for the error about a topic, group, client, broker or rule that does not exist.
func IsNotFound(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Status == 404
}

func query(pairs ...string) url.Values {
	values := url.Values{}
	for at := 0; at < len(pairs); at += 2 {
		if pairs[at+1] != "" {
			values.Set(pairs[at], pairs[at+1])
		}
	}
	return values
}
