package rocketmqtest_test

import (
	"strings"
	"testing"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

func TestMissingCommandIsOneSentence(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(rocketmqtest.CommandVariable, "")
	_, err := rocketmqtest.Start(rocketmqtest.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "rocketmq-emulator: there is no such command;") {
		t.Error(err)
	}
	_, err = rocketmqtest.Start(rocketmqtest.Options{Command: "/nowhere/emulator"})
	if err == nil || !strings.HasPrefix(err.Error(), "Command=/nowhere/emulator: is not a program") {
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
