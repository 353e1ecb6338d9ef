package rocketmqtest

// Brokers stops, starts and configures the brokers of an emulator. A broker is named as broker-b for a master, and as
// broker-b:1 for a slave, by name and id.
type Brokers struct {
	control *control
}

// Crash crashes a running broker and the gRPC proxy, and starts them again at once. Data that was not flushed is lost.
// The name "" is the first master.
func (b Brokers) Crash(broker string) error {
	return b.control.post("/v1/crash", optional("broker", broker), nil)
}

// CrashProcess crashes a running broker and the gRPC proxy as Crash does, and keeps data that was not flushed: the machine
// keeps its power.
func (b Brokers) CrashProcess(broker string) error {
	body := optional("broker", broker)
	body["power_loss"] = false
	return b.control.post("/v1/crash", body, nil)
}

// Restart restarts a running broker and the gRPC proxy gracefully. The name "" is the first master.
func (b Brokers) Restart(broker string) error {
	return b.control.post("/v1/restart", optional("broker", broker), nil)
}

// Stop stops a broker: gracefully, or with kill as a crash does.
func (b Brokers) Stop(broker string, kill bool) error {
	return b.control.post("/v1/brokers/stop", map[string]any{"broker": broker, "kill": kill}, nil)
}

// Start starts a stopped broker.
func (b Brokers) Start(broker string) error {
	return b.control.post("/v1/brokers/start", map[string]any{"broker": broker}, nil)
}

// Configure changes configuration keys, all of them or none. Values are texts, numbers or booleans.
func (b Brokers) Configure(keys map[string]any) error {
	return b.control.call("PATCH", "/v1/config", map[string]any{"keys": keys}, nil)
}

// ConfigureBroker changes configuration keys of one broker, all of them or none.
func (b Brokers) ConfigureBroker(broker string, keys map[string]any) error {
	return b.control.call("PATCH", "/v1/config", map[string]any{"keys": keys, "broker": broker}, nil)
}

// List returns all brokers in the order of their configuration.
func (b Brokers) List() ([]BrokerInfo, error) {
	var found struct {
		Brokers []BrokerInfo `json:"brokers"`
	}
	err := b.control.get("/v1/brokers", nil, &found)
	return found.Brokers, err
}

// Configuration returns all configuration keys with their values.
func (b Brokers) Configuration() (Configuration, error) {
	var found Configuration
	err := b.control.get("/v1/config", nil, &found)
	return found, err
}

func optional(name, value string) map[string]any {
	if value == "" {
		return map[string]any{}
	}
	return map[string]any{name: value}
}
