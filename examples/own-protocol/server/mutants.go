package server

import (
	"cmp"
	"fmt"
	"net/http"
)

// fault turns the correct server into a mutant: one rule is missing, or something sits between the server and the
// wire.
type fault struct {
	rules func(*rules)
	wrap  func(http.Handler) http.Handler
}

func faultOf(id string) (fault, error) {
	for _, all := range []map[string]fault{transportFaults, ruleFaults, speechFaults} {
		if f, ok := all[id]; ok {
			return f, nil
		}
	}
	return fault{}, fmt.Errorf("no mutant %q", id)
}

// transportFaults are faults of the HTTP layer.
var transportFaults = map[string]fault{
	"stream-is-plain-text": {wrap: func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(plain{w}, r)
		})
	}},
	"accepted-is-ok": {wrap: func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(&ok{w}, r)
		})
	}},
}

// plain declares a stream as plain text.
type plain struct{ http.ResponseWriter }

func (p plain) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p plain) Write(b []byte) (int, error) {
	p.Header().Set("Content-Type", "text/plain")
	return p.ResponseWriter.Write(b)
}

// ok answers 200 instead of 202.
type ok struct{ http.ResponseWriter }

func (o *ok) Unwrap() http.ResponseWriter { return o.ResponseWriter }

func (o *ok) WriteHeader(status int) {
	if status == http.StatusAccepted {
		status = http.StatusOK
	}
	o.ResponseWriter.WriteHeader(status)
}

// ruleFaults are faults in the desk's decisions.
var ruleFaults = map[string]fault{
	"one-client-id":      {rules: func(r *rules) { r.clientID = func(int) string { return "client" } }},
	"seq-from-zero":      {rules: func(r *rules) { r.number = startAtZero() }},
	"seq-stands-still":   {rules: func(r *rules) { r.number = func(int) int { return 1 } }},
	"ticket-per-client":  {rules: func(r *rules) { r.ticketID = func(c *client, _ int) string { return c.id } }},
	"anybodys-ticket":    {rules: func(r *rules) { r.owns = func(*client, *ticket) bool { return true } }},
	"everybody-watches":  {rules: func(r *rules) { r.watchers = everybody }},
	"never-busy":         {rules: func(r *rules) { r.busy = func(*ticket) bool { return false } }},
	"busy-everywhere":    {rules: busyEverywhere},
	"never-closed":       {rules: func(r *rules) { r.closed = func(*ticket) bool { return false } }},
	"nonsense-unheard":   {rules: hearing(func(m *Message) bool { return m.Type != "" && m.Type != "no-such" })},
	"nonsense-is-a-ping": {rules: hearing(func(m *Message) bool { m.Type = cmp.Or(m.Type, "ping"); return true })},
	"consent-not-asked":  {rules: hearing(func(m *Message) bool { m.Consent = false; return true })},
	"no-means-yes":       {rules: hearing(func(m *Message) bool { m.Yes = true; return true })},
	"stop-unheard":       {rules: hearing(func(m *Message) bool { return m.Type != "stop" })},
}

func startAtZero() func(int) int {
	return func(last int) int {
		if last == 0 {
			return -1 // sent as 0, but distinct from "none yet"
		}
		return last + 1
	}
}

func everybody(_ *client, all map[string]*client) (out []*client) {
	for _, c := range all {
		out = append(out, c)
	}
	return out
}

// busyEverywhere treats every ticket as busy while any of them waits for consent.
func busyEverywhere(r *rules) {
	waiting := map[*ticket]bool{}
	r.busy = func(t *ticket) bool {
		for other := range waiting {
			if other.pending != nil {
				return true
			}
		}
		waiting[t] = true
		return t.pending != nil
	}
}

// hearing changes messages; those for which change returns false are lost.
func hearing(change func(*Message) bool) func(*rules) {
	return func(r *rules) {
		r.hear = func(_ *client, m Message) (Message, bool) {
			heard := change(&m)
			return m, heard
		}
	}
}

// speechFaults are faults in what the desk sends.
var speechFaults = map[string]fault{
	"news-before-welcome":  {rules: saying("welcome", func(ev Event) []Event { return []Event{{"type": "news"}, ev} })},
	"welcome-without-id":   {rules: saying("welcome", without("client"))},
	"pong-without-ref":     {rules: saying("pong", without("ref"))},
	"mute-refusals":        {rules: saying("refused", without("message"))},
	"nonsense-is-busy":     {rules: saying("refused", code("bad-message", "busy"))},
	"opened-without-topic": {rules: saying("ticket.opened", without("subject"))},
	"unknown-is-bad":       {rules: saying("refused", code("unknown-ticket", "bad-message"))},
	"closes-silently":      {rules: saying("ticket.closed", nothing)},
	"closed-first":         {rules: closedFirst},
	"no-started":           {rules: saying("agent.started", nothing)},
	"done-twice":           {rules: saying("agent.done", func(ev Event) []Event { return []Event{ev, ev} })},
	"done-is-cut":          {rules: saying("agent.done", doneIsCut)},
	"talks-while-it-asks":  {rules: saying("agent.asks", talks)},
	"history-backwards":    {rules: saying("ticket.history", backwards)},
}

// saying changes the events of one type.
func saying(kind string, change func(Event) []Event) func(*rules) {
	return func(r *rules) {
		r.say = func(ev Event) []Event {
			if ev["type"] != kind {
				return []Event{ev}
			}
			return change(ev)
		}
	}
}

func nothing(Event) []Event { return nil }

func copied(ev Event) Event {
	out := Event{}
	for k, v := range ev {
		out[k] = v
	}
	return out
}

func without(member string) func(Event) []Event {
	return func(ev Event) []Event {
		ev = copied(ev)
		delete(ev, member)
		return []Event{ev}
	}
}

func code(from, to string) func(Event) []Event {
	return func(ev Event) []Event {
		if ev["code"] == from {
			ev = copied(ev)
			ev["code"] = to
		}
		return []Event{ev}
	}
}

func doneIsCut(ev Event) []Event {
	if text, _ := ev["text"].(string); text != "" {
		ev = copied(ev)
		ev["text"] = text[:len(text)-1]
	}
	return []Event{ev}
}

func talks(ev Event) []Event {
	return []Event{ev, {"type": "agent.piece", "ticket": ev["ticket"], "ref": ev["ref"], "text": "I have begun already"}}
}

func backwards(ev Event) []Event {
	said, _ := ev["said"].([]string)
	turned := make([]string, len(said))
	for i, text := range said {
		turned[len(said)-1-i] = text
	}
	ev = copied(ev)
	ev["said"] = turned
	return []Event{ev}
}

// closedFirst reports a ticket as closed before it stops the agent.
func closedFirst(r *rules) {
	held, closing := map[any]Event{}, false
	r.hear = func(_ *client, m Message) (Message, bool) {
		closing = m.Type == "close"
		return m, true
	}
	r.say = func(ev Event) []Event {
		ticket := ev["ticket"]
		switch stopped := held[ticket]; {
		case closing && ev["type"] == "agent.done":
			held[ticket] = ev
			return nil
		case ev["type"] == "ticket.closed" && stopped != nil:
			delete(held, ticket)
			return []Event{ev, stopped}
		}
		return []Event{ev}
	}
}
