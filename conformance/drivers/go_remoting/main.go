// Command go_remoting drives the Go SDK of the remoting protocol (rocketmq-client-go) by the driver protocol.
package main

import (
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"rocketmq-testkit/line"
)

type driver struct {
	*line.Driver
	namesrv primitive.NamesrvAddr
	slow    bool
	objects line.Objects
}

// credentials are what requests are signed with; without a key the SDK signs nothing.
func credentials() primitive.Credentials {
	return primitive.Credentials{
		AccessKey: os.Getenv("TESTKIT_ACCESS_KEY"),
		SecretKey: os.Getenv("TESTKIT_SECRET_KEY"),
	}
}

func main() {
	namesrv := flag.String("namesrv", "", "HOST:PORT of the name server, several with ; between them")
	tls := flag.Bool("tls", false, "refused: this SDK has no TLS")
	flag.String("ca", "", "not used")
	slow := flag.Bool("slow", false, "keep the SDK's own intervals")
	flag.Parse()
	addresses, err := resolve(*namesrv)
	if err == nil && *tls {
		err = fmt.Errorf("this SDK has no TLS")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	d := &driver{Driver: &line.Driver{
		Package:     "github.com/apache/rocketmq-client-go/v2",
		Protocol:    "remoting",
		Modes:       []string{"concurrent", "orderly", "broadcast"},
		Outcomes:    []line.Did{line.Success, line.Fail, line.Hang, line.Throw, line.Suspend},
		Allocations: slices.Sorted(maps.Keys(allocations)),
		Options:     []string{"namespace", "trace"},
		Explain:     explain,
	}, namesrv: addresses, slow: *slow}
	d.Verbs = map[string]line.Handler{
		"producer":     d.makeProducer,
		"send":         d.send,
		"send_async":   d.sendAsync,
		"oneway":       d.oneway,
		"send_batch":   d.sendBatch,
		"send_many":    d.sendMany,
		"send_tx":      d.sendTransaction,
		"request":      d.request,
		"push":         d.makePush,
		"count":        d.count,
		"pause":        d.pause,
		"resume":       d.resume,
		"lite":         d.makeLite,
		"poll":         d.poll,
		"commit":       d.commit,
		"offsets":      d.offsets,
		"admin":        d.makeAdmin,
		"create_topic": d.createTopic,
		"delete_topic": d.deleteTopic,
		"topics":       d.topics,
		"groups":       d.groups,
		"route":        d.route,
		"close":        d.close,
	}
	if err := d.Protect(); err != nil {
		fmt.Fprintln(os.Stderr, "standard output:", err)
		os.Exit(1)
	}
	d.Run()
}

// resolve turns names into addresses: the SDK takes nothing but an IP and a port.
func resolve(namesrv string) (primitive.NamesrvAddr, error) {
	var addresses primitive.NamesrvAddr
	for _, one := range strings.Split(namesrv, ";") {
		address, err := net.ResolveTCPAddr("tcp4", one)
		if err != nil || address.IP == nil {
			return nil, fmt.Errorf("--namesrv HOST:PORT is missing or wrong: %q", one)
		}
		addresses = append(addresses, address.String())
	}
	return addresses, nil
}

// traces is where and how a client tells of its messages.
func (d *driver) traces(topic string) *primitive.TraceConfig {
	return &primitive.TraceConfig{
		TraceTopic:  topic,
		Access:      primitive.Local,
		Resolver:    primitive.NewPassthroughResolver(d.namesrv),
		Credentials: credentials(),
	}
}

// instance keeps the clients of one process apart: with the SDK's default they would share one connection and, worse,
// one queue of transaction checks.
func instance(name string) string { return fmt.Sprintf("%d#%s", os.Getpid(), name) }

type closer interface{ shutdown() error }

func (d *driver) close(command *line.Command) (line.Reply, error) {
	client, err := d.objects.Take(command.On)
	if err != nil {
		return nil, err
	}
	made, fits := client.(closer)
	if !fits {
		return nil, fmt.Errorf("cannot close a %T", client)
	}
	return nil, made.shutdown()
}

// The SDK puts a broker's answer into the text of an otherwise nameless error.
var answer = regexp.MustCompile(`^CODE: (\d+)`)

func explain(err error) (string, *int64) {
	if found := answer.FindStringSubmatch(err.Error()); found != nil {
		code, _ := strconv.ParseInt(found[1], 10, 64)
		return "MQBrokerErr", &code
	}
	return "", nil
}

// Both names of the property are in use: the first is this SDK's, the second that of the server and of other SDKs.
const (
	shardingKeyHere  = primitive.PropertyShardingKey
	shardingKeyThere = "__SHARDINGKEY"
	deliverAt        = "TIMER_DELIVER_MS"
)

func shown(message *primitive.Message) *line.Message {
	props := message.GetProperties()
	group := props[shardingKeyThere]
	if group == "" {
		group = props[shardingKeyHere]
	}
	made := &line.Message{
		Topic: message.Topic, Body: message.Body, Tag: line.Some(message.GetTags()), Keys: []string{}, Props: props,
		Group: line.Some(group),
	}
	if keys := message.GetKeys(); keys != "" {
		made.Keys = strings.Split(keys, primitive.PropertyKeySeparator)
	}
	if at, err := strconv.ParseInt(props[deliverAt], 10, 64); err == nil {
		made.DeliverAt = &at
	}
	return made
}

func stored(message *primitive.MessageExt) *line.Message {
	made := shown(&message.Message)
	made.ID = line.Some(message.MsgId)
	made.Attempt = line.Ptr(int64(message.ReconsumeTimes) + 1)
	made.Offset = line.Ptr(message.QueueOffset)
	made.Born = line.Ptr(message.BornTimestamp)
	made.Stored = line.Ptr(message.StoreTimestamp)
	made.OffsetID = line.Some(message.OffsetMsgId)
	made.BornHost = line.Some(message.BornHost)
	made.StoreHost = line.Some(message.StoreHost)
	if message.Queue != nil {
		made.Queue = line.Ptr(int64(message.Queue.QueueId))
		made.Broker = line.Some(message.Queue.BrokerName)
	}
	return made
}
