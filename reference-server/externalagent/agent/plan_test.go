package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/externalagent"
)

// wizard is a different kind of host: each page has its own tools, and one of several calls leads to the next page.
type wizard struct {
	pages []page
	at    int
	calls []string
}

type page struct {
	spec  object
	tools []any
	leave []string // calls that lead to the next page
}

func (z *wizard) answer(h *host, msg Message) ([]Message, bool) {
	done := z.at == len(z.pages)
	state := object{"sessionId": h.id(), "uiSpec": nil, "messageHistory": []any{}, "toolSchema": []any{}}
	fill := func() {
		if z.at < len(z.pages) {
			state["uiSpec"], state["toolSchema"] = z.pages[z.at].spec, z.pages[z.at].tools
		}
	}
	switch msg.Type() {
	case proto.SnapshotGet:
		fill()
		return []Message{answerTo(msg, proto.SnapshotState, state)}, h.active
	case proto.AgentMessage:
		return nil, true
	case proto.ToolCall:
		if done {
			return []Message{refusal(msg, proto.NoActiveSpec)}, true
		}
		what := msg.Payload()["toolName"].(string) + " " + canonicalText(msg.Payload()["params"])
		z.calls = append(z.calls, what)
		if !slices.Contains(z.pages[z.at].leave, what) {
			return []Message{refusal(msg, proto.ToolExecutionFailed)}, true
		}
		z.at++
		fill()
		return []Message{answerTo(msg, proto.ToolResult, object{"ok": true}), newPush(proto.StateUpdated, state)}, true
	}
	return nil, false
}

func tool(name string, parameters any) object { return object{"name": name, "parameters": parameters} }

func TestFindsItsWayThroughUnknownFlows(t *testing.T) {
	for _, c := range []struct {
		name  string
		pages []page
		want  []string
	}{
		{"no items, enums alone", []page{
			{object{"title": "City"}, []any{tool("back", nil), tool("chooseCity", object{"city": object{"type": "string",
				"enum": []any{"Ghent", "Bruges"}}})}, []string{`chooseCity {"city":"Ghent"}`}},
			{object{"title": "Really?"}, []any{tool("cancel", nil), tool("confirmBooking", nil)}, []string{`confirmBooking {}`}},
		}, []string{`chooseCity {"city":"Ghent"}`, `confirmBooking {}`}},
		{"unknown tools come before next, once", []page{
			{object{"title": "A"}, []any{tool("next", nil), tool("frobnicate", object{"x": object{"type": "integer"}})},
				[]string{`next {}`}},
		}, []string{`frobnicate {"x":1}`, `next {}`}},
		{"decorating tools come last", []page{
			{object{"title": "A"}, []any{tool("filter", object{"value": object{"type": "string"}}), tool("prev", nil),
				tool("go", nil)}, []string{`prev {}`}},
		}, []string{`go {}`, `filter {"value":"yes"}`, `prev {}`}},
		{"items in a table of their own", []page{
			{object{"table": []any{object{"id": 7.0, "soldOut": true}, object{"id": 8.0}}}, []any{tool("pick",
				object{"rowId": object{"type": "integer"}})}, []string{`pick {"rowId":8}`}},
		}, []string{`pick {"rowId":8}`}},
		{"the first choice is refused", []page{
			{object{"stage": "A", "items": []any{item3("a", true, "x"), item3("b", true, "x")}}, []any{tool("select",
				object{"itemId": object{"type": "string"}}), tool("next", nil)}, []string{`select {"itemId":"b"}`}},
		}, []string{`select {"itemId":"a"}`, `select {"itemId":"b"}`}},
		{"an unknown tool in another way", []page{
			{object{"stage": "A"}, []any{tool("spin", object{"way": object{"type": "string", "enum": []any{"left",
				"right"}}})}, []string{`spin {"way":"right"}`}},
		}, []string{`spin {"way":"left"}`, `spin {"way":"right"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			z := &wizard{pages: c.pages}
			book(t, &host{before: z.answer}, Options{}).wantBooked()
			if diff := cmp.Diff(c.want, z.calls); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Calls that change nothing are not repeated over and over, and each costs patience.
func TestLearnsWhatHasNoEffect(t *testing.T) {
	h := &host{before: func(h *host, msg Message) ([]Message, bool) {
		if name := msg.Payload()["toolName"]; name != proto.Next {
			return nil, false
		}
		return []Message{answerTo(msg, proto.ToolResult, object{"ok": true, "toolName": proto.Next}), h.update()}, true
	}}
	w := book(t, h, Options{MaxCalls: 40})
	if o := w.finish.Outcome; o.Booked || !o.Ended {
		t.Errorf("finished with %+v", o)
	}
	if w.now < 2*time.Second || w.now > 40*time.Second {
		t.Errorf("it took %v", w.now)
	}
}
