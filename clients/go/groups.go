package rocketmqtest

// Group has the settings of a consumer group. A group of which a consumer connects exists without them.
type Group struct {
	Name          string `json:"name"`
	Orderly       bool   `json:"orderly"`
	RetryMaxTimes *int   `json:"retry_max_times,omitempty"` // redeliveries before a dead letter; nil is 16 at first
}

// CreateGroup creates a consumer group, or changes the settings of an existing one.
func (r *RocketMQ) CreateGroup(group Group) error {
	return r.control.post("/v1/groups", group, nil)
}

// DeleteGroup deletes a consumer group.
func (r *RocketMQ) DeleteGroup(group string) error {
	return r.control.call("DELETE", "/v1/groups/"+segment(group), nil, nil)
}

// DeleteTopic deletes a topic.
func (r *RocketMQ) DeleteTopic(topic string) error {
	return r.control.call("DELETE", "/v1/topics/"+segment(topic), nil, nil)
}

// ResetOffset resets the offsets of a group in a topic to "earliest", "latest", or an instant such as
// 2026-01-31T12:00:00Z.
func (r *RocketMQ) ResetOffset(group, topic, to string) error {
	return r.control.post("/v1/groups/"+segment(group)+"/reset-offset", map[string]any{"topic": topic, "to": to}, nil)
}

// ExplainGroup says whether a group has something to do, and if not, why.
func (r *RocketMQ) ExplainGroup(group string) (Explanation, error) {
	var found Explanation
	err := r.control.get("/v1/groups/"+segment(group)+"/explain", nil, &found)
	return found, err
}

// ExpireClient ends the registrations of a client as if it had been silent for two minutes.
func (r *RocketMQ) ExpireClient(client string) error {
	return r.control.post("/v1/clients/expire", map[string]any{"client": client}, nil)
}
