package agents

import (
	"fmt"
	"strings"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
)

// envelopeFaults get the envelope wrong, or send none.
var envelopeFaults = map[string]fault{
	"no-v":                     rewriting("", func(msg message) message { return msg.Without("v") }),
	"no-v-in-words":            rewriting(proto.AgentMessage, func(msg message) message { return msg.Without("v") }),
	"reply-to-a-number":        rewriting("", func(msg message) message { return msg.With("replyTo", 7) }),
	"v-a-number":               rewriting("", func(msg message) message { return msg.With("v", 0.2) }),
	"v-of-the-last-version":    rewriting("", func(msg message) message { return msg.With("v", "mvp-0.1") }),
	"v-without-its-name":       rewriting("", func(msg message) message { return msg.With("v", "0.2") }),
	"v-in-the-join-only":       rewriting(proto.ToolCall, func(msg message) message { return msg.Without("v") }),
	"type-missing":             rewriting(proto.AgentMessage, func(msg message) message { return msg.Without("type").With("event", msg.Type()) }),
	"type-a-number":            rewriting(proto.AgentMessage, func(msg message) message { return msg.With("type", 4) }),
	"id-a-number":              rewriting(proto.AgentMessage, func(msg message) message { return msg.With("id", 4) }),
	"id-an-object":             rewriting(proto.AgentMessage, func(msg message) message { return msg.With("id", object{"$oid": msg.ID()}) }),
	"ids-by-type":              deciding(func() rules { return rules{id: func(_ view, kind string, _ int) any { return kind }} }),
	"ids-count-each-type":      deciding(countingTypes),
	"ids-of-the-second":        deciding(idsOfTheSecond),
	"ids-begin-anew":           deciding(idsAnew),
	"call-again-same-id":       deciding(sameIDAgain),
	"words-have-no-own-id":     telling(wordsIDs),
	"payload-missing":          rewriting(proto.SnapshotGet, func(msg message) message { return msg.Without("payload") }),
	"payload-null":             rewriting(proto.SnapshotGet, func(msg message) message { return msg.With("payload", nil) }),
	"payload-a-list":           rewriting(proto.AgentMessage, func(msg message) message { return msg.With("payload", []any{msg["payload"]}) }),
	"payload-a-text":           rewriting(proto.AgentMessage, func(msg message) message { return msg.With("payload", msg.Payload()["text"]) }),
	"payload-as-text":          rewriting(proto.ToolCall, func(msg message) message { return msg.With("payload", fmt.Sprintf("%q", msg.Payload()["toolName"])) }),
	"payload-spread":           rewriting(proto.AgentMessage, spread),
	"sends-lists":              onEach(proto.AgentMessage, func(data string) []string { return []string{"[" + data + "]"} }),
	"sends-two-in-one":         onEach(proto.AgentMessage, func(data string) []string { return []string{data + "\n" + data} }),
	"sends-half-and-half":      onEach(proto.AgentMessage, func(data string) []string { return []string{data[:len(data)/2], data[len(data)/2:]} }),
	"sends-text-as-text":       onEach(proto.AgentMessage, func(string) []string { return []string{"I go on."} }),
	"sends-what-python-prints": onEach(proto.AgentMessage, func(data string) []string { return []string{strings.ReplaceAll(data, `"`, "'")} }),
	"sends-json-in-json":       onEach(proto.AgentMessage, func(data string) []string { return []string{fmt.Sprintf("%q", data)} }),
	"sends-members-twice":      onEach(proto.AgentMessage, func(data string) []string { return []string{`{"v":"mvp-0.2",` + data[1:]} }),
	"pings-by-text":            onEach(proto.ToolCall, func(data string) []string { return []string{"ping", data} }),
	"pings-by-nothing":         onEach(proto.ToolCall, func(data string) []string { return []string{"", data} }),
	"acknowledges-by-null":     onEach(proto.ToolCall, func(data string) []string { return []string{"null", data} }),
	"a-comma-too-many":         onEach(proto.AgentMessage, func(data string) []string { return []string{data[:len(data)-1] + ",}"} }),
	"nan-in-a-message":         onEach(proto.AgentMessage, func(data string) []string { return []string{data[:len(data)-1] + `,"score":NaN}`} }),
}

// countingTypes counts the messages of each type by themselves.
func countingTypes() rules {
	n := map[string]int{}
	return rules{id: func(_ view, kind string, _ int) any {
		n[kind]++
		return fmt.Sprintf("req-%03d", n[kind])
	}}
}

// idsOfTheSecond are of the clock.
func idsOfTheSecond() rules {
	return rules{id: func(view, string, int) any { return fmt.Sprintf("req-%d", time.Now().Unix()/10) }}
}

// idsAnew count the messages of a connection.
func idsAnew() rules {
	connection, before := 0, 0
	return rules{id: func(v view, kind string, n int) any {
		if v.Connection != connection {
			connection, before = v.Connection, n-1
		}
		return correct.ID(v, kind, n-before)
	}}
}

// sameIDAgain makes a call that has failed again, as it was.
func sameIDAgain() rules {
	again := ""
	return rules{
		failed: func(v view, f agent.Failure) agent.Remedy {
			if f.Request.Type == proto.ToolCall && again == "" {
				again = f.Request.ID
				return agent.TryAgain
			}
			return correct.Failed(v, f)
		},
		id: func(v view, kind string, n int) any {
			if id := again; kind == proto.ToolCall && id != "" && id != "used" {
				again = "used"
				return id
			}
			return correct.ID(v, kind, n)
		},
	}
}

// wordsIDs gives agent.message the id of the request before it.
func wordsIDs() agent.Outbound {
	last := ""
	return func(_ view, msg message, send sender) {
		if msg.Type() == proto.AgentMessage {
			msg = msg.With("id", last)
		}
		last = msg.ID()
		send(msg)
	}
}

// spread puts the payload's members beside those of the envelope.
func spread(msg message) message {
	out := msg.Without("payload")
	for name, v := range msg.Payload() {
		out[name] = v
	}
	return out
}

// onEach puts other texts in the place of the messages of a type.
func onEach(kind string, f func(data string) []string) fault {
	return writing(func() func(data []byte, put func(data []byte) error) error {
		return func(data []byte, put func(data []byte) error) error {
			if !strings.Contains(string(data), `"type":"`+kind+`"`) {
				return put(data)
			}
			for _, text := range f(string(data)) {
				if err := put([]byte(text)); err != nil {
					return err
				}
			}
			return nil
		}
	})
}
