package mutants

import (
	"fmt"
	"maps"
	"strings"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/spoil"
)

// envelopeFaults get the envelope wrong, or send none.
var envelopeFaults = map[string]fault{
	"no-v":                  rewriting("", spoil.Without("v")),
	"no-v-in-words":         rewriting(proto.AgentMessage, spoil.Without("v")),
	"reply-to-a-number":     rewriting("", spoil.With("replyTo", 7)),
	"v-a-number":            rewriting("", spoil.With("v", 0.2)),
	"v-of-the-last-version": rewriting("", spoil.With("v", "mvp-0.1")),
	"v-without-its-name":    rewriting("", spoil.With("v", "0.2")),
	"v-in-the-join-only":    rewriting(proto.ToolCall, spoil.Without("v")),
	"type-missing": rewriting(proto.AgentMessage, func(msg message) message {
		return msg.Without("type").With("event", msg.Type())
	}),
	"type-a-number": rewriting(proto.AgentMessage, spoil.With("type", 4)),
	"id-a-number":   rewriting(proto.AgentMessage, spoil.With("id", 4)),
	"id-an-object": rewriting(proto.AgentMessage, func(msg message) message {
		return msg.With("id", object{"$oid": msg.ID()})
	}),
	"ids-by-type":         deciding(policy{ID: func(_ view, kind string, _ int, _ string) any { return kind }}),
	"ids-count-each-type": countingTypes,
	"ids-of-the-second": deciding(policy{ID: func(view, string, int, string) any {
		return fmt.Sprintf("req-%d", time.Now().Unix()/10)
	}}),
	"ids-begin-anew":       idsAnew,
	"call-again-same-id":   sameIDAgain,
	"words-have-no-own-id": wordsIDs,
	"payload-missing":      rewriting(proto.SnapshotGet, spoil.Without("payload")),
	"payload-null":         rewriting(proto.SnapshotGet, spoil.With("payload", nil)),
	"payload-a-list":       rewriting(proto.AgentMessage, spoil.Member("payload", spoil.InList)),
	"payload-a-text": rewriting(proto.AgentMessage, func(msg message) message {
		return msg.With("payload", msg.Payload()["text"])
	}),
	"payload-as-text": rewriting(proto.ToolCall, func(msg message) message {
		return msg.With("payload", fmt.Sprintf("%q", msg.Payload()["toolName"]))
	}),
	"payload-spread":   rewriting(proto.AgentMessage, spread),
	"sends-lists":      sending(func(data string) string { return "[" + data + "]" }),
	"sends-two-in-one": sending(func(data string) string { return data + "\n" + data }),
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

// spread moves the payload's members up into the envelope.
func spread(msg message) message {
	out := msg.Without("payload")
	maps.Copy(out, msg.Payload())
	return out
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
