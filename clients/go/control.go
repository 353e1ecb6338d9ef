package rocketmqtest

import (
	"bytes"
	"encoding/json"
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
	base  string
	token string
	http  http.Client
}

func newControl(base, token string) *control {
	return &control{base: strings.TrimRight(base, "/"), token: token}
}

// call sends a request; a body of nil sends none, a result of nil discards the response.
func (c *control) call(method, path string, body, result any) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("%s %s: the body is no JSON: %w", method, path, err)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequest(method, c.base+path, content)
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("the control port does not respond; does the emulator run? %w", err)
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		problem := &Error{Status: response.StatusCode}
		if json.Unmarshal(received, problem) != nil || problem.Detail == "" {
			problem.Detail = fmt.Sprintf("%s %s: HTTP %s: %s", method, path, response.Status, received)
		}
		return problem
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(received, result)
}

func (c *control) get(path string, query url.Values, result any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.call(http.MethodGet, path, nil, result)
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
