package line

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"sync"
	"syscall"
	"time"
)

// ahead is how many commands may wait for the one that runs; the end of input is noticed at once up to here.
const ahead = 1 << 16

// Reply is what a verb answers besides i, ok and ms.
type Reply map[string]any

// Handler carries out one verb.
type Handler func(*Command) (Reply, error)

// Driver is one SDK: its hello, its verbs, and how its errors are named.
type Driver struct {
	Package  string
	Protocol string
	Modes    []string
	// Outcomes are what the listeners of push consumers can do.
	Outcomes []Did
	// Allocations are the ways in which the consumers of a group divide queues among themselves.
	Allocations []string
	// Options are what clients can be made with besides.
	Options []string
	Verbs   map[string]Handler
	// Explain returns class and code of an error of the SDK, or nil for no code.
	Explain func(error) (string, *int64)

	out  *os.File
	lock sync.Mutex
}

// Protect moves standard output away, so that nothing an SDK prints can get between the replies.
func (d *Driver) Protect() error {
	kept, err := syscall.Dup(1)
	if err != nil {
		return err
	}
	syscall.CloseOnExec(kept)
	d.out = os.NewFile(uintptr(kept), "replies")
	return syscall.Dup3(2, 1, 0)
}

// Run reads commands until the end of input, which ends the process.
func (d *Driver) Run() {
	d.Verbs["hello"] = d.hello
	commands := make(chan []byte, ahead)
	go func() {
		in := bufio.NewReaderSize(os.Stdin, 1<<20)
		for {
			text, err := in.ReadBytes('\n')
			if err != nil {
				os.Exit(endOf(err))
			}
			commands <- text
		}
	}()
	for text := range commands {
		d.take(text)
	}
}

func endOf(err error) int {
	if err == io.EOF {
		return 0
	}
	fmt.Fprintln(os.Stderr, "standard input:", err)
	return 1
}

func (d *Driver) take(text []byte) {
	var command Command
	if err := json.Unmarshal(text, &command); err != nil {
		var number struct {
			I *int64 `json:"i"`
		}
		_ = json.Unmarshal(text, &number) // the number stays nil when the line is no object
		d.answer(number.I, nil, nil, Bad("%v", err))
		return
	}
	if command.Do == "exit" {
		d.answer(command.I, Reply{}, nil, nil)
		os.Exit(0)
	}
	if command.Bg {
		go d.perform(&command)
		return
	}
	d.perform(&command)
}

func (d *Driver) perform(command *Command) {
	begin := time.Now()
	reply, err := d.call(command)
	ms := float64(time.Since(begin).Microseconds()) / 1000
	d.answer(command.I, reply, &ms, err)
}

func (d *Driver) call(command *Command) (reply Reply, err error) {
	// A panic inside an SDK is an answer of that SDK; the driver lives on.
	defer func() {
		if cause := recover(); cause != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", cause, debug.Stack())
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	handler, known := d.Verbs[command.Do]
	if !known {
		return nil, &Refusal{"UnknownVerb", fmt.Sprintf("this driver has no verb %q", command.Do)}
	}
	return handler(command)
}

func (d *Driver) answer(number *int64, reply Reply, ms *float64, err error) {
	line := map[string]any{"i": number, "ok": err == nil}
	if ms != nil {
		line["ms"] = *ms
	}
	if err == nil {
		for name, value := range reply {
			line[name] = value
		}
	} else {
		line["kind"], line["code"], line["err"] = d.name(err)
	}
	d.write(line)
}

func (d *Driver) name(err error) (string, *int64, string) {
	if refusal, ours := err.(*Refusal); ours {
		return refusal.Kind, nil, refusal.Text
	}
	if d.Explain != nil {
		if kind, code := d.Explain(err); kind != "" {
			return kind, code, err.Error()
		}
	}
	kind := reflect.TypeOf(err)
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	return kind.Name(), nil, err.Error()
}

func (d *Driver) write(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		text, _ = json.Marshal(map[string]any{"i": line["i"], "ok": false, "kind": "BadReply", "code": nil, "err": err.Error()})
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	if _, err := d.out.Write(append(text, '\n')); err != nil {
		os.Exit(1) // nobody listens any more
	}
}

func (d *Driver) hello(*Command) (Reply, error) {
	verbs := []string{"exit"}
	for verb := range d.Verbs {
		verbs = append(verbs, verb)
	}
	sort.Strings(verbs)
	reply := Reply{
		"sdk": d.Package, "version": versionOf(d.Package), "language": "go", "protocol": d.Protocol,
		"protocol_version": 1, "verbs": verbs, "modes": d.Modes, "outcomes": d.Outcomes,
	}
	if d.Allocations != nil {
		reply["allocations"] = d.Allocations
	}
	if d.Options != nil {
		reply["options"] = d.Options
	}
	return reply, nil
}

// versionOf reads the version of the SDK from what was really linked.
func versionOf(module string) string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return dependency.Version
			}
		}
	}
	return "unknown"
}
