package rocketmqtest

// Inspection lists everything that an emulator holds. Its calls change nothing.
type Inspection struct {
	control *control
}

// Topics returns all topics, also those of the brokers themselves.
func (i Inspection) Topics() (found []TopicView, err error) {
	return found, i.list("/v1/inspect/topics", &found)
}

// Queues returns the queues of a topic with the progress of each group.
func (i Inspection) Queues(topic string) (found []QueueView, err error) {
	return found, i.list("/v1/inspect/queues", &found, "topic", topic)
}

// Messages returns the stored records of a topic's messages in one state: stored, delayed, timed, half, "discarded",
// retry or dead. An empty state stands for all.
func (i Inspection) Messages(topic, state string) (found []InspectedMessage, err error) {
	return found, i.list("/v1/inspect/messages", &found, "topic", topic, "state", state)
}

// Records returns the same as Messages, with the bytes of each record.
func (i Inspection) Records(topic, state string) (found []InspectedMessage, err error) {
	return found, i.list("/v1/inspect/messages", &found, "topic", topic, "state", state, "record", "true")
}

// Receipts returns the messages in flight of a group, or of all groups if it is empty.
func (i Inspection) Receipts(group string) (found []ReceiptView, err error) {
	return found, i.list("/v1/inspect/receipts", &found, "group", group)
}

// Locks returns the queues that orderly consumers have locked.
func (i Inspection) Locks() (found []LockView, err error) {
	return found, i.list("/v1/inspect/locks", &found)
}

// Timers returns the delayed and timed messages, the next first.
func (i Inspection) Timers() (found []TimerView, err error) {
	return found, i.list("/v1/inspect/timers", &found)
}

// HalfMessages returns the half messages whose transactions are not decided, with their checks.
func (i Inspection) HalfMessages() (found []HalfView, err error) {
	return found, i.list("/v1/inspect/half-messages", &found)
}

// Groups returns the consumer groups with members, subscriptions and disagreements.
func (i Inspection) Groups() (found []GroupView, err error) {
	return found, i.list("/v1/inspect/groups", &found)
}

// Group returns one consumer group; its field Exists is false if there is none.
func (i Inspection) Group(name string) (found GroupView, err error) {
	return found, i.list("/v1/inspect/group", &found, "group", name)
}

// Assignments returns the queues of a topic with the members of a group that request them.
func (i Inspection) Assignments(group, topic string) (found []AssignmentView, err error) {
	return found, i.list("/v1/inspect/assignments", &found, "group", group, "topic", topic)
}

// Connections returns the connections of clients.
func (i Inspection) Connections() (found []ConnectionView, err error) {
	return found, i.list("/v1/inspect/connections", &found)
}

// Polls returns the long polls that wait at brokers.
func (i Inspection) Polls() (found []PollView, err error) {
	return found, i.list("/v1/inspect/polls", &found)
}

// Rules returns the rules of faults.
func (i Inspection) Rules() (found []RuleView, err error) {
	return found, i.list("/v1/inspect/rules", &found)
}

// Configuration returns the effective configuration of a node, with the origin of each value: a broker, namesrv, proxy
// or emulation; an empty name stands for all.
func (i Inspection) Configuration(node string) (found []KeyView, err error) {
	return found, i.list("/v1/inspect/configuration", &found, "node", node)
}

// list reads the only field of a response.
func (i Inspection) list(path string, result any, pairs ...string) error {
	return i.control.get(path, query(pairs...), &only{result})
}
