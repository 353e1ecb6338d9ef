package rocketmqtest

import (
	"encoding/base64"
	"io"
)

// Snapshots keeps states of an emulator, to which it can return.
type Snapshots struct {
	control *control
}

// Create keeps the present state, with all messages, offsets and the time.
func (s Snapshots) Create() (Snapshot, error) {
	var found Snapshot
	err := s.control.call("POST", "/v1/snapshots", nil, &found)
	return found, err
}

// List returns the kept snapshots, oldest first.
func (s Snapshots) List() ([]Snapshot, error) {
	var found struct {
		Snapshots []Snapshot `json:"snapshots"`
	}
	err := s.control.get("/v1/snapshots", nil, &found)
	return found.Snapshots, err
}

// Delete deletes a kept snapshot.
func (s Snapshots) Delete(id string) error {
	return s.control.call("DELETE", "/v1/snapshots/"+segment(id), nil, nil)
}

// Restore returns to a kept snapshot. Connections of clients are closed.
func (s Snapshots) Restore(id string) error {
	return s.control.post("/v1/restore", map[string]string{"snapshot": id}, nil)
}

// Save writes the present state to a file.
func (s Snapshots) Save(file io.Writer) error {
	return s.control.download("/v1/snapshot", nil, file)
}

// Load returns to the state of a file that Save has written, also of another emulator.
func (s Snapshots) Load(file io.Reader) error {
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	return s.control.post("/v1/restore", map[string]string{"content": base64.StdEncoding.EncodeToString(content)}, nil)
}
