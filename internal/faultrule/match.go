package faultrule

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
	"parley/internal/script"
)

// Side is who sends a message.
type Side int

// The sides.
const (
	Client Side = iota
	Server
)

func (s Side) String() string { return [...]string{"client", "server"}[s] }

// Message is a message that passes, from a side.
type Message struct {
	script.Message // Party is the name of the connection
	From           Side
}

// State counts the messages of one connection, or all requests, by the fault that they are for. The zero value is ready
// for use. It is not safe for concurrent use.
type State struct {
	met   map[matchCount]int
	begun map[matchCount]bool // what after waits for has passed; without from
}

// matchCount is what is counted together.
type matchCount struct {
	rule int
	from Side
	per  string // value of the member, as JSON
}

// Hit is a fault that is for a message.
type Hit struct {
	*Rule
	I    int  // its number in the file, from 0
	Due  bool // it happens to this message
	conn string
	draw *rand.Rand
}

// MatchAndCount returns the faults that are for a message, in the order of the file, and counts the message.
func (s *Set) MatchAndCount(st *State, m Message) (hits []Hit) {
	if st.met == nil {
		st.met, st.begun = map[matchCount]int{}, map[matchCount]bool{}
	}
	for i, r := range s.rules {
		if r.connection != "" && r.connection != m.Party {
			continue
		}
		in := matchCount{i, m.From, r.perOf(m.Message)}
		begun := matchCount{rule: i, per: in.per}
		if slices.Contains(r.from, m.From) && (r.after == nil || st.begun[begun]) && r.match.Matches(m.Message) {
			st.met[in]++
			hits = append(hits, s.matchRule(i, m, in, st.met[in]))
		}
		if r.after != nil && r.after.Matches(m.Message) {
			st.begun[begun] = true
			delete(st.met, matchCount{i, Client, in.per})
			delete(st.met, matchCount{i, Server, in.per})
		}
	}
	return hits
}

// matchRule says whether a fault happens to the n-th message that it is for.
func (s *Set) matchRule(i int, m Message, in matchCount, n int) Hit {
	r := s.rules[i]
	h := Hit{Rule: r, I: i, Due: r.isDue(n), conn: m.Party}
	if h.Due {
		sum := fnv.New64a()
		for _, part := range []string{strconv.Itoa(i), m.Party, m.From.String()} {
			_, _ = sum.Write([]byte(part + "\x00"))
		}
		_, _ = sum.Write([]byte(strconv.Itoa(n) + in.per))
		h.draw = rand.New(rand.NewPCG(s.seed, sum.Sum64()))
		h.Due = r.chance >= 1 || h.draw.Float64() < r.chance
	}
	return h
}

// perOf returns the value of the member by which a fault counts; "" if the message has none.
func (r *Rule) perOf(m script.Message) string {
	if r.per == "" {
		return ""
	}
	root, _ := decodeExact(m.Body)
	v, there := script.At(root, r.per)
	if b, err := json.Marshal(v, jsonform.Escaped); there && err == nil {
		return string(b)
	}
	return ""
}

// Late has the messages of a direction that are held back until others have overtaken them.
type Late[M any] struct{ all []late[M] }

type late[M any] struct {
	m    M
	rule *Rule
	per  string
	left int // how many messages still have to overtake it
}

// Hold holds a message back for a fault.
func (l *Late[M]) Hold(m M, in script.Message, r *Rule) {
	l.all = append(l.all, late[M]{m, r, r.perOf(in), max(r.N, 1)})
}

// Len returns the number of messages that are held back.
func (l *Late[M]) Len() int { return len(l.all) }

// All returns the messages that are held back.
func (l *Late[M]) All() (out []M) {
	for _, w := range l.all {
		out = append(out, w.m)
	}
	return out
}

// Overtaken returns, and no longer holds back, the messages that enough others have overtaken. The first n have now
// been overtaken by a message as well. None is returned unless free.
func (l *Late[M]) Overtaken(n int, by script.Message, free bool) (out []M) {
	var rest []late[M]
	for i, w := range l.all {
		if r := w.rule; i < n && r.perOf(by) == w.per && (r.behind == nil || r.behind.Matches(by)) {
			w.left--
		}
		if w.left > 0 || !free {
			rest = append(rest, w)
			continue
		}
		out = append(out, w.m)
	}
	l.all = rest
	return out
}
