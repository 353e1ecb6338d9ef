package rocketmqtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Error is a refusal of the control port (application/problem+json).
type Error struct {
	Kind    string `json:"type"`    // a URN, such as urn:rocketmq-testkit:problem:not-found
	Status  int    `json:"status"`  // of HTTP
	Detail  string `json:"detail"`  // what is wrong, what is allowed, what to do
	Field   string `json:"field"`   // the field or parameter that is wrong, if it is one
	Nearest string `json:"nearest"` // the nearest name that exists, if a name is wrong
}

// Error returns the sentence.
func (e *Error) Error() string { return e.Detail }

// control sends requests to a control port.
type control struct {
	base    string
	token   string
	silence time.Duration // the time without a response after which another request checks that the emulator responds
	http    http.Client
}

func newControl(base, token string) *control {
	return &control{base: strings.TrimRight(base, "/"), token: token, silence: silenceBeforeCheck}
}

// call sends a request; a body of nil sends none, a result of nil discards the response.
func (c *control) call(method, path string, body, result any) error {
	response, err := c.open(context.Background(), method, path, body)
	if err != nil {
		return err
	}
	defer response.Close()
	received, err := io.ReadAll(response)
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(received, result)
}

// send sends a request and returns the body of the response, or an Error if the request is refused.
func (c *control) send(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: the body is not JSON: %w", method, path, err)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if response.StatusCode < 300 {
		return response.Body, nil
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	problem := &Error{Status: response.StatusCode}
	if json.Unmarshal(received, problem) != nil || problem.Detail == "" {
		problem.Detail = fmt.Sprintf("%s %s: HTTP %s: %s", method, path, response.Status, received)
	}
	return nil, problem
}

// unreachable returns the error about a request without a complete response.
func (c *control) unreachable(cause error) error {
	return fmt.Errorf("%s: the control port does not respond (%w); does the emulator run?", c.base, cause)
}

// connectTimeout is the longest time until a running emulator returns its addresses.
const connectTimeout = 30 * time.Second

// ready returns the addresses of a running emulator.
func (c *control) ready(limit time.Duration) (found addresses, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	response, err := c.send(ctx, "GET", "/readyz", nil)
	if err == nil {
		defer response.Close()
		err = json.NewDecoder(response).Decode(&found)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%s: the control port has not responded to GET /readyz within %s; %s", c.base, limit, ifPaused)
	}
	return found, err
}

func (c *control) get(path string, query url.Values, result any) error {
	return c.call(http.MethodGet, with(path, query), nil, result)
}

// text returns the response to GET as text.
func (c *control) text(path string) (string, error) {
	var written strings.Builder
	err := c.download(path, nil, &written)
	return written.String(), err
}

// download writes the response to GET to a file.
func (c *control) download(path string, query url.Values, file io.Writer) error {
	response, err := c.stream(context.Background(), path, query)
	if err != nil {
		return err
	}
	defer response.Close()
	_, err = io.Copy(file, response)
	return err
}

// stream returns the response to GET, which need not end before the context.
func (c *control) stream(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodGet, with(path, query), nil)
}

func with(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

func (c *control) post(path string, body, result any) error {
	return c.call(http.MethodPost, path, body, result)
}

// segment escapes a name for one segment of a path.
func segment(name string) string { return url.PathEscape(name) }

// duration writes a duration as the control port reads it.
func duration(length time.Duration) string {
	return fmt.Sprintf("%dms", length.Milliseconds())
}

// only reads the only field of an object.
type only struct{ value any }

// UnmarshalJSON reads the value of the field, whatever its name is.
func (o *only) UnmarshalJSON(encoded []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return err
	}
	for _, value := range fields {
		return json.Unmarshal(value, o.value)
	}
	return nil
}

// instant returns the time of a number of milliseconds since 1970; the zero time for nil.
func instant(milliseconds *int64) time.Time {
	if milliseconds == nil {
		return time.Time{}
	}
	return time.UnixMilli(*milliseconds)
}

// instantOfMicros returns the time of a number of microseconds since 1970; the zero time for nil.
func instantOfMicros(microseconds *int64) time.Time {
	if microseconds == nil {
		return time.Time{}
	}
	return time.UnixMicro(*microseconds)
}

// span returns the duration of a number of milliseconds; 0 for nil.
func span(milliseconds *int64) time.Duration {
	if milliseconds == nil {
		return 0
	}
	return time.Duration(*milliseconds) * time.Millisecond
}
