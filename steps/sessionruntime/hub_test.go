package sessionruntime

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	vocab "parley/protocol/sessionruntime"
)

// hub is one session of a conforming orchestrator.
type hub struct {
	s       *scripted
	id      string
	active  string
	limit   time.Duration
	agents  map[string]bool
	turns   map[string]*talk
	order   []*talk
	seen    map[string]bool
	waiting map[string]int    // receipts, by request and agent
	asks    map[string]object // handovers, by tx_id
}

// talk is one turn.
type talk struct {
	id, trace, agent string
	status           string
	speaking         bool
	last             any
	then             func()
}

func (h *hub) say(event, subtype, to, id string, ids object, payload any) {
	m := object{"id": h.fresh("o"), "session_id": h.id, "event": event, "sender": vocab.FromSession, "target": to,
		"payload": payload, "metadata": ids}
	if subtype != "" {
		m["subtype"] = subtype
	}
	if id != "" {
		m["target_id"] = id
	}
	h.s.publish(m)
}

func (h *hub) fresh(prefix string) string { h.s.count++; return fmt.Sprintf("%s%d", prefix, h.s.count) }

func (h *hub) handle(m object) {
	from, meta := str(m, "sender"), m["metadata"].(object)
	payload, _ := m["payload"].(object)
	public := from == vocab.FromFrontend || from == vocab.FromManager || from == vocab.FromLogger
	if public && m["target"] == vocab.ToBroadcast {
		return
	}
	ids := func(tx bool) object {
		out := object{"turn_id": meta["turn_id"], "trace_id": meta["trace_id"]}
		if tx {
			out["tx_id"] = h.fresh("x")
		}
		return out
	}
	t := h.turns[str(meta, "turn_id")]
	if from == vocab.FromManager && m["event"] == vocab.Control &&
		!h.pending(str(m, "subtype"), str(payload, "agent_id")) {
		return
	}
	switch name := str(m, "subtype"); {
	case m["event"] == vocab.UserInput:
		h.input(m, payload, meta)
	case m["event"] == vocab.Error:
		h.say(vocab.Error, name, vocab.ToFrontend, "", ids(false), m["payload"])
	case m["event"] == vocab.AgentOutput:
		h.output(m, meta)
	case name == vocab.InputAck && t != nil && t.agent == from && t.status == "routing":
		t.status = "running"
	case (name == vocab.Cancel || name == vocab.Interrupt) && public:
		h.stop(func(*talk) bool { return true }, func() {})
	case (name == vocab.CancelAck || name == vocab.StreamStopped) && t != nil && t.agent == from && t.then != nil:
		then := t.then
		t.then, t.speaking, t.status = nil, false, "canceled"
		h.say(vocab.Event, vocab.Canceled, vocab.ToFrontend, "", ids(false), object{})
		then()
	case name == vocab.SwitchAgent && public:
		h.switchTo(str(payload, "to"))
	default:
		h.transact(m, name, t, ids)
	}
}

// transact handles the messages of transactions.
func (h *hub) transact(m object, name string, t *talk, ids func(tx bool) object) {
	from, meta := str(m, "sender"), m["metadata"].(object)
	payload, _ := m["payload"].(object)
	switch {
	case name == vocab.RemoveAgent:
		id := str(payload, "agent_id")
		if h.agents[id] {
			h.stop(func(t *talk) bool { return t.agent == id }, func() {
				h.request(vocab.RequestRemoveAgent, id, ids(true),
					object{"session_id": h.id, "agent_id": id, "reason": "asked for"})
			})
		}
	case name == vocab.RemoveAgentDone:
		id := str(payload, "agent_id")
		delete(h.agents, id)
		h.say(vocab.Event, vocab.AgentRemoved, vocab.ToFrontend, "", ids(false), object{"agent_id": id})
		if rest := slices.Sorted(maps.Keys(h.agents)); h.active == id && len(rest) > 0 {
			h.switchTo(rest[0])
		}
	case name == vocab.RemoveAgentFailed:
		h.say(vocab.Error, name, vocab.ToFrontend, "", ids(false), object{"agent_id": payload["agent_id"]})
	case name == vocab.InviteAgent:
		spec, _ := payload["agent_spec"].(object)
		if id := str(spec, "agent_id"); !h.agents[id] {
			h.request(vocab.RequestAddAgent, id, ids(true), payload)
		}
	case name == vocab.AddAgentDone:
		h.agents[str(payload, "agent_id")] = true
		h.say(vocab.Event, vocab.AgentAdded, vocab.ToFrontend, "", ids(false), object{"agent_id": payload["agent_id"]})
	case name == vocab.AddAgentFailed:
		h.say(vocab.Error, name, vocab.ToFrontend, "", ids(false), object{"agent_id": payload["agent_id"]})
	case name == vocab.HandoverRequest && h.agents[str(payload, "target_agent")]:
		out := ids(true)
		ask := object{"from": from, "to": payload["target_agent"], "reason": payload["reason"], "summary": payload["summary"]}
		if t != nil {
			ask["last"] = t.last
		}
		h.asks[str(out, "tx_id")] = ask
		h.say(vocab.Control, vocab.HandoverUIPrompt, vocab.ToFrontend, "", out, ask)
	case name == vocab.HandoverConfirm || name == vocab.HandoverReject:
		ask := h.asks[str(meta, "tx_id")]
		delete(h.asks, str(meta, "tx_id"))
		if ask != nil && name == vocab.HandoverConfirm {
			h.switchTo(str(ask, "to"))
			h.say(vocab.Control, vocab.HandoverContext, vocab.ToAgent, str(ask, "to"), ids(true), ask)
		}
	case name == vocab.SessionOpen:
		h.request(vocab.RequestSessionOpen, "", ids(true), object{})
	case name == vocab.SessionClose:
		h.stop(func(*talk) bool { return true }, func() { h.request(vocab.RequestSessionClose, "", ids(true), object{}) })
	case name == vocab.SessionOpened || name == vocab.SessionClosed:
		h.say(vocab.Event, name, vocab.ToFrontend, "", ids(false), object{})
	case name == vocab.SessionFailed:
		h.say(vocab.Error, name, vocab.ToFrontend, "", ids(false), object{})
	}
}

