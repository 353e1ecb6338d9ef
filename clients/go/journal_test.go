package rocketmqtest_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	rocketmqtest "github.com/rocketmq-testkit/rocketmq-testkit/clients/go"
)

func TestJournalIsReadExportedAndCleared(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders", "payments")
	sent := must(mq.Send("orders", "two teas"))(t)
	must(mq.Send("payments", "12 euro"))(t)
	sends := rocketmqtest.Lines{Operation: "SendMessage", Topic: "orders"}
	page := must(mq.Journal.Read(sends))(t)
	line := only(t, page.Entries)
	if line.Event != "responded" || line.Messages[0] != sent.ID || line.Now.IsZero() || page.Written < 2 {
		t.Errorf("%+v", page)
	}
	later := must(mq.Journal.Read(rocketmqtest.Lines{Operation: "SendMessage", Since: line.Index + 1, Limit: 1}))(t)
	if only(t, later.Entries).Index <= line.Index {
		t.Errorf("%+v", later)
	}
	var file bytes.Buffer
	check(t, mq.Journal.Export(&file, sends, true))
	if text := file.String(); !strings.HasPrefix(text, `{"format":"rocketmq-journal"`) || !strings.Contains(text, sent.ID) {
		t.Error(text)
	}
	if deleted := must(mq.Journal.Clear())(t); deleted != page.Written {
		t.Error(deleted)
	}
	_, err := mq.Journal.Read(rocketmqtest.Lines{Event: "answer"})
	var refused *rocketmqtest.Error
	if !errors.As(err, &refused) || refused.Field != "event" {
		t.Error(err)
	}
}

func TestJournalIsFollowed(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	must(mq.Send("orders", "before"))(t)
	sends := rocketmqtest.Lines{Operation: "SendMessage"}
	seen := 0
	err := mq.Journal.Follow(context.Background(), sends, func(line rocketmqtest.JournalEvent) error {
		if line.Topic != "orders" || line.At.IsZero() || line.Result != "SUCCESS" {
			t.Errorf("%+v", line)
		}
		if seen++; seen == 1 {
			must(mq.Send("orders", "while it is followed"))(t)
			return nil
		}
		return rocketmqtest.ErrStop
	})
	if err != nil || seen != 2 {
		t.Error(seen, err)
	}
	sends.Limit = 2
	check(t, mq.Journal.Follow(context.Background(), sends, func(rocketmqtest.JournalEvent) error { return nil }))
	sends.Limit = 0
	ctx, cancel := context.WithCancel(context.Background())
	err = mq.Journal.Follow(ctx, sends, func(rocketmqtest.JournalEvent) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	sends.Event = "answer"
	if err := mq.Journal.Follow(context.Background(), sends, nil); err == nil {
		t.Error("a wrong event was accepted")
	}
}

func TestSnapshotsAreRestored(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Run(t, "orders")
	must(mq.Send("orders", "before"))(t)
	kept := must(mq.Snapshots.Create())(t)
	if kept.Messages != 1 || kept.Brokers[0] != "broker-a" || kept.Now.IsZero() {
		t.Errorf("%+v", kept)
	}
	var file bytes.Buffer
	check(t, mq.Snapshots.Save(&file))
	must(mq.Send("orders", "after"))(t)
	check(t, mq.Snapshots.Restore(kept.ID))
	mq.AssertBodies(t, "orders", "before")
	must(mq.Send("orders", "after"))(t)
	check(t, mq.Snapshots.Load(&file))
	mq.AssertBodies(t, "orders", "before")
	if found := only(t, must(mq.Snapshots.List())(t)); found.ID != kept.ID {
		t.Errorf("%+v", found)
	}
	check(t, mq.Snapshots.Delete(kept.ID))
	if err := mq.Snapshots.Restore(kept.ID); !rocketmqtest.IsNotFound(err) {
		t.Error(err)
	}
	if err := mq.Snapshots.Load(strings.NewReader("no snapshot")); err == nil {
		t.Error("a wrong file was accepted")
	}
}
