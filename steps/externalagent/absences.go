package externalagent

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/binding"
	"parley/transport/transcript"
)

// An agent acts when it likes, so that each of its acts restarts the limit of a wait (awaitAgentOr). One that talks but
// never makes a call would be awaited until it gives up, in every scenario. A wait is shortened only by these rules:
//
//  1. Acts other than calls restart the limit only until the wait, or what follows the agent's latest call, has lasted
//     for restarts limits.
//  2. What an agent has failed to do three times, each within the whole limit, is awaited for no more than the limit in
//     all, and for a fifth of it since the latest act (for more, if waits that succeeded took more than a quarter of
//     that): as long as the agent has sent messages of the same types, no call among them, and if what is awaited has
//     never come in this situation. After three more misses it is awaited for a fifth of the limit in all.
//
// A limit set by the profile is never shortened by rule 2.
const (
	restarts = 4
	misses   = 3
	hurry    = 5 // fraction of a limit that is left: 1/hurry
	slower   = 4 // minimum of a wait, as a multiple of the longest one that succeeded
)

// situation is what is awaited, and the types of messages that the agent has sent so far.
type situation struct{ awaited, sent string }

// absences records what the agents of a run did not do. It is safe for concurrent use; the zero value is ready.
type absences struct {
	mu      sync.Mutex
	came    map[situation]bool
	missed  map[situation]int // within the whole limit
	short   map[situation]int // within a shortened limit
	longest time.Duration
}

func (a *absences) record(at situation, came, short bool, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.came == nil {
		a.came, a.missed, a.short = map[situation]bool{}, map[situation]int{}, map[situation]int{}
	}
	switch {
	case came:
		a.came[at], a.longest = true, max(a.longest, took)
	case short:
		a.short[at]++
	default:
		a.missed[at]++
	}
}

// shorten returns the limits of a wait in a situation, since the latest act and in all, and whether rule 2 holds.
func (a *absences) shorten(at situation, limit time.Duration) (latest, all time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.came[at] || a.missed[at] < misses:
		return limit, 0, false
	case a.missed[at]+a.short[at] >= 2*misses:
		return limit / hurry, limit / hurry, true
	}
	return min(limit, max(limit/hurry, slower*a.longest)), limit, true
}

// agentWait follows a wait for an agent, and says how long it may still last.
type agentWait struct {
	absences *absences
	awaited  string
	within   span
	learns   bool              // the limit is the default
	types    map[string]bool   // of the agent's messages
	all      deadline.Deadline // since the wait began, or the agent's latest call
	began    deadline.Deadline // likewise, but not since a call
	short    bool              // rule 2 holds
}

// newAgentWait returns a wait that begins now, for what comes after a record.
func (s *suite) newAgentWait(awaited string, within span, after int) *agentWait {
	whole := restarts * within.Duration
	w := &agentWait{absences: learnt[absences](s), awaited: awaited, within: within, types: map[string]bool{},
		learns: within.key == "pace" && s.wire.Agent.Pace == binding.Default().Agent.Pace,
		all:    deadline.In(whole), began: deadline.In(whole)}
	for _, r := range s.T.After(s.agent.started) {
		if r.N <= after {
			w.sees(&r)
		}
	}
	return w
}

// typeOf returns the type of an agent's message; "" for other records.
func typeOf(r *transcript.Record) string {
	if !fromAgent(r) || r.Kind != transcript.Frame {
		return ""
	}
	return kindOf(r)
}

// sees takes a record that has not ended the wait.
func (w *agentWait) sees(r *transcript.Record) {
	kind := typeOf(r)
	if kind != "" && len(w.types) < tooMany {
		w.types[kind] = true
	}
	if kind == vocab.ToolCall {
		w.all = deadline.In(restarts * w.within.Duration)
	}
}

func (w *agentWait) situation() situation {
	return situation{w.awaited, strings.Join(slices.Sorted(maps.Keys(w.types)), " ")}
}

// elapsed returns how long the wait has lasted.
func (w *agentWait) elapsed() time.Duration { return restarts*w.within.Duration - w.began.Left() }

// limit returns how long to wait for the agent's next act.
func (w *agentWait) limit() time.Duration {
	limit, left := w.within.Duration, w.all.Left()
	if w.learns && !w.types[vocab.ToolCall] {
		var all time.Duration
		if limit, all, w.short = w.absences.shorten(w.situation(), limit); w.short {
			left = all - w.elapsed()
		}
	}
	return max(min(limit, left), time.Millisecond)
}

// over records how the wait has ended.
func (w *agentWait) over(came bool) {
	if w.learns {
		w.absences.record(w.situation(), came, w.short, w.elapsed())
	}
}

// gone records that the agent has ended before anything came. An end within the limit shows nothing of the wait.
func (w *agentWait) gone() {
	if w.elapsed() >= w.within.Duration {
		w.over(false)
	}
}

// passed returns the reason of a miss by the limit.
func (w *agentWait) passed() string {
	switch {
	case w.short:
		return "no such message within " + w.elapsed().Round(time.Millisecond).String() + slowInParallel
	case w.all.Over():
		return span{restarts * w.within.Duration, w.within.key, restarts * w.within.times}.passed()
	}
	return w.within.passed()
}
