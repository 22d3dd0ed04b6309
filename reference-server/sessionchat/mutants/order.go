package mutants

import (
	"slices"
	"strings"

	proto "parley/protocol/sessionchat"
)

// orderFaults lose, repeat, reorder or delay the model's output.
var orderFaults = map[string]fault{
	"pieces-reversed":           piecewise(reversed),
	"pieces-swapped-in-pairs":   piecewise(swappedInPairs),
	"pieces-sorted":             piecewise(sorted),
	"first-piece-lost":          piecewise(func(ps []message) []message { return ps[min(1, len(ps)-1):] }),
	"last-piece-of-stream-lost": piecewise(func(ps []message) []message { return ps[:max(1, len(ps)-1)] }),
	"last-piece-lost":           lastPieceLost,
	"one-buffer-for-all":        oneBuffer,
	"words-behind-the-end":      wordsAfterTheEnd,
	"letters-behind-the-end":    lettersAfterTheEnd,
	"words-behind-an-interrupt": wordsAfterAnInterrupt,
	"turn-told-at-its-end":      toldAtItsEnd,
	"end-told-again-later":      endToldAgainLater,
}

// piecewise changes the pieces of each turn, of which there is at least one.
func piecewise(change func(pieces []message) []message) fault {
	return func(o *options) {
		pieces := map[string][]message{} // by agent_id
		o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
			id := agentOf(msg)
			switch msg.Type() {
			case proto.StreamMessage:
				pieces[id] = append(pieces[id], msg)
				return
			case proto.AssistantMessage, proto.ResultMessage:
				if len(pieces[id]) > 0 {
					for _, p := range change(pieces[id]) {
						send(to.ID, p)
					}
				}
				delete(pieces, id)
			}
			send(to.ID, msg)
		}
	}
}

func reversed(pieces []message) []message {
	slices.Reverse(pieces)
	return pieces
}

func swappedInPairs(pieces []message) []message {
	for i := 1; i < len(pieces); i += 2 {
		pieces[i-1], pieces[i] = pieces[i], pieces[i-1]
	}
	return pieces
}

// sorted sorts the pieces by text, so that 10 comes before 2.
func sorted(pieces []message) []message {
	slices.SortStableFunc(pieces, func(a, b message) int { return strings.Compare(words(a), words(b)) })
	return pieces
}

// words returns the text of a piece.
func words(piece message) string {
	s, _ := piece.Body()["text"].(string)
	return s
}

// with returns a message with another member in its body.
func with(msg message, name string, v any) message {
	body := object{name: v}
	for key, old := range msg.Body() {
		if key != name {
			body[key] = old
		}
	}
	return msg.With("message", body)
}

// lastPieceLost holds each piece back until the next one, so that the last of several is never sent; it is missing
// from the whole answer too.
func lastPieceLost(o *options) {
	held, told := map[string]message{}, map[string]string{} // by agent_id
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		id := agentOf(msg)
		switch msg.Type() {
		case proto.StreamMessage:
			late := held[id]
			held[id] = msg
			if told[id] == "" { // the first is sent at once
				late, held[id] = msg, nil
			}
			if late != nil {
				told[id] += words(late)
				send(to.ID, late)
			}
			return
		case proto.AssistantMessage:
			msg = with(msg, "content", told[id])
		case proto.ResultMessage:
			delete(held, id)
			delete(told, id)
		}
		send(to.ID, msg)
	}
}

// oneBuffer holds each piece back until the next one, in a buffer shared by all sessions: if another session speaks
// next, the held text is sent with that session's piece and agent_id.
func oneBuffer(o *options) {
	var held message
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		another := held != nil && agentOf(held) != agentOf(msg)
		switch {
		case msg.Type() == proto.StreamMessage && another:
			send(to.ID, with(msg, "text", words(held)+"\n"+words(msg)))
			held = nil
			return
		case held != nil && !another && ofTurn(msg):
			send(to.ID, held)
			held = nil
		}
		if msg.Type() == proto.StreamMessage {
			held = msg
			return
		}
		send(to.ID, msg)
	}
}

// wordsAfterTheEnd flushes a buffer once more after the end.
func wordsAfterTheEnd(o *options) {
	last := map[string]message{} // by agent_id
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		id := agentOf(msg)
		send(to.ID, msg)
		switch msg.Type() {
		case proto.StreamMessage:
			last[id] = msg
		case proto.ResultMessage:
			if again := last[id]; again != nil {
				send(to.ID, again)
			}
			delete(last, id)
		}
	}
}

// lettersAfterTheEnd keeps the last two letters of what has been said until more follows, or the end.
func lettersAfterTheEnd(o *options) {
	kept := map[string]string{} // by agent_id
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		id := agentOf(msg)
		switch msg.Type() {
		case proto.StreamMessage:
			all := kept[id] + words(msg)
			cut := max(0, len(all)-2)
			kept[id] = all[cut:]
			msg = with(msg, "text", all[:cut])
		case proto.ResultMessage:
			send(to.ID, msg)
			if kept[id] == "" {
				return
			}
			msg = with(msg, "text", kept[id]).With("message_type", proto.StreamMessage)
			delete(kept, id)
		}
		send(to.ID, msg)
	}
}

// wordsAfterAnInterrupt sends the unfinished answer after the result of an interrupted turn.
func wordsAfterAnInterrupt(o *options) {
	said := map[string]string{} // by agent_id
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		id := agentOf(msg)
		send(to.ID, msg)
		switch msg.Type() {
		case proto.StreamMessage:
			said[id] += words(msg)
		case proto.ResultMessage:
			if msg.Body()["subtype"] == proto.Interrupted {
				send(to.ID, msg.With("message_type", proto.AssistantMessage).With("message", object{"content": said[id]}))
			}
			delete(said, id)
		}
	}
}

// toldAtItsEnd collects a turn and sends it when it is complete.
func toldAtItsEnd(o *options) {
	held := map[string][]message{} // by agent_id
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		id := agentOf(msg)
		if ofTurn(msg) && msg.Type() != proto.ResultMessage {
			held[id] = append(held[id], msg)
			return
		}
		if msg.Type() == proto.ResultMessage {
			for _, m := range held[id] {
				send(to.ID, m)
			}
			delete(held, id)
		}
		send(to.ID, msg)
	}
}

// endToldAgainLater repeats the end of a turn when the session's next turn begins.
func endToldAgainLater(o *options) {
	last := map[string]message{} // by agent_id
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		id := agentOf(msg)
		if again := last[id]; again != nil && ofTurn(msg) {
			send(to.ID, again)
			delete(last, id)
		}
		send(to.ID, msg)
		if msg.Type() == proto.ResultMessage {
			last[id] = msg
		}
	}
}
