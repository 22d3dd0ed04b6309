package visit

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"parley/internal/deadline"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/driver/sse"
	"parley/transport/transcript"
)

// What the server of a visit offers, in words that no page contains by itself.
const (
	Agent     = "parley-probe-agent"
	AgentName = "Parley Probe Agent"
	Session   = "parley-probe-session"
)

// session is an entry of the server's list of sessions.
var session = fmt.Sprintf(`{"id":%[1]q,"sessionId":%[1]q,"name":%[1]q,"title":%[1]q}`, Session)

// offering lists the events sent on each event stream.
var offering = []string{
	`{"type":"connected","data":{"connectionId":"parley-probe"}}`,
	fmt.Sprintf(`{"type":"agent_list","data":{"agents":[{"id":%q,"name":%q,"description":"one"},`+
		`{"id":"parley-probe-other","name":"Parley Probe Other","description":"two"}],"currentAgentId":%[1]q}}`,
		Agent, AgentName),
}

// Offer makes the server offer agents on every stream opened from now on.
func (v *Visit) Offer() { v.offers.Store(true) }

// offer sends agents to a page that has connected, once Offer was called.
func (v *Visit) offer(_ sse.Incoming, st *sse.Streamed) {
	if !v.offers.Load() {
		return
	}
	for _, event := range offering {
		if _, err := st.Emit(context.Background(), "offered", []byte("data: "+event+"\n\n")); err != nil {
			return // the page has closed it
		}
	}
}

// Shows returns the first snapshot that matches within the limit for events, or else the latest.
func (v *Visit) Shows(ctx context.Context, is func(snapshot.Page) bool) (l snapshot.Page) {
	ctx, cancel := deadline.WithLimit(ctx, v.profile.Limits.Event.Duration)
	defer cancel()
	_, _ = v.Transcript.Await(ctx, 0, func(r *transcript.Record) bool {
		var now snapshot.Page
		if r.Kind != transcript.Snapshot || json.Unmarshal(r.Bytes, &now) != nil {
			return false
		}
		l = now
		return is(now)
	})
	return l
}
