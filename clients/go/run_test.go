package rocketmqtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

// roleVariable makes the test binary play another program.
const roleVariable = "ROCKETMQTEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "parent":
		parent()
	default:
		os.Exit(m.Run())
	}
}

// parent starts an emulator, prints its addresses, and waits to be killed.
func parent() {
	mq, err := rocketmqtest.Start(rocketmqtest.Options{Topics: []string{"orders"}})
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(mq.Endpoint); err != nil {
		panic(err)
	}
	select {}
}

func TestMessagesAreSentAndRead(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders", "payments:FIFO:4")
	sent, err := mq.SendMessage("orders", rocketmqtest.NewMessage{
		Body: []byte("two teas"), Tag: "hot", Keys: []string{"1001"}, Properties: map[string]string{"table": "7"},
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := mq.Messages("orders")
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	message := found[0]
	if message.Text() != "two teas" || message.Tag != "hot" || message.Keys[0] != "1001" ||
		message.Properties["table"] != "7" || message.ID != sent.ID || message.StoredAt.IsZero() {
		t.Errorf("%+v", message)
	}
	mq.AssertBodies(t, "orders", "two teas")
	if _, err := mq.SendMessage("payments", rocketmqtest.NewMessage{Body: []byte("12 euro"), MessageGroup: "7"}); err != nil {
		t.Error(err)
	}
}

func TestForksAreIndependent(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	if _, err := mq.Send("orders", "before"); err != nil {
		t.Fatal(err)
	}
	fork, err := mq.Fork()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fork.Send("orders", "in the fork"); err != nil {
		t.Fatal(err)
	}
	if _, err := mq.Send("orders", "in the parent"); err != nil {
		t.Fatal(err)
	}
	fork.AssertBodies(t, "orders", "before", "in the fork")
	mq.AssertBodies(t, "orders", "before", "in the parent")
	if err := fork.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := net.DialTimeout("tcp", fork.Endpoint, time.Second); err == nil {
		t.Error("the fork still listens")
	}
}

func TestClockDeliversDelayedMessages(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "reminders")
	if _, err := mq.SendMessage("reminders", rocketmqtest.NewMessage{
		Body: []byte("drink"), Properties: map[string]string{"DELAY": "14"}, // ten minutes
	}); err != nil {
		t.Fatal(err)
	}
	mq.AssertBodies(t, "reminders")
	begin, err := mq.Clock.Now()
	if err != nil {
		t.Fatal(err)
	}
	if err := mq.Clock.AdvanceUntil(rocketmqtest.Until{Topic: "reminders", Messages: 1}); err != nil {
		t.Fatal(err)
	}
	end, err := mq.Clock.Now()
	if err != nil || end.Sub(begin) < 9*time.Minute {
		t.Errorf("%s %v", end.Sub(begin), err)
	}
	mq.AssertBodies(t, "reminders", "drink")
}

func TestConditionOfTheTestEndsAJump(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "reminders")
	delayed := rocketmqtest.NewMessage{Body: []byte("drink"), Properties: map[string]string{"DELAY": "5"}}
	if _, err := mq.SendMessage("reminders", delayed); err != nil {
		t.Fatal(err)
	}
	arrived := func() bool {
		found, err := mq.Messages("reminders")
		return err == nil && len(found) == 1
	}
	if err := mq.Clock.AdvanceUntilTrue(arrived, time.Hour); err != nil {
		t.Error(err)
	}
	if _, err := mq.SendMessage("reminders", delayed); err != nil {
		t.Fatal(err)
	}
	err := mq.Clock.AdvanceUntilTrue(func() bool { return false }, time.Second)
	if err == nil || !strings.Contains(err.Error(), "the condition did not become true") {
		t.Error(err)
	}
}

