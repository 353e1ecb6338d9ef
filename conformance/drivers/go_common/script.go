package line

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// others stands for every body that a map does not name.
const others = "*"

// Did is what a listener was told to do with a message.
type Did string

// The outcomes of a listener.
const (
	Success Did = "success"
	Fail    Did = "fail"
	Throw   Did = "throw"
	Suspend Did = "suspend"
	// Hang is no answer of its own, but what comes before one.
	Hang Did = "hang"
)

// Script decides what the listener of a push consumer does.
type Script struct {
	fail, throw, suspend map[string]int
	hang                 map[string]int64
	lock                 sync.Mutex
	seen                 map[string]int
	// calls counts how often the listener was called.
	calls        atomic.Int64
	quiet, begin bool
}

// NewScript takes the fields of a push command that are for its listener.
func NewScript(command *Command) *Script {
	return &Script{
		fail: command.Fail, throw: command.Throw, suspend: command.Suspend, hang: command.HangMs,
		seen: map[string]int{}, quiet: command.Quiet, begin: command.Begin,
	}
}

// Listen is all of a listener but its last step: it waits as long as the script says, tells the caller about the
// message and returns what is to be done now. A success that has work to do, if work is not nil, fails when that does.
func (s *Script) Listen(d *Driver, name string, message *Message, work func() error) Did {
	at := time.Now().UnixMilli()
	s.calls.Add(1)
	if s.begin {
		d.write(map[string]any{"ev": "begin", "of": name, "t": at, "msg": message})
	}
	did := s.act(message)
	if did == Success && work != nil {
		if err := work(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			did = Fail
		}
	}
	if !s.quiet {
		d.write(map[string]any{"ev": "msg", "of": name, "t": at, "ok": did == Success, "did": did, "msg": message})
	}
	return did
}

// Calls returns how often the listener was called.
func (s *Script) Calls() Reply { return Reply{"count": s.calls.Load()} }

// act takes the attempt as the higher one of what the SDK shows and what this listener has counted: some SDKs never
// raise the number in local retries, and another consumer of the group may have had the earlier attempts.
func (s *Script) act(message *Message) Did {
	body := string(message.Body)
	time.Sleep(time.Duration(of(s.hang, body)) * time.Millisecond)
	if len(s.fail)+len(s.throw)+len(s.suspend) == 0 {
		return Success
	}
	key := Or(message.ID, "") + "\x00" + body
	s.lock.Lock()
	s.seen[key]++
	counted := s.seen[key]
	s.lock.Unlock()
	attempt := max(counted, int(Or(message.Attempt, 1)))
	switch {
	case attempt <= of(s.throw, body):
		return Throw
	case attempt <= of(s.suspend, body):
		return Suspend
	case attempt <= of(s.fail, body):
		return Fail
	}
	return Success
}

func of[T int | int64](table map[string]T, body string) T {
	if value, named := table[body]; named {
		return value
	}
	return table[others]
}

// Answers is what a producer answers to checks: one word, a list of them, or a map from bodies to those.
type Answers struct {
	byBody map[string][]string
	lock   sync.Mutex
	asked  map[string]int
}

// UnmarshalJSON accepts the three forms of the field.
func (a *Answers) UnmarshalJSON(text []byte) error {
	var forms map[string]json.RawMessage
	if json.Unmarshal(text, &forms) != nil || forms == nil {
		forms = map[string]json.RawMessage{others: text}
	}
	a.byBody, a.asked = map[string][]string{}, map[string]int{}
	for body, form := range forms {
		var word string
		var words []string
		if json.Unmarshal(form, &word) == nil {
			words = []string{word}
		} else if json.Unmarshal(form, &words) != nil || len(words) == 0 {
			return Bad("check is neither a state nor a list or a map of states")
		}
		for _, one := range words {
			if one != "COMMIT" && one != "ROLLBACK" && one != "UNKNOWN" {
				return Bad("check is none of COMMIT, ROLLBACK, UNKNOWN")
			}
		}
		a.byBody[body] = words
	}
	return nil
}

func (a *Answers) next(body string) (string, int) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.asked[body]++
	n := a.asked[body]
	answers := a.byBody[body]
	if answers == nil {
		answers = a.byBody[others]
	}
	if answers == nil {
		return "UNKNOWN", n
	}
	return answers[min(n, len(answers))-1], n
}

// Checked tells that the producer called name was asked for a transaction, and returns what it is to answer.
func (d *Driver) Checked(name string, answers *Answers, message *Message, transaction string) string {
	at := time.Now().UnixMilli()
	answer, n := answers.next(string(message.Body))
	var times *int
	if shown, err := strconv.Atoi(message.Props["TRANSACTION_CHECK_TIMES"]); err == nil {
		times = &shown
	}
	if transaction == "" {
		transaction = message.Props["__transactionId__"]
	}
	d.write(map[string]any{
		"ev": "check", "of": name, "t": at, "n": n, "times": times, "transaction": Some(transaction), "msg": message,
		"answer": answer,
	})
	return answer
}
