package externalagent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	wjson "parley/wire/json"
)

// drift is what changes by itself in a target's states, such as a clock in uiSpec: it is left out of every comparison
// of its scenario. The zero value knows of nothing.
type drift struct {
	places  []string       // names of members of a state and JSON Pointers within them; "*" is any index of an array
	changed map[string]int // how often a place has changed from one look to the next
}

// often is how often a place has to change until it is known to change by itself. Once is what comes late of something
// that was done before.
const often = 2

// look takes in two states that were told one after the other, with nothing done between them or before, and returns
// what is now known to change by itself.
func (d *drift) look(a, b state) (news []string) {
	if d.changed == nil {
		d.changed = map[string]int{}
	}
	for _, at := range placesApart(a, b) {
		if d.changed[at]++; d.changed[at] == often {
			news = append(news, d.add(at)...)
		}
	}
	return news
}

// pending reports whether a place has changed, and not often enough to be known.
func (d *drift) pending() bool {
	for _, n := range d.changed {
		if n < often {
			return true
		}
	}
	return false
}

// add takes in places, and returns those that were not known.
func (d *drift) add(places ...string) (news []string) {
	for _, at := range places {
		if !slices.Contains(d.places, at) {
			d.places, news = append(d.places, at), append(news, at)
		}
	}
	return news
}

// placesApart are the places at which two states differ, each once. A whole member of a state is none: without it there
// would be nothing to compare.
func placesApart(a, b state) []string {
	var out []string
	for _, name := range members {
		for _, at := range changes(name, a.member(name), b.member(name)) {
			if at = general(at); strings.Contains(at, "/") && !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// general is a place with every index of an array replaced by "*".
func general(at string) string {
	name, pointer, _ := strings.Cut(at, "/")
	if pointer == "" {
		return at
	}
	tokens, err := wjson.ParsePointer("/" + pointer)
	if err != nil {
		return at
	}
	for i, t := range tokens {
		if t != "" && strings.Trim(t, "0123456789") == "" {
			tokens[i] = "*"
		}
	}
	return name + wjson.FormatPointer(tokens...)
}

// settled is a member of a state without what changes by itself. The order in which tools are announced means nothing.
func (d *drift) settled(name string, v any) any {
	copy := false
	for _, at := range d.places {
		if rest, ok := strings.CutPrefix(at, name+"/"); ok {
			if !copy {
				v, copy = copied(v), true
			}
			if tokens, err := wjson.ParsePointer("/" + rest); err == nil {
				remove(v, tokens)
			}
		}
	}
	if list, ok := v.([]any); ok && name == "toolSchema" {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
		return list
	}
	return v
}

// remove removes what a pattern points to.
func remove(doc any, tokens []string) {
	switch d := doc.(type) {
	case object:
		if len(tokens) == 1 && tokens[0] != "*" {
			delete(d, tokens[0])
			return
		}
		for name, m := range d {
			if name == tokens[0] || tokens[0] == "*" && strings.Trim(name, "0123456789") == "" {
				if len(tokens) == 1 {
					delete(d, name)
				} else {
					remove(m, tokens[1:])
				}
			}
		}
	case []any:
		for i, m := range d {
			switch {
			case tokens[0] != "*":
			case len(tokens) == 1:
				d[i] = nil
			default:
				remove(m, tokens[1:])
			}
		}
	}
}

// watching is for how long a target is watched for what changes by itself, once there is a reason to: long enough for a
// clock that shows seconds to go on twice.
func (s *suite) watching() time.Duration { return min(2500*time.Millisecond, s.Env.Event()) }

// learnRestless finds out what changes by itself in a session in which nobody has done anything yet. Behind a relay the
// host is ours, and keeps still.
func (s *suite) learnRestless(ctx context.Context, p *party) error {
	within := time.Duration(0)
	if s.Env.Role == vocab.Host && !s.observable() && s.restless() {
		within = s.horizon().enough(s.watching())
	}
	return s.watch(ctx, p, &s.drift, within)
}

// fewest is how often at least a target is looked at that is watched for a time: where each look takes long, that time
// has room for too few to see anything change twice.
const fewest = 10

// watch looks at the state of a party three times, and then for as long as is asked for; longer only where something
// has changed, and not often enough.
func (s *suite) watch(ctx context.Context, p *party, d *drift, within time.Duration) error {
	now, err := s.quieted(ctx, p)
	if err != nil {
		return err
	}
	end, most := deadline.In(within), deadline.In(s.watching())
	began, latest := time.Now(), time.Duration(0)
	least := 3
	if within > 0 {
		least = fewest
	}
	for looks := 1; looks < least || !end.Over() || d.pending() && !most.Over(); looks++ {
		if looks >= 3 {
			s.pauseFor(ctx, s.watching()/25)
		}
		next, err := s.snapshot(ctx, p)
		if err != nil {
			return err
		}
		if news := d.look(now, next); len(news) > 0 {
			latest = time.Since(began)
			s.leftOut(news)
		}
		now = next
	}
	switch {
	case within < s.watching():
	case len(d.changed) == 0:
		s.Env.Learnt.Store(stillKey{}, true)
	default:
		s.horizon().watched(latest)
	}
	return nil
}

// horizon is how soon all that changes by itself was known in the scenarios that have watched for it to the end. What
// changes is for each scenario to find out; for how long it has to watch, they tell each other. It is safe for
// concurrent use.
type horizon struct {
	mu      sync.Mutex
	watches int
	latest  time.Duration
}

// tellers is how many scenarios watch to the end before others go by what they have found.
const tellers = 3

func (h *horizon) watched(latest time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches++
	h.latest = max(h.latest, latest)
}

// enough is for how long to watch: four times as long as it has taken before, at most to the end.
func (h *horizon) enough(end time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watches < tellers {
		return end
	}
	return min(end, 4*h.latest+end/25)
}

func (s *suite) horizon() *horizon {
	return learnt[horizon](s)
}

// stillKey is where a run keeps that its target was watched for long, and nothing has changed: not what changes, which
// each scenario has to find out for itself.
type stillKey struct{}

// restless reports whether the target has not been found to stand still.
func (s *suite) restless() bool {
	_, still := s.Env.Learnt.Load(stillKey{})
	return !still
}

// observable reports whether a session beside the scenario's can be had, in which nobody does anything.
func (s *suite) observable() bool {
	return s.Env.Role == vocab.Host && !s.fixed() && s.Env.Profile.Has(binding.RelaySessions)
}

// observer is the name of the agent that only looks.
const observer = "observer"

// observe finds out, once in a scenario, whether what differs between two states changes by itself: in a session of its
// own, which nobody has asked for anything. It returns whether anything was learnt.
func (s *suite) observe(ctx context.Context, a, b state) bool {
	if s.observed || !s.observable() || len(placesApart(a, b)) == 0 {
		return false
	}
	s.observed = true
	mark := s.mark
	defer func() { s.mark = mark }()
	p := s.party(observer)
	p.session = s.relaySession(observer)
	known := len(s.drift.places)
	if err := s.hasSession(ctx, p); err == nil {
		_ = s.watch(ctx, p, &s.drift, s.watching())
	}
	return len(s.drift.places) > known
}

// quieted is the state of a party once it has been told nothing new for a quiet window. A host that tells of its clock
// is never quiet, and not waited for.
func (s *suite) quieted(ctx context.Context, p *party) (state, error) {
	const rounds = 8
	for range rounds {
		if _, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: s.T.Len(), Within: s.Env.Profile.Limits.Quiet.Duration,
			Match: received(vocab.StateUpdated)}); miss != nil {
			break
		}
	}
	return s.snapshot(ctx, p)
}
