package rocketmqtest

// Faults are the rules of faults of an emulator.
type Faults struct {
	control *control
}

// Fault is a kind of fault with its parameters, such as {"drop_response": {"how": "close"}}. A kind without parameters
// may be a string.
type Fault = any

// Rule is a rule: criteria, one fault, and how often. Fields with their zero value are absent.
type Rule struct {
	Name        string         `json:"name,omitempty"`
	When        map[string]any `json:"when,omitempty"` // criteria, such as operation, topic, group, client, tag, key
	Then        Fault          `json:"then"`
	Nth         int            `json:"nth,omitempty"`         // fire at this match only
	Every       int            `json:"every,omitempty"`       // fire at every Nth match
	After       int            `json:"after,omitempty"`       // fire at the matches after the first N
	Times       int            `json:"times,omitempty"`       // fire at most this often
	Probability float64        `json:"probability,omitempty"` // fire with this probability, by the emulator's seed
}

// AddedRule is a rule of a running emulator.
type AddedRule struct {
	Name    string
	control *control
}

// Add adds a rule.
func (f Faults) Add(rule Rule) (AddedRule, error) {
	var found struct {
		Names []string `json:"names"`
	}
	if err := f.control.post("/v1/faults", rule, &found); err != nil {
		return AddedRule{}, err
	}
	return AddedRule{found.Names[0], f.control}, nil
}

// AddPreset adds the rules of a preset, such as flaky-network, and returns their names.
func (f Faults) AddPreset(name string, parameters map[string]any) ([]string, error) {
	preset := any(name)
	if len(parameters) > 0 {
		preset = map[string]any{name: parameters}
	}
	var found struct {
		Names []string `json:"names"`
	}
	err := f.control.post("/v1/faults", map[string]any{"preset": preset}, &found)
	return found.Names, err
}

// Clear removes all rules.
func (f Faults) Clear() error { return f.control.call("DELETE", "/v1/faults", nil, nil) }

// Fired returns how often the rule has fired.
func (r AddedRule) Fired() (int, error) {
	var found struct {
		Fired int `json:"fired"`
	}
	err := r.control.get("/v1/faults/"+segment(r.Name), nil, &found)
	return found.Fired, err
}

// Remove removes the rule.
func (r AddedRule) Remove() error {
	return r.control.call("DELETE", "/v1/faults/"+segment(r.Name), nil, nil)
}
