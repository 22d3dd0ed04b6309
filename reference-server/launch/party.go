package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"parley/internal/llm"
	"parley/internal/llm/stub"
	"parley/reference-server/catalogue"
	"parley/target"
)

// Model is the name of the party that is the language model behind a server.
const Model = "model"

// Party is a party that a bundled target plays for a user's program.
type Party struct {
	As      string                    // its name, such as "server"
	Client  bool                      // it connects to the program
	Mutants func() []catalogue.Mutant // its faults; nil: it has none
	Path    string                    // of its connections; "" if there are several or none

	role *Role // nil: the model
}

// Parties returns the parties that the bundled targets of a protocol play, the default one first.
func (t *Target) Parties() []Party {
	var out []Party
	models := false
	for _, r := range append(slices.Clone(t.Roles), t.Peers...) {
		models = models || r.Models
		if r.As != NotPlayed {
			one := Party{As: cmp.Or(r.As, r.Name), Client: r.Make == nil, Mutants: r.Mutants, role: &r}
			if len(r.Serve.Paths) == 1 {
				one.Path = r.Serve.Paths[0]
			}
			out = append(out, one)
		}
	}
	if models {
		out = append(out, Party{As: Model})
	}
	return out
}

// Start starts the party with a fault, "" for none, within this process. A party that is a client connects to at, the
// URL of the program's WebSocket; its query parameter session names the session to join. It returns the base URL
// of a server; stop stops it.
func (p *Party) Start(ctx context.Context, fault, at string) (base string, stop func(), err error) {
	if p.role == nil {
		s, err := stub.Start(llm.New())
		if err != nil {
			return "", nil, err
		}
		return s.URL(), func() { _ = s.Close(context.Background()) }, nil
	}
	o := Options{Fault: fault}
	if p.role.Models {
		o.Brain = llm.New()
	}
	running, err := p.role.InProcess(o).Launch(ctx, target.LaunchOptions{Own: true})
	if err != nil {
		return "", nil, err
	}
	stop = func() {
		stopping, cancel := context.WithTimeout(context.Background(), Unhurried)
		defer cancel()
		_ = running.Stop(stopping)
	}
	if !p.Client {
		return running.BaseURL(), stop, nil
	}
	caller, ok := running.(target.Caller)
	if !ok {
		return "", nil, errors.Join(fmt.Errorf("the bundled %s cannot be called", p.As), running.Stop(ctx))
	}
	session := ""
	if u, err := url.Parse(at); err == nil {
		session = u.Query().Get("session")
	}
	if _, err := caller.Call(ctx, target.CallOptions{URL: at, Session: session}); err != nil {
		return "", nil, errors.Join(err, running.Stop(ctx))
	}
	return "", stop, nil
}

// TypeOf returns the type of a message of the protocol; "" if it has none, or is not a JSON object.
func (t *Target) TypeOf(body []byte) string {
	if len(body) == 0 || body[0] != '{' {
		return ""
	}
	var message map[string]any
	if json.Unmarshal(body, &message) != nil {
		return ""
	}
	types := t.Types
	if len(types) == 0 {
		types = []string{"/type"}
	}
	for _, pointer := range types {
		if text, _ := at(message, pointer).(string); text != "" {
			return text
		}
	}
	return ""
}

// at returns the member at a pointer without escapes; nil if there is none.
func at(v any, pointer string) any {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}
