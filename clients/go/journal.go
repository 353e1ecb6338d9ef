package rocketmqtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
)

// Journal has the requests of clients and their outcomes.
type Journal struct {
	control *control
}

// Lines selects lines of the journal. A field with its zero value is no criterion.
type Lines struct {
	Topic      string
	Group      string
	Operation  string // such as PopMessage, the same for both protocols
	Message    string // the id of a message
	Client     string // a client id
	Event      string // responded, parked, refused, pushed or faulted
	Node       string // a broker, namesrv or proxy
	Label      string // the name of a request in its protocol
	Request    string // as in the field Request of a line
	Connection string
	Since      int64 // the index of the first line; Export does not have it
	Limit      int   // the most lines; 0 is 1000 for Read, and no limit for Follow; Export does not have it
}

func (l Lines) query() url.Values {
	return query("topic", l.Topic, "group", l.Group, "operation", l.Operation, "message", l.Message, "client", l.Client,
		"event", l.Event, "node", l.Node, "label", l.Label, "request", l.Request, "connection", l.Connection)
}

func (l Lines) page() url.Values {
	asked := l.query()
	if l.Since != 0 {
		asked.Set("since", strconv.FormatInt(l.Since, 10))
	}
	if l.Limit != 0 {
		asked.Set("limit", strconv.Itoa(l.Limit))
	}
	return asked
}

// Read returns lines of the journal, oldest first.
func (j Journal) Read(wanted Lines) (JournalPage, error) {
	var found JournalPage
	err := j.control.get("/v1/journal", wanted.page(), &found)
	return found, err
}

// Clear deletes all lines and returns their number. Later lines count from 0.
func (j Journal) Clear() (int64, error) {
	var found struct {
		Deleted int64 `json:"deleted"`
	}
	err := j.control.call("DELETE", "/v1/journal", nil, &found)
	return found.Deleted, err
}

// Export writes lines as a file that rocketmq-audit and rocketmq-replay read; with messages, also those that are stored
// now. Without a selection the file has the whole journal.
func (j Journal) Export(file io.Writer, wanted Lines, messages bool) error {
	asked := wanted.query()
	asked.Set("messages", strconv.FormatBool(messages))
	return j.control.download("/v1/journal/export", asked, file)
}

// ErrDropped is the error of Follow if the journal dropped lines before they were read.
var ErrDropped = errors.New("the journal dropped lines before they were read; select fewer lines, or handle them faster")

// ErrStop ends Follow without an error if the function returns it.
var ErrStop = errors.New("stop following")

// Follow calls a function with each line that the journal has or gets, until the context ends, the limit of wanted is
// reached, or the function returns an error, which Follow returns. Lines count from 0 again after Clear and Reset.
func (j Journal) Follow(ctx context.Context, wanted Lines, line func(JournalEvent) error) error {
	response, err := j.control.stream(ctx, "/v1/journal/follow", wanted.page())
	if err != nil {
		return err
	}
	defer response.Close()
	event := ""
	for lines := bufio.NewReader(response); ; {
		text, err := lines.ReadString('\n')
		if err != nil {
			return ended(ctx, err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(text, "\n"), ": ")
		switch name {
		case "event":
			event = value
		case "data":
			if err := followed(event, value, line); err != nil {
				return stopped(err)
			}
		}
	}
}

func followed(event, data string, line func(JournalEvent) error) error {
	switch event {
	case "dropped":
		return fmt.Errorf("%w: %s", ErrDropped, data)
	case "cleared":
		return nil
	}
	var found JournalEvent
	if err := json.Unmarshal([]byte(data), &found); err != nil {
		return err
	}
	return line(found)
}

func stopped(err error) error {
	if errors.Is(err, ErrStop) {
		return nil
	}
	return err
}

// ended returns the error of a stream that has ended: none at the limit, that of the context if it ended the stream.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
