package rocketmqtest_test

import (
	"fmt"
	"testing"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

// must returns a function that returns the value, or fails the test with the error.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return value
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// only returns the only item of a list.
func only[T any](t testing.TB, found []T) T {
	t.Helper()
	if len(found) != 1 {
		t.Fatalf("not one item: %+v", found)
	}
	return found[0]
}

// delayed returns a message with a delay level.
func delayed(level string) rocketmqtest.NewMessage {
	return rocketmqtest.NewMessage{Body: []byte("drink"), Properties: map[string]string{"DELAY": level}}
}

// recorder is a testing.TB that keeps errors.
type recorder struct {
	testing.TB
	texts []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.texts = append(r.texts, args[0].(string)) }

// Fatalf keeps the error and panics with the recorder, which ends the call under test and not the test.
func (r *recorder) Fatalf(format string, args ...any) {
	r.texts = append(r.texts, fmt.Sprintf(format, args...))
	panic(r)
}
