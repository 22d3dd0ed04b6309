package externalagent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/model"
	wjson "parley/transport/wire/json"
)

// drift is what changes by itself in a target's states, such as a clock in uiSpec. All comparisons ignore it. The zero
// value knows no such places.
type drift struct {
	places  []string       // names of members of a state and JSON Pointers within them; "*" is any index of an array
	changed map[string]int // number of times that a place changed between two looks
}

// now says at which moment of the scenario something is found out.
func (s *suite) now() string {
	return fmt.Sprintf("%.1f s into %q", time.Since(s.T.Began()).Seconds(), s.title)
}

// adopt takes over what other scenarios have found to change by itself.
func (s *suite) adopt() {
	if all := learnt[restlessness](s).known(); len(all) > s.adopted {
		s.adopted = len(all)
		s.drift.add(all...)
	}
}

// compared are the clauses that are judged by comparing states.
var compared = []string{"EA-008a", "EA-011", "EA-051", "EA-054", "EA-055", "EA-072", "EA-073", "EA-074", "EA-075"}

// shown are the clauses of these that a change proves.
var shown = []string{"EA-051", "EA-054", "EA-055"}

// tellChanges takes in what the scenario has seen to change without an act. Its failures are preliminary, and what only
// a change has proved, while the run may find out that something which changed in the scenario changes by itself.
func (s *suite) tellChanges() {
	if s.Env.Role != vocab.Host {
		return
	}
	all := learnt[restlessness](s)
	changed := map[string]bool{}
	for _, p := range s.parties {
		var last state
		idle, from := false, 0 // a session has begun, and nothing has been done in it; the record that asked for it
		for _, r := range s.Between(p.name, 0, 0) {
			switch {
			case received(vocab.SessionStarted)(&r):
				last, idle = state{}, true
				for _, q := range p.asked {
					if q.kind == vocab.SessionStart && answers(q.id)(&r) {
						from = q.mark // until it is answered, what comes is of the session before
					}
				}
			case told(&r):
				now := model.StateOf(&r)
				if last.N > 0 {
					for _, at := range placesApart(last, now) {
						changed[at] = true
					}
					if idle && s.nothingAsked(p, from, r.N) {
						all.saw(s.now(), s.Beside(), last, now)
					}
				}
				last = now
			}
		}
	}
	known := all.known()
	s.Doubt(&steps.Doubt{Clauses: compared, Shown: shown, Settled: func() bool {
		return slices.ContainsFunc(all.known(), func(at string) bool { return changed[at] && !slices.Contains(known, at) })
	}})
}

// nothingAsked reports whether, between two records, nobody in a party's relay session asked for more than a session
// and its state.
func (s *suite) nothingAsked(p *party, from, before int) bool {
	for _, other := range s.parties {
		for _, q := range other.asked {
			if q.mark >= from && q.mark < before && other.session == p.session && q.kind != vocab.SessionStart &&
				q.kind != vocab.SnapshotGet && q.kind != vocab.RelayJoin {
				return false
			}
		}
	}
	return s.spokenAt == 0 || s.spokenAt < from || s.spokenAt > before
}

// often is the number of changes after which a place is known to change by itself. A single change may be a late
// effect of something done before.
const often = 2

// look compares two consecutive states with nothing done before or between them, and returns the places newly known
// to change by themselves.
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

// pending reports whether a place has changed, but not often enough to be known.
func (d *drift) pending() bool {
	for _, n := range d.changed {
		if n < often {
			return true
		}
	}
	return false
}

// add adds places and returns those that are new.
func (d *drift) add(places ...string) (news []string) {
	for _, at := range places {
		if !slices.Contains(d.places, at) {
			d.places, news = append(d.places, at), append(news, at)
		}
	}
	return news
}

// placesApart returns the places at which two states differ, without duplicates. It omits whole members of a state:
// without them there would be nothing to compare.
func placesApart(a, b state) []string {
	var out []string
	for _, name := range model.Members {
		for _, at := range model.Changes(name, a.Member(name), b.Member(name)) {
			if at = general(at); strings.Contains(at, "/") && !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// general returns a place with every array index replaced by "*".
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

// settled returns a member of a state without what changes by itself. The order of announced tools is ignored.
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
	if list, ok := v.([]any); ok && name == vocab.ToolSchema {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
		return list
	}
	return v
}

// remove removes what a pattern matches.
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

// watching is how long a target is watched for changes by itself once there is a reason to: long enough for a clock
// with seconds to advance twice.
func (s *suite) watching() time.Duration { return min(2500*time.Millisecond, s.Env.Event()) }

// learnRestless finds out what changes by itself in a session in which nothing has been done yet. Behind a relay the
// harness is the host, which changes nothing by itself.
func (s *suite) learnRestless(ctx context.Context, p *party) error {
	within := time.Duration(0)
	if s.Env.Role == vocab.Host && !s.observable() && s.restless() {
		within = s.horizon().enough(s.watching())
	}
	return s.watch(ctx, p, &s.drift, within)
}

// fewest is the minimum number of looks at a target that is watched for a time: with slow looks, that time is too
// short to see anything change twice.
const fewest = 10

// watch looks at the state of a party three times, and then for as long as asked. It continues only while a place has
// changed but not often enough.
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
			s.leftOut(learnt[restlessness](s).learn(s.now(), s.Beside(), news...))
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

// horizon is how soon the scenarios that watched to the end knew all that changes by itself. Each scenario must find
// out by itself what changes, but scenarios share how long to watch. It is safe for concurrent use.
type horizon struct {
	mu      sync.Mutex
	watches int
	latest  time.Duration
}

// tellers is the number of scenarios that watch to the end before others rely on them.
const tellers = 3

func (h *horizon) watched(latest time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches++
	h.latest = max(h.latest, latest)
}

// enough returns how long to watch: four times as long as it took before, at most to the end.
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

// stillKey is the key under which a run records that its target was watched for long and nothing changed. It does not
// record what changes, which each scenario finds out for itself.
type stillKey struct{}

// restless reports whether the target has not been found to keep still.
func (s *suite) restless() bool {
	_, still := s.Env.Learnt.Load(stillKey{})
	return !still
}

// observable reports whether the scenario can have another session in which nothing is done.
func (s *suite) observable() bool {
	return s.Env.Role == vocab.Host && !s.fixed() && s.Env.Profile.Has(binding.RelaySessions)
}

// observer is the name of the agent that only looks.
const observer = "observer"

// observe finds out, once per scenario, whether the differences between two states arise by themselves. It watches a
// session of its own in which nothing is requested. It reports whether it learnt anything.
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

// quieted returns the state of a party once it has received nothing new for a quiet window. The number of windows is
// bounded, because a host that announces each tick of its clock is never quiet.
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
