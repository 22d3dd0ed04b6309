package messages

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonform"
)

// channel is a place where messages pass.
type channel struct {
	Name    string   `yaml:"name"`
	Address string   `yaml:"address"`
	Over    string   `yaml:"over"` // ws, sse or http
	From    Side     `yaml:"from"` // the only sender; "" for both sides
	Without []string `yaml:"without"`
	About   string   `yaml:"about"`
}

// The parts of an AsyncAPI document that are used here, in the order in which they are written.
type (
	asyncDocument struct {
		AsyncAPI    string                    `json:"asyncapi"`
		Info        asyncInfo                 `json:"info"`
		ContentType string                    `json:"defaultContentType"`
		Servers     map[string]asyncServer    `json:"servers"`
		Channels    map[string]asyncChannel   `json:"channels"`
		Operations  map[string]asyncOperation `json:"operations"`
		Components  struct {
			Messages map[string]asyncMessage `json:"messages"`
		} `json:"components"`
	}
	asyncInfo struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}
	asyncServer struct {
		Host     string `json:"host"`
		Protocol string `json:"protocol"`
	}
	asyncRef struct {
		Ref string `json:"$ref"`
	}
	asyncChannel struct {
		Address     string              `json:"address"`
		Description string              `json:"description"`
		Servers     []asyncRef          `json:"servers"`
		Messages    map[string]asyncRef `json:"messages"`
		Bindings    map[string]any      `json:"bindings,omitempty"`
	}
	asyncOperation struct {
		Action   string         `json:"action"`
		Channel  asyncRef       `json:"channel"`
		Messages []asyncRef     `json:"messages"`
		Bindings map[string]any `json:"bindings,omitempty"`
	}
	asyncMessage struct {
		Name    string         `json:"name"`
		Aside   bool           `json:"x-aside,omitempty"`
		Repeats bool           `json:"x-repeats,omitempty"`
		Payload map[string]any `json:"payload"`
	}
)

// AsyncAPI returns an AsyncAPI 3.0.0 document of a protocol as JSON, under the names of the default binding: what the
// side that implements the protocol sends and receives. host is HOST:PORT of the server; secure: it speaks TLS. The
// result is nil for an unknown protocol, or one without channels. Members x-varies, x-repeats and x-aside are those of
// Node and Message.
func AsyncAPI(protocol, host string, secure bool) []byte {
	f := readProtocol(protocol)
	if f == nil {
		return nil
	}
	places := f.Channels
	if f.Same != "" {
		places = readProtocol(f.Same).Channels
	}
	if len(places) == 0 {
		return nil
	}
	d := asyncDocument{AsyncAPI: "3.0.0", ContentType: "application/json",
		Info:    asyncInfo{f.Title, f.Version, f.About + " Names and places are those of Parley's default binding."},
		Servers: map[string]asyncServer{}, Channels: map[string]asyncChannel{}, Operations: map[string]asyncOperation{}}
	if f.Version == "" {
		d.Info.Version = "unversioned"
	}
	d.Components.Messages = map[string]asyncMessage{}
	all := For(protocol).List()
	for _, m := range all {
		d.Components.Messages[keyOf(m, all)] = asyncMessage{m.Type, m.Aside, m.Repeats, m.Schema}
	}
	for _, c := range places {
		scheme := "http"
		if c.Over == "ws" {
			scheme = "ws"
		}
		at := asyncServer{host, scheme}
		if secure {
			at.Protocol += "s"
		}
		d.Servers[scheme] = at
		d.addChannel(c, scheme, f.App, all)
	}
	text, err := json.Marshal(d, jsonform.Escaped, jsontext.WithIndent("  "))
	if err != nil {
		panic(err) // it has embedded YAML alone
	}
	return append(text, '\n')
}

// addChannel adds a channel, and an operation for each direction in which messages pass there. app is the side
// described.
func (d *asyncDocument) addChannel(c channel, scheme string, app Side, all []*Message) {
	place := asyncChannel{Address: c.Address, Description: c.About, Messages: map[string]asyncRef{},
		Servers: []asyncRef{{"#/servers/" + scheme}}}
	var binding map[string]any
	switch c.Over {
	case "ws":
		place.Bindings = map[string]any{"ws": map[string]any{"method": "GET", "bindingVersion": "0.1.0"}}
	case "sse":
		binding = map[string]any{"http": map[string]any{"method": "GET", "bindingVersion": "0.3.0"}}
	case "http":
		binding = map[string]any{"http": map[string]any{"method": "POST", "bindingVersion": "0.3.0"}}
	}
	for _, from := range []Side{Client, Server} {
		if c.From != "" && c.From != from {
			continue
		}
		action := "receive"
		if from == app {
			action = "send"
		}
		o := asyncOperation{Action: action, Channel: asyncRef{"#/channels/" + c.Name}, Bindings: binding}
		for _, m := range all {
			if m.From != "" && m.From != from || slices.Contains(c.Without, m.Type) {
				continue
			}
			key := keyOf(m, all)
			place.Messages[key] = asyncRef{"#/components/messages/" + key}
			o.Messages = append(o.Messages, asyncRef{"#/channels/" + c.Name + "/messages/" + key})
		}
		d.Operations[action+strings.ToUpper(c.Name[:1])+c.Name[1:]] = o
	}
	d.Channels[c.Name] = place
}

// keyOf is the name of a message among the components: its type, with the sender where both sides have one of that
// type.
func keyOf(m *Message, all []*Message) string {
	key := strings.ReplaceAll(strings.TrimSuffix(m.Type, " *"), " ", ".")
	for _, other := range all {
		if other != m && other.Type == m.Type {
			return key + "." + string(m.From)
		}
	}
	return key
}
