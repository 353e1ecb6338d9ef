package rocketmqtest

// Mapped returns this emulator with the addresses at which clients reach it, such as those of mapped ports of a
// container. Routes of both protocols name them from now on, also after Reset of the returned emulator. broker is the
// address of the first broker. Call it before clients connect.
func (r *RocketMQ) Mapped(nameServer, broker, endpoint string) (*RocketMQ, error) {
	mapped := *r
	mapped.NameServer, mapped.Broker, mapped.Endpoint = nameServer, broker, endpoint
	return &mapped, mapped.prepareBy(func() error {
		brokers, err := r.Brokers.List()
		if err == nil {
			err = r.Advertise(brokers[0].Name, broker)
		}
		if err == nil {
			err = r.Advertise("endpoint", endpoint)
		}
		return err
	})
}

// Advertise changes the address of a server in routes of both protocols: endpoint for the gRPC proxy, broker-a for a
// master, broker-a:1 for a slave. An empty address restores the default. Only routes that clients read later have it.
func (r *RocketMQ) Advertise(server, address string) error {
	body := map[string]any{"server": server, "address": nil}
	if address != "" {
		body["address"] = address
	}
	return r.control.post("/v1/advertise", body, nil)
}
