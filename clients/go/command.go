package rocketmqtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// CommandVariable is the environment variable with the path of the command rocketmq-emulator.
const CommandVariable = "ROCKETMQ_EMULATOR"

// readyTimeout is the longest time until the command prints its ready line.
const readyTimeout = 60 * time.Second

// stopTimeout is the longest time until the command has stopped.
const stopTimeout = 10 * time.Second

// drainTimeout is the longest time until the rest of standard error of a command that has ended is read. A process that
// the command has started, such as that of a script, may keep it open.
const drainTimeout = time.Second

// keptErrors is the number of bytes of standard error that are kept for the error about a command that does not start.
const keptErrors = 16 << 10

// addresses of an emulator, as the ready line and the response to a fork contain them.
type addresses struct {
	NameServer string            `json:"namesrv"`
	Broker     string            `json:"broker"`
	Endpoint   string            `json:"endpoint"`
	Control    string            `json:"control"`
	Advertised map[string]string `json:"advertised"`
}

// seenFrom returns the addresses for a client that reaches the control port by a URL.
func (a addresses) seenFrom(control *url.URL) addresses {
	there := func(address string) string {
		host, port, err := net.SplitHostPort(address)
		if err != nil || isLoopback(control.Hostname()) || !isLoopback(host) {
			return address
		}
		return net.JoinHostPort(control.Hostname(), port)
	}
	seen := addresses{there(a.NameServer), there(a.Broker), there(a.Endpoint), control.String(), nil}
	if address, ok := a.Advertised["endpoint"]; ok {
		seen.Endpoint = address
	}
	if address, ok := a.Advertised["namesrv"]; ok {
		seen.NameServer = address
	}
	return seen
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// process is a running command.
type process struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	errors  *tail
	ready   addresses
}

// findCommand returns the words that start the command: from the argument, the environment, PATH, or Python's module.
func findCommand(path string) ([]string, error) {
	if path != "" {
		return executable("Command", path)
	}
	if path = os.Getenv(CommandVariable); path != "" {
		return executable(CommandVariable, path)
	}
	if found, err := exec.LookPath("rocketmq-emulator"); err == nil {
		return []string{found}, nil
	}
	for _, python := range []string{"python3", "python"} {
		found, err := exec.LookPath(python)
		if err == nil && exec.Command(found, "-c", "import rocketmq_testkit").Run() == nil {
			return []string{found, "-m", "rocketmq_testkit.fixtures.command"}, nil
		}
	}
	return nil, fmt.Errorf("rocketmq-emulator: there is no such command; it is looked for in $%s, in PATH, and as a "+
		"package of python3; set %s to its path, or %s to the control port of a running emulator",
		CommandVariable, CommandVariable, ControlVariable)
}

func executable(origin, path string) ([]string, error) {
	if _, err := exec.LookPath(path); err != nil {
		return nil, fmt.Errorf("%s=%s: is not a program (%w); name the file rocketmq-emulator", origin, path, err)
	}
	return []string{path}, nil
}

// startProcess starts the command on free ports and waits for its ready line.
func startProcess(path string, arguments []string) (*process, error) {
	words, err := findCommand(path)
	if err != nil {
		return nil, err
	}
	words = append(words, "--exit-with-parent", "--profile", "fast",
		"--namesrv-port", "0", "--broker-port", "0", "--grpc-port", "0", "--control-port", "0")
	started := &process{command: exec.Command(words[0], append(words[1:], arguments...)...), errors: &tail{}}
	started.command.Stderr = started.errors
	started.command.WaitDelay = drainTimeout
	// The command stops when this pipe closes, which happens when this process ends, in any way.
	if started.stdin, err = started.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := started.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := started.command.Start(); err != nil {
		return nil, fmt.Errorf("%s: does not start: %w", words[0], err)
	}
	line, err := readLine(output, readyTimeout)
	if err == nil {
		err = json.Unmarshal(line, &started.ready)
	}
	if err != nil {
		var limit time.Duration
		if errors.Is(err, io.EOF) { // its standard output has ended: it ends, too
			limit = stopTimeout
		}
		kill := time.AfterFunc(limit, func() { _ = started.command.Process.Kill() })
		_ = started.command.Wait()
		if kill.Stop() {
			err = fmt.Errorf("it ended with code %d", started.command.ProcessState.ExitCode())
		}
		return nil, fmt.Errorf("%s: has not become ready (%w): %s", strings.Join(words, " "), err, started.errors)
	}
	return started, nil
}

// readLine returns the first line of a stream. The goroutine that reads ends with the stream.
func readLine(stream io.Reader, limit time.Duration) ([]byte, error) {
	type outcome struct {
		line []byte
		err  error
	}
	read := make(chan outcome, 1)
	go func() {
		line, err := bufio.NewReader(stream).ReadBytes('\n')
		read <- outcome{line, err}
	}()
	select {
	case found := <-read:
		return found.line, found.err
	case <-time.After(limit):
		return nil, fmt.Errorf("no line within %s", limit)
	}
}

// stop ends the command and waits for its end.
func (p *process) stop() error { return p.stopWithin(stopTimeout) }

// stopWithin ends the command, and kills it if it does not end in time.
func (p *process) stopWithin(limit time.Duration) error {
	_ = p.stdin.Close()
	kill := time.AfterFunc(limit, func() { _ = p.command.Process.Kill() })
	err := p.command.Wait()
	if errors.Is(err, exec.ErrWaitDelay) { // the command has ended without an error
		err = nil
	}
	if !kill.Stop() && err != nil {
		return fmt.Errorf("rocketmq-emulator: has not stopped within %s, and was killed; check that its process is not paused",
			limit)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("rocketmq-emulator: %w: %s", err, p.errors)
	}
	return err
}

// tail keeps the last bytes that are written to it.
type tail struct {
	mutex sync.Mutex
	bytes []byte
}

// Write implements io.Writer.
func (t *tail) Write(piece []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.bytes = append(t.bytes, piece...)
	if extra := len(t.bytes) - keptErrors; extra > 0 {
		t.bytes = append([]byte(nil), t.bytes[extra:]...)
	}
	return len(piece), nil
}

// String returns the bytes as text.
func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return strings.TrimSpace(string(t.bytes))
}
