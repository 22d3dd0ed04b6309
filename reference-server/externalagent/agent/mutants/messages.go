package mutants

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/spoil"
)

// messageFaults get the members of messages wrong.
var messageFaults = map[string]fault{
	"snapshot-with-the-session":    spoiling(proto.SnapshotGet, func(v view, p object) { p["sessionId"] = v.Session }),
	"snapshot-with-since":          spoiling(proto.SnapshotGet, func(v view, p object) { p["since"] = v.Last.Serial }),
	"call-params-a-list":           with(proto.ToolCall, paramsList),
	"return-snapshot-with-session": spoiling(proto.SnapshotGet, returnWithSession),
}

// returnWithSession names the session in a snapshot.get on a later connection.
func returnWithSession(v view, p object) {
	if v.Connection > 1 {
		p["sessionId"] = v.Session
	}
}

// paramsList sends only the values, like the arguments of a function.
func paramsList(p object) {
	list := []any{}
	params, _ := p["params"].(object)
	for _, v := range params {
		list = append(list, v)
	}
	p["params"] = list
}

// envelopeFaults get the envelope wrong, or send none.
var envelopeFaults = map[string]fault{
	"ids-by-type":         deciding(policy{ID: func(_ view, kind string, _ int, _ string) any { return kind }}),
	"ids-count-each-type": countingTypes,
	"ids-of-the-second": deciding(policy{ID: func(view, string, int, string) any {
		return fmt.Sprintf("req-%d", time.Now().Unix()/10)
	}}),
	"ids-begin-anew":       idsAnew,
	"call-again-same-id":   sameIDAgain,
	"words-have-no-own-id": wordsIDs,
	"payload-spread":       telling(spread),
	"sends-lists":          sending(func(data string) string { return "[" + data + "]" }),
	"sends-two-in-one":     sending(func(data string) string { return data + "\n" + data }),
	"sends-half-and-half": onEach(proto.AgentMessage, func(data string) []string {
		return []string{data[:len(data)/2], data[len(data)/2:]}
	}),
	"sends-text-as-text":       sending(func(string) string { return "I go on." }),
	"sends-what-python-prints": sending(func(data string) string { return strings.ReplaceAll(data, `"`, "'") }),
	"sends-json-in-json":       sending(func(data string) string { return fmt.Sprintf("%q", data) }),
	"sends-members-twice":      sending(func(data string) string { return `{"v":"mvp-0.2",` + data[1:] }),
	"pings-by-text":            before(proto.ToolCall, "ping"),
	"pings-by-nothing":         before(proto.ToolCall, ""),
	"acknowledges-by-null":     before(proto.ToolCall, "null"),
	"a-comma-too-many":         sending(func(data string) string { return data[:len(data)-1] + ",}" }),
	"nan-in-a-message":         sending(func(data string) string { return data[:len(data)-1] + `,"score":NaN}` }),
}

// countingTypes numbers messages per type.
func countingTypes(o *options) {
	n := map[string]int{}
	o.Policy.ID = func(_ view, kind string, _ int, _ string) any {
		n[kind]++
		return fmt.Sprintf("req-%03d", n[kind])
	}
}

// idsAnew restarts message ids on each connection.
func idsAnew(o *options) {
	connection, before := 0, 0
	o.Policy.ID = func(v view, kind string, n int, _ string) any {
		if v.Connection != connection {
			connection, before = v.Connection, n-1
		}
		return fmt.Sprintf("%s-%03d", map[bool]string{true: "join", false: "req"}[kind == proto.RelayJoin], n-before)
	}
}

// sameIDAgain repeats the first failed call with the same id.
func sameIDAgain(o *options) {
	again, used := "", false
	o.Policy.Failed = func(_ view, f agent.Failure, right agent.Remedy) agent.Remedy {
		if f.Request.Type == proto.ToolCall && again == "" {
			again = f.Request.ID
			return agent.TryAgain
		}
		return right
	}
	o.Policy.ID = func(_ view, kind string, _ int, id string) any {
		if kind == proto.ToolCall && again != "" && !used {
			used = true
			return again
		}
		return id
	}
}

