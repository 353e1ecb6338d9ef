package line

import (
	"fmt"
	"sync"
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