// pending reports whether a receipt is outstanding, and marks it as received.
func (h *hub) pending(receipt, agent string) bool {
	for _, ask := range []string{vocab.RequestAddAgent, vocab.RequestRemoveAgent, vocab.RequestSessionOpen,
		vocab.RequestSessionClose} {
		about := strings.TrimPrefix(ask, "REQUEST_") // for example ADD_AGENT or SESSION_OPEN
		key := ask + " " + agent
		if h.waiting[key] > 0 &&
			(strings.HasPrefix(receipt, about) || strings.HasPrefix(about, "SESSION") && receipt == vocab.SessionFailed) {
			h.waiting[key]--
			return true
		}
	}
	return false
}

// request sends a request to SessionManager.
func (h *hub) request(name, agent string, ids, payload object) {
	h.waiting[name+" "+agent]++
	h.say(vocab.Control, name, vocab.ToSystem, "", ids, payload)
}

func (h *hub) switchTo(id string) {
	was := h.active
	if h.active = id; h.active != was {
		h.say(vocab.Control, vocab.SwitchAgent, vocab.ToBroadcast, "", object{},
			object{"from": was, "to": id, "reason": "asked for", "trigger": "message"})
	}
}

func (h *hub) input(m, payload, meta object) {
	to := h.active
	if id := str(payload, "mentioned_agent_id"); id != "" {
		to = id
	} else if m["subtype"] == vocab.Mention {
		to = str(meta, "mentioned_agent_id")
	}
	if to == "" {
		to = slices.Sorted(maps.Keys(h.agents))[0]
	} else if !h.agents[to] {
		h.say(vocab.Error, vocab.AgentNotFound, vocab.ToFrontend, "", object{}, object{"agent_id": to})
		return
	} else {
		h.switchTo(to)
	}
	t := &talk{id: str(meta, "turn_id"), trace: str(meta, "trace_id"), agent: to, status: "routing"}
	if t.id == "" {
		t.id = h.fresh("t")
	}
	if t.trace == "" {
		t.trace = h.fresh("r")
	}
	h.turns[t.id], h.order = t, append(h.order, t)
	ids := maps.Clone(meta)
	ids["turn_id"], ids["trace_id"] = t.id, t.trace
	h.say(vocab.UserInput, "", vocab.ToAgent, to, ids, m["payload"])
	h.say(vocab.Event, vocab.TurnAccepted, vocab.ToFrontend, "", object{"turn_id": t.id, "trace_id": t.trace},
		object{"target_agent": to})
	if h.limit < time.Second {
		h.s.timers = append(h.s.timers, time.AfterFunc(h.limit, func() { h.timeout(t) }))
	}
}

func (h *hub) timeout(t *talk) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if t.status == "routing" && !h.s.over {
		t.status, t.speaking = "failed", false
		h.say(vocab.Error, vocab.RouteTimeout, vocab.ToFrontend, "", object{"turn_id": t.id, "trace_id": t.trace}, object{})
	}
}

func (h *hub) output(m, meta object) {
	t := h.turns[str(meta, "turn_id")]
	if t == nil || t.agent != m["sender"] || t.status != "running" {
		return
	}
	stream, _ := meta["stream"].(object)
	t.last, t.speaking = m["payload"], true
	if stream["final"] == true {
		t.status, t.speaking = "completed", false
	}
	h.say(vocab.AgentOutput, "", vocab.ToFrontend, "", meta, m["payload"])
}

// stop asks the speakers to stop, unless they have been asked already, and continues when they have stopped.
func (h *hub) stop(of func(*talk) bool, then func()) {
	left := 0
	for _, t := range h.order {
		if (t.speaking || t.then != nil) && of(t) {
			left++
			before := t.then
			t.then = func() {
				if before != nil {
					before()
				}
				if left--; left == 0 {
					then()
				}
			}
			if before != nil {
				continue
			}
			h.say(vocab.Control, vocab.Cancel, vocab.ToAgent, t.agent, object{"turn_id": t.id, "trace_id": t.trace}, object{})
		}
	}
	if left == 0 {
		then()
	}
}
