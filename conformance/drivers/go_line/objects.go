package line

import (
	"fmt"
	"sync"
	"time"
)

// Objects holds the clients that commands have made, by the names that the caller gave them.
type Objects struct {
	lock sync.Mutex
	held map[string]any
}

// Put keeps a client; a name that is taken changes its owner.
func (o *Objects) Put(name string, client any) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.held == nil {
		o.held = map[string]any{}
	}
	o.held[name] = client
}

// Take removes the client called name and returns it.
func (o *Objects) Take(name string) (any, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	client, known := o.held[name]
	if !known {
		return nil, unknown(name)
	}
	delete(o.held, name)
	return client, nil
}

// Get returns the client called name, which must be of the type that the verb works with.
func Get[T any](o *Objects, name string) (T, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	client, known := o.held[name]
	if !known {
		var none T
		return none, unknown(name)
	}
	typed, fits := client.(T)
	if !fits {
		return typed, Bad("%q is not a client for this verb", name)
	}
	return typed, nil
}

func unknown(name string) error {
	return &Refusal{"UnknownObject", fmt.Sprintf("no object is called %q", name)}
}

// Script decides what the listener of a push consumer answers.
type Script struct {
	fail map[string]int
	hang map[string]int64
	lock sync.Mutex
	seen map[string]int
}

// NewScript takes the fields fail and hang_ms of a push command.
func NewScript(command *Command) *Script {
	return &Script{fail: command.Fail, hang: command.HangMs, seen: map[string]int{}}
}

// Answer waits as long as the script says and returns whether the message is to be consumed well. The attempt is the
// higher one of what the SDK shows and what this listener has counted: some SDKs never raise the number in local
// retries, and another consumer of the group may have had the earlier attempts.
func (s *Script) Answer(message *Message) bool {
	body := string(message.Body)
	time.Sleep(time.Duration(s.hang[body]) * time.Millisecond)
	times, scripted := s.fail[body]
	if !scripted {
		return true
	}
	key := Or(message.ID, "") + "\x00" + body
	s.lock.Lock()
	s.seen[key]++
	attempt := int64(s.seen[key])
	s.lock.Unlock()
	return max(attempt, Or(message.Attempt, 1)) > int64(times)
}
