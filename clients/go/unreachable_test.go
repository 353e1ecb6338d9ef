package rocketmqtest

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
)

// hangUp ends the connection of a request without a response, or in the middle of one.
func hangUp(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/topics" {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("{"))
		w.(http.Flusher).Flush()
	}
	panic(http.ErrAbortHandler)
}

func TestErrorsOfAPortThatDoesNotRespondNameTheCause(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(hangUp))
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for cause, url := range map[string]string{
		"Get .*/v1/clients.*: EOF": server.URL,
		"unexpected EOF":           server.URL,
		"Get .*/v1/clients.*: dial tcp .*: connect: connection .*": closed.URL,
	} {
		path := "/v1/clients"
		if cause == "unexpected EOF" {
			path = "/v1/topics"
		}
		err := newControl(url, "").get(path, nil, new(any))
		expected := regexp.MustCompile(`^http://127.0.0.1:\d+: the control port does not respond \(` + cause + `\); does the emulator run\?$`)
		if err == nil || !expected.MatchString(err.Error()) {
			t.Errorf("%s: %v", cause, err)
		}
	}
	server.Close()
}