func TestRulesAreAddedCountedAndRemoved(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	rule, err := mq.Faults.Add(rocketmqtest.Rule{
		When: map[string]any{"operation": "SendMessage", "topic": "orders"}, Then: "drop_response", Times: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if fired, err := rule.Fired(); fired != 0 || err != nil {
		t.Errorf("%d %v", fired, err)
	}
	if err := rule.Remove(); err != nil {
		t.Error(err)
	}
	if err := rule.Remove(); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
	if names, err := mq.Faults.AddPreset("lossy-acks", nil); err != nil || len(names) == 0 {
		t.Errorf("%v %v", names, err)
	}
	_, err = mq.Faults.Add(rocketmqtest.Rule{Then: "drop_respone"})
	if err == nil || !strings.Contains(err.Error(), "did you mean drop_response?") {
		t.Error(err)
	}
}

func TestExplanationAndHistoryNameTheMessage(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	if _, err := mq.SendMessage("orders", rocketmqtest.NewMessage{Body: []byte("x"), Keys: []string{"1001"}}); err != nil {
		t.Fatal(err)
	}
	explained, err := mq.Explain("1001", "billing")
	if err != nil || !strings.Contains(explained.String(), "billing") {
		t.Errorf("%v %v", explained, err)
	}
	history, err := mq.History("1001")
	if err != nil || len(history.Steps) != 1 || !strings.Contains(history.String(), "sent") {
		t.Errorf("%v %v", history, err)
	}
}

func TestUnknownNamesAreErrors(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	if _, err := mq.Messages("order"); !rocketmqtest.IsNotFound(err) || !strings.Contains(err.Error(), "did you mean orders") {
		t.Error(err)
	}
	if _, err := mq.DeadLetters("ghost"); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
}

// recorder is a testing.TB that keeps errors.
type recorder struct {
	testing.TB
	texts []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.texts = append(r.texts, args[0].(string)) }

func TestFailedAssertionNamesTheMostSimilarMessage(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	for _, body := range []string{"two tea", "coffee"} {
		if _, err := mq.Send("orders", body); err != nil {
			t.Fatal(err)
		}
	}
	failed := &recorder{TB: t}
	mq.AssertBodies(failed, "orders", "two teas", "milk")
	if len(failed.texts) != 1 {
		t.Fatal(failed.texts)
	}
	for _, wanted := range []string{
		"missing 'two teas', 'milk'; not expected b'two tea', b'coffee'", "most similar to 'two teas' is b'two tea'", "sent",
	} {
		if !strings.Contains(failed.texts[0], wanted) {
			t.Errorf("%q is not in %s", wanted, failed.texts[0])
		}
	}
}

func TestKilledParentEndsTheEmulator(t *testing.T) {
	t.Parallel()
	started := exec.Command(os.Args[0])
	started.Env = append(os.Environ(), roleVariable+"=parent")
	output, err := started.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := started.Start(); err != nil {
		t.Fatal(err)
	}
	var endpoint string
	if err := json.NewDecoder(output).Decode(&endpoint); err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if err := started.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = started.Wait()
	// The connection closes when the emulator ends.
	_ = connection.SetReadDeadline(time.Now().Add(2 * time.Second))
	var received bytes.Buffer
	if _, err := received.ReadFrom(connection); err != nil {
		t.Errorf("the emulator has not ended: %v", err)
	}
}

func TestMissingCommandIsOneSentence(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(rocketmqtest.CommandVariable, "")
	_, err := rocketmqtest.Start(rocketmqtest.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "rocketmq-emulator: there is no such command;") {
		t.Error(err)
	}
	_, err = rocketmqtest.Start(rocketmqtest.Options{Command: "/nowhere/emulator"})
	if err == nil || !strings.HasPrefix(err.Error(), "Command=/nowhere/emulator: is no program") {
		t.Error(err)
	}
}

func TestCommandThatRefusesToStartIsQuoted(t *testing.T) {
	t.Parallel()
	_, err := rocketmqtest.Start(rocketmqtest.Options{Topics: []string{"orders:FIFOO"}})
	if err == nil || !strings.Contains(err.Error(), "FIFOO") {
		t.Error(err)
	}
}

func TestConnectedEmulatorKeepsRunning(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	same, err := rocketmqtest.Connect(mq.ControlURL)
	if err != nil {
		t.Fatal(err)
	}
	if same.Endpoint != mq.Endpoint || same.NameServer != mq.NameServer {
		t.Errorf("%+v %+v", same, mq)
	}
	if err := same.Stop(); err != nil {
		t.Error(err)
	}
	mq.AssertBodies(t, "orders")
	if _, err := rocketmqtest.Connect("127.0.0.1:8090"); err == nil {
		t.Error("no URL was accepted")
	}
}

func TestBrokersStopStartAndRestart(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	check(mq.Brokers.Stop("broker-a", false))
	if err := mq.Brokers.Restart("broker-a"); err == nil {
		t.Error("a stopped broker was restarted")
	}
	check(mq.Brokers.Start("broker-a"))
	check(mq.Brokers.Restart(""))
	check(mq.Brokers.Crash("broker-a"))
	check(mq.Brokers.Configure(map[string]any{"brokerPermission": 4}))
	var found struct{ Brokers []struct{ Name string } }
	check(mq.Request("GET", "/v1/brokers", nil, &found))
	if len(found.Brokers) != 1 || found.Brokers[0].Name != "broker-a" {
		t.Error(found)
	}
	err := mq.Brokers.Configure(map[string]any{"brokerPermision": 4})
	var refused *rocketmqtest.Error
	if !errors.As(err, &refused) || refused.Nearest != "brokerPermission" {
		t.Error(err)
	}
}

func TestGroupsAndTopicsAreCreatedAndDeleted(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	once := 1
	check(mq.CreateGroup(rocketmqtest.Group{Name: "warehouse", RetryMaxTimes: &once}))
	check(mq.ResetOffset("warehouse", "orders", "latest"))
	explained, err := mq.ExplainGroup("warehouse")
	if err != nil || !strings.Contains(explained.Sentence, "warehouse") {
		t.Errorf("%q %v", explained.Sentence, err)
	}
	check(mq.DeleteGroup("warehouse"))
	if _, err := mq.DeadLetters("warehouse"); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
	check(mq.DeleteTopic("orders"))
	if _, err := mq.Messages("orders"); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
	if err := mq.ExpireClient("nobody"); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
}
