package rocketmqtest

// Group has the settings of a consumer group. A broker also creates a group when a consumer of it connects. A field of
// nil keeps its value; a new group is not orderly, has 16 retries, and consumes.
type Group struct {
	Name          string `json:"name"`
	Orderly       bool   `json:"orderly"`
	RetryMaxTimes *int   `json:"retry_max_times,omitempty"` // redeliveries before a dead letter
	ConsumeEnable *bool  `json:"consume_enable,omitempty"`  // false stops consumption
}

// CreateGroup creates a consumer group, or changes the settings of an existing one.
func (r *RocketMQ) CreateGroup(group Group) error {
	return r.control.post("/v1/groups", group, nil)
}

// Groups returns the consumer groups by name; with system, also those that brokers create at their start.
func (r *RocketMQ) Groups(system bool) ([]GroupInfo, error) {
	var found struct {
		Groups []GroupInfo `json:"groups"`
	}
	err := r.control.get("/v1/groups", query("system", flag(system)), &found)
	return found.Groups, err
}

// Group returns a group with its members, its offsets and its lag on each queue.
func (r *RocketMQ) Group(name string) (GroupState, error) {
	var found GroupState
	err := r.control.get("/v1/groups/"+segment(name), nil, &found)
	return found, err
}

// DeleteGroup deletes a consumer group with its offsets, its retry topic and its dead letter queue.
func (r *RocketMQ) DeleteGroup(group string) error {
	return r.control.call("DELETE", "/v1/groups/"+segment(group), nil, nil)
}

// DeleteGroupKeepingOffsets deletes a consumer group, and keeps its offsets for a later group of that name.
func (r *RocketMQ) DeleteGroupKeepingOffsets(group string) error {
	return r.control.call("DELETE", "/v1/groups/"+segment(group)+"?keep_offsets=true", nil, nil)
}

// ResetOffset resets the offsets of a group in a topic to "earliest", "latest", or an instant such as
// 2026-01-31T12:00:00Z.
func (r *RocketMQ) ResetOffset(group, topic, to string) error {
	return r.resetOffset(group, topic, to)
}

// ResetOffsetTo resets the offsets of a group in a topic to one offset for all queues, which must be in the range of
// each queue.
func (r *RocketMQ) ResetOffsetTo(group, topic string, offset int64) error {
	return r.resetOffset(group, topic, offset)
}

func (r *RocketMQ) resetOffset(group, topic string, to any) error {
	return r.control.post("/v1/groups/"+segment(group)+"/reset-offset", map[string]any{"topic": topic, "to": to}, nil)
}

// Clients returns the connected clients: producers, then consumers, then clients that only the proxy knows.
func (r *RocketMQ) Clients() ([]ClientInfo, error) {
	var found struct {
		Clients []ClientInfo `json:"clients"`
	}
	err := r.control.get("/v1/clients", nil, &found)
	return found.Clients, err
}

// ExpireClient ends the registrations of a client as if it had been silent for two minutes.
func (r *RocketMQ) ExpireClient(client string) error {
	return r.control.post("/v1/clients/expire", map[string]any{"client": client}, nil)
}

// User is a user of the brokers. Allow and Deny have actions (All, Pub, Sub, Create, Update, Delete, Get, List) by
// resource (Topic:NAME, Group:NAME, Cluster:NAME); a * at the end of a name matches any rest.
type User struct {
	Name     string              `json:"name"`
	Password string              `json:"password"`
	Super    bool                `json:"super"` // has all rights
	Allow    map[string][]string `json:"allow,omitempty"`
	Deny     map[string][]string `json:"deny,omitempty"`
}

// PutUser creates a user on all running masters, or replaces the password and all rights of an existing one. The masters
// must keep users: set their configuration keys when the command starts.
func (r *RocketMQ) PutUser(user User) error {
	return r.control.post("/v1/users", user, nil)
}
