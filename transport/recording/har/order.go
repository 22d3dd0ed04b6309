package har

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
	"parley/transport/transcript"
)

// placeEvents finds when the events came of which the file does not say it: at the time that a message bears, or else
// before the first request that has an id of it. Otherwise it came by the end of its stream.
func (f *reading) placeEvents() {
	for i := len(f.all) - 1; i >= 0; i-- {
		r := &f.all[i]
		if !r.late {
			continue
		}
		next := r.when
		if i+1 < len(f.all) && f.all[i+1].late && f.all[i+1].Conn == r.Conn && f.all[i+1].of == r.of {
			next = f.all[i+1].when
		}
		if r.when = next; !f.dateByMessage(r, next) {
			f.placeBeforeRequest(r)
		}
	}
}

// dateByMessage takes the time that the message bears, if it lies within the life of its stream.
func (f *reading) dateByMessage(r *timed, until time.Time) bool {
	var m struct {
		Timestamp string `json:"timestamp"`
	}
	if json.Unmarshal(r.Bytes, &m, jsonform.Lenient) != nil || m.Timestamp == "" {
		return false
	}
	// What is done in the same millisecond is the cause.
	when, err := time.Parse(time.RFC3339Nano, m.Timestamp)
	when = when.Add(time.Millisecond)
	if err != nil || when.Before(f.began) || when.After(until) {
		return false
	}
	r.when = when
	return true
}

// member is one that has an id.
var member = regexp.MustCompile(`"(\w+)"\s*:\s*"([\w-]{8,})"`)

// byClients are members whose ids clients may draw themselves.
var byClients = []string{"id", "replyto", "requestid", "messageid", "nonce"}

// placeBeforeRequest puts an event before the first request that has an id of it.
func (f *reading) placeBeforeRequest(r *timed) {
	for _, found := range member.FindAllSubmatch(r.Bytes, -1) {
		name, id := strings.ReplaceAll(strings.ToLower(string(found[1])), "_", ""), string(found[2])
		if slices.Contains(byClients, name) || !strings.ContainsAny(id, "0123456789") {
			continue
		}
		for i := range f.all {
			q := &f.all[i]
			if q.Dir == transcript.Sent && (q.Conn != r.Conn || r.of != 0) && q.n != r.of && q.when.Before(r.when) &&
				(strings.Contains(string(q.Bytes), `"`+id+`"`) || strings.Contains(q.Label, id)) {
				r.when = q.when.Add(-time.Nanosecond)
			}
		}
	}
}
