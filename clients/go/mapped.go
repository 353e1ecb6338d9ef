package rocketmqtest

// Mapped returns this emulator with the addresses at which clients reach it, such as those of mapped ports of a
// container. Routes of both protocols name them from now on, also after Reset of the returned emulator. broker is the
// address of the first broker. Call it before clients connect.
func (r *RocketMQ) Mapped(nameServer, broker, endpoint string) (*RocketMQ, error) {
	mapped := *r
	mapped.NameServer, mapped.Broker, mapped.Endpoint = nameServer, broker, endpoint
	mapped.prepare = func() error {
		var found struct {
			Brokers []struct {
				Name string `json:"name"`
			} `json:"brokers"`
		}
		if err := r.control.get("/v1/brokers", nil, &found); err != nil {
			return err
		}
		for server, address := range map[string]string{found.Brokers[0].Name: broker, "endpoint": endpoint} {
			body := map[string]string{"server": server, "address": address}
			if err := r.control.post("/v1/advertise", body, nil); err != nil {
				return err
			}
		}
		return nil
	}
	return &mapped, mapped.prepare()
}
