package line

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Objects holds the clients that commands have made, by the names that the caller gave them.
type Objects struct {
	lock sync.Mutex
	held map[string]any
}

// Make runs a maker for a name that is free, and keeps the client that it returns.
func (o *Objects) Make(name string, maker func() (any, error)) error {
	if err := Need("as", name); err != nil {
		return err
	}
	if !o.claim(name) {
		return Bad("an object is called %q already", name)
	}
	client, err := maker()
	o.lock.Lock()
	defer o.lock.Unlock()
	o.held[name] = client
	if err != nil {
		delete(o.held, name)
	}
	return err
}

// claim takes a free name before anything is started under it.
func (o *Objects) claim(name string) bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.held == nil {
		o.held = map[string]any{}
	}
	_, taken := o.held[name]
	if !taken {
		o.held[name] = nil
	}
	return !taken
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
	// calls counts how often the listener was called.
	calls atomic.Int64
	quiet bool
}

// NewScript takes the fields fail and hang_ms of a push command.
func NewScript(command *Command) *Script {
	return &Script{fail: command.Fail, hang: command.HangMs, seen: map[string]int{}, quiet: command.Quiet}
}

// Listen is the whole of a listener: it waits as long as the script says, tells the caller about the message and
// returns whether it is to be consumed well.
func (s *Script) Listen(d *Driver, name string, message *Message) bool {
	at := time.Now()
	s.calls.Add(1)
	ok := s.answer(message)
	if !s.quiet {
		d.write(map[string]any{"ev": "msg", "of": name, "t": at.UnixMilli(), "ok": ok, "msg": message})
	}
	return ok
}

// Calls returns how often the listener was called.
func (s *Script) Calls() Reply { return Reply{"count": s.calls.Load()} }

// answer takes the attempt as the higher one of what the SDK shows and what this listener has counted: some SDKs never
// raise the number in local retries, and another consumer of the group may have had the earlier attempts.
func (s *Script) answer(message *Message) bool {
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
