package rocketmqtest

import (
	"encoding/json"
	"fmt"
)

// Faults are the rules of faults of an emulator.
type Faults struct {
	control *control
}

// Fault is a kind of fault with its parameters, such as {"drop_response": {"how": "close"}}. A kind without parameters
// may be a string.
type Fault = any

// Rule is a rule of faults: criteria, one fault, and how often it fires. A field with its zero value is absent.
type Rule struct {
	Name        string         `json:"name,omitempty"`
	When        map[string]any `json:"when,omitempty"` // criteria, such as operation, topic, group, client, tag, key
	Then        Fault          `json:"then"`
	Nth         []int          `json:"nth,omitempty"`         // fire at these matches only, counted from 1
	Every       int            `json:"every,omitempty"`       // fire at every Nth match
	After       int            `json:"after,omitempty"`       // fire at the matches after the first N
	Times       int            `json:"times,omitempty"`       // fire at most this often
	Probability float64        `json:"probability,omitempty"` // fire with this probability, by the emulator's seed
	AnyCode     bool           `json:"-"`                     // accept response codes that a request never gets
}

// MarshalJSON writes the form of the control port.
func (r Rule) MarshalJSON() ([]byte, error) {
	type plain Rule
	form := struct {
		plain
		Strict *bool `json:"strict,omitempty"`
	}{plain: plain(r)}
	if r.AnyCode {
		form.Strict = new(bool)
	}
	return json.Marshal(form)
}

// AddedRule is a rule of a running emulator.
type AddedRule struct {
	Name    string
	control *control
}

// Add adds a rule.
func (f Faults) Add(rule Rule) (AddedRule, error) {
	added, err := f.AddAll(rule)
	if err != nil {
		return AddedRule{}, err
	}
	return added[0], nil
}

// AddAll adds rules, all of them or none.
func (f Faults) AddAll(rules ...Rule) ([]AddedRule, error) {
	names, err := f.add(map[string]any{"rules": rules})
	var added []AddedRule
	for _, name := range names {
		added = append(added, AddedRule{name, f.control})
	}
	return added, err
}

func (f Faults) add(body map[string]any) ([]string, error) {
	var found struct {
		Names []string `json:"names"`
	}
	err := f.control.post("/v1/faults", body, &found)
	return found.Names, err
}

// AddPreset adds the rules of a preset, such as flaky-network, and returns their names.
func (f Faults) AddPreset(name string, parameters map[string]any) ([]string, error) {
	preset := any(name)
	if len(parameters) > 0 {
		preset = map[string]any{name: parameters}
	}
	return f.add(map[string]any{"preset": preset})
}

// List returns all rules in the order in which they were added.
func (f Faults) List() ([]RuleState, error) {
	var found struct {
		Rules []RuleState `json:"rules"`
	}
	err := f.control.get("/v1/faults", nil, &found)
	return found.Rules, err
}

// Clear removes all rules.
func (f Faults) Clear() error { return f.control.call("DELETE", "/v1/faults", nil, nil) }

// Events returns the rule, its matches and firings so far, and its last 100 firings.
func (r AddedRule) Events() (RuleEvents, error) {
	var found RuleEvents
	err := r.control.get("/v1/faults/"+segment(r.Name), nil, &found)
	return found, err
}

// Fired returns how often the rule has fired.
func (r AddedRule) Fired() (int, error) {
	found, err := r.Events()
	return found.Fired, err
}

// String returns the name, the matches and firings so far, the rule as JSON, and hints, in one line. Of a rule that was
// removed, or whose emulator does not respond, it returns the name and this fact.
func (r AddedRule) String() string {
	if r.control == nil {
		return "Rule " + r.Name
	}
	found, err := r.Events()
	if err != nil {
		if IsNotFound(err) {
			return "Rule " + r.Name + ", removed"
		}
		return "Rule " + r.Name + ", not running"
	}
	rule, _ := json.Marshal(found.Rule)
	text := fmt.Sprintf("Rule %s matched=%d fired=%d %s", r.Name, found.Matched, found.Fired, rule)
	for _, hint := range found.Hints {
		text += "; it " + hint
	}
	return text
}

// Remove removes the rule.
func (r AddedRule) Remove() error {
	return r.control.call("DELETE", "/v1/faults/"+segment(r.Name), nil, nil)
}