// wordsIDs gives agent.message the id of the preceding request.
func wordsIDs(o *options) {
	last := ""
	o.Outbound = func(_ view, msg message, send sender) {
		if msg.Type() == proto.AgentMessage {
			msg = msg.With("id", last)
		}
		last = msg.ID()
		send(msg)
	}
}

// spread moves the members of an agent.message's payload up into the envelope.
func spread(_ view, msg message, send sender) {
	if msg.Type() == proto.AgentMessage {
		out := msg.Without("payload")
		maps.Copy(out, msg.Payload())
		msg = out
	}
	send(msg)
}

// sending replaces the text of each agent.message frame.
func sending(f func(data string) string) fault {
	return onEach(proto.AgentMessage, func(data string) []string { return []string{f(data)} })
}

// before sends a text before each message of a type.
func before(kind, text string) fault {
	return onEach(kind, func(data string) []string { return []string{text, data} })
}

// onEach replaces the frames of a type by other texts.
func onEach(kind string, f func(data string) []string) fault {
	return writing(func() func(data string, put put) error {
		return func(data string, put put) error {
			texts := []string{data}
			if strings.Contains(data, `"type":"`+kind+`"`) {
				texts = f(data)
			}
			for _, text := range texts {
				if err := put(text); err != nil {
					return err
				}
			}
			return nil
		}
	})
}

// callFaults make calls to tools that are not announced, or with params that the schema does not allow.
var callFaults = map[string]fault{
	"calls-what-it-knows": knowsHighlight,
	"calls-in-capitals": calling(func(_ state, c call) call {
		c.Tool = strings.ToUpper(c.Tool[:1]) + c.Tool[1:]
		return c
	}),
	"calls-in-snake-case":       calling(func(_ state, c call) call { c.Tool = spoil.SnakeCase(c.Tool); return c }),
	"calls-with-a-prefix":       calling(func(_ state, c call) call { c.Tool = "functions." + c.Tool; return c }),
	"calls-by-description":      calling(byDescription),
	"params-by-label":           paramsOf(byLabel),
	"params-of-the-first-stage": firstItems,
}

// calling changes the chosen calls.
func calling(f func(s state, c call) call) fault {
	return deciding(policy{Choose: func(_ view, s state, c call) call { return f(s, c) }})
}

// paramsOf changes a copy of the params of the chosen calls.
func paramsOf(f func(s state, p object)) fault {
	return calling(func(s state, c call) call {
		p := object{}
		params, _ := c.Params.(object)
		maps.Copy(p, params)
		f(s, p)
		c.Params = p
		return c
	})
}

// knowsHighlight highlights the item that it is about to choose, with a tool known from another host.
func knowsHighlight(o *options) {
	shown := map[int]bool{} // keyed by the state's number
	o.Policy.Choose = func(_ view, s state, c call) call {
		p, _ := c.Params.(object)
		if id, has := p["itemId"]; has && !shown[s.Serial] {
			shown[s.Serial] = true
			return call{Tool: proto.Highlight, Params: object{"itemId": id}, Reason: "Show what is chosen."}
		}
		return c
	}
}

// byDescription calls a tool by the first words of its description.
func byDescription(s state, c call) call {
	for _, t := range s.Tools {
		if t.Name == c.Tool && t.Description != "" {
			c.Tool, _, _ = strings.Cut(t.Description, ".")
		}
	}
	return c
}

// itemsOf returns the items that a state shows.
func itemsOf(s state) []object {
	var out []object
	list, _ := s.UISpec["items"].([]any)
	for _, v := range list {
		if o, ok := v.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

// byLabel names an item by its label.
func byLabel(s state, p object) {
	for _, i := range itemsOf(s) {
		if i["id"] == p["itemId"] && i["label"] != nil {
			p["itemId"] = i["label"]
			return
		}
	}
}

// firstItems uses the items of the first stage at every stage.
func firstItems(o *options) {
	var ids []any
	o.Policy.Choose = func(v view, s state, c call) call {
		for _, i := range itemsOf(s) {
			if len(ids) == 0 || v.Made == 0 {
				ids = append(ids, i["id"])
			}
		}
		p, _ := c.Params.(object)
		if id, has := p["itemId"]; has && len(ids) > 0 && !slices.Contains(ids, id) {
			p = maps.Clone(p)
			p["itemId"] = ids[0]
			c.Params = p
		}
		return c
	}
}
