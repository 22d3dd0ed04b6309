package agentclient

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"parley/driver/browser/look"
	texts "parley/protocol/agentclient"
	"parley/steps"
	"parley/transcript"
)

func (s *suite) registerLog(sc *godog.ScenarioContext) {
	const when = `(the server's time|the local time)`
	steps.Step(sc, `^the log has the list of (\d+) agents(?: and "([^"]*)")?, with `+when+`$`, func(ctx context.Context, n int, current, when string) error {
		parts := []part{{what: fmt.Sprintf("the number of agents, %d", n), clauses: []string{"AC-087"}, in: number(n)}}
		if current != "" {
			parts = append(parts, part{what: "the current agent's id, " + current, clauses: []string{"AC-087"}, in: text(current)})
		}
		return s.logs(ctx, texts.Info, append(parts, s.time(when, "AC-088")), "AC-087")
	})
	steps.Step(sc, `^the log has the switch from "([^"]*)" to "([^"]*)", with `+when+`$`, func(ctx context.Context, from, to, when string) error {
		return s.logs(ctx, texts.Info, []part{
			{what: "the name of the agent before, " + from, clauses: []string{"AC-089"}, in: text(from)},
			{what: "the name of the agent now, " + to, clauses: []string{"AC-089"}, in: text(to)},
			s.time(when, map[string]string{"the server's time": "AC-061", "the local time": "AC-062"}[when], "AC-090"),
		}, "AC-089")
	})
	steps.Step(sc, `^the log has the error "([^"]*)" with "([^"]*)", and `+when+`$`, func(ctx context.Context, code, prompt, when string) error {
		return s.logs(ctx, texts.Error, []part{
			{what: "the error code, " + code, clauses: []string{"AC-091"}, in: text(code)},
			{what: "the prompt, " + prompt, clauses: []string{"AC-091"}, in: text(prompt)},
			s.time(when, "AC-091"),
		}, "AC-091")
	})
	steps.Step(sc, `^the log has an entry "([^"]*)"$`, func(ctx context.Context, kind string) error {
		return s.logs(ctx, "", []part{{what: "the event's type, " + kind, clauses: []string{"AC-065"}, in: text(kind)}}, "AC-065")
	})
}

// part is something that an entry of the log has to have.
type part struct {
	what    string
	clauses []string
	in      func(string) bool
}

func text(want string) func(string) bool { return func(row string) bool { return contains(row, want) } }

func number(n int) func(string) bool {
	whole := regexp.MustCompile(`(^|[^\d:.])` + strconv.Itoa(n) + `([^\d:.]|\.?$|\.\s)`)
	return whole.MatchString
}

// time is what the latest event's entry has to have of the time: that of the server, in whatever time zone, or this machine's.
func (s *suite) time(which string, clauses ...string) part {
	if which == "the server's time" {
		at := s.now.at
		return part{what: "the server's time, " + stamp(at), clauses: clauses, in: func(row string) bool { return shown(row, at) }}
	}
	from := s.now.emitted
	return part{what: "the time when it was received", clauses: clauses, in: func(row string) bool {
		for at := from.Add(-time.Second); !at.After(time.Now().Add(time.Second)); at = at.Add(time.Second) {
			if shown(row, at) {
				return true
			}
		}
		return false
	}}
}

// shown tells whether a text has a time of day, to the second, whatever the time zone's hours; or the time as a number.
func shown(row string, at time.Time) bool {
	for _, at := range []time.Time{at.UTC(), at.Local()} { // there are time zones of half hours
		if regexp.MustCompile(fmt.Sprintf(`\d\s*[:：时h]\s*%02d\s*[:：分m]\s*%02d(\D|$)`, at.Minute(), at.Second())).MatchString(row) {
			return true
		}
	}
	return strings.Contains(row, strconv.FormatInt(at.Unix(), 10))
}

// logs waits for a new entry that has these parts and this level ("": any). What is not there breaks the clauses of the part.
func (s *suite) logs(ctx context.Context, level string, parts []part, levelClauses ...string) error {
	p := s.now
	before := p.idle
	if level != "" {
		parts = append(parts, part{what: "the level " + level, clauses: levelClauses, in: nil})
	}
	has := func(r look.Row, t part) bool {
		if t.in == nil {
			return slices.Contains(r.Levels, level)
		}
		return t.in(r.Text)
	}
	best := -1 // the most parts that an entry has had
	var missing []part
	var row look.Row
	_, miss := s.awaitSight(ctx, p, steps.Wait{Conn: p.name, After: max(p.word, p.act), Match: s.looking(p, func(l *look.Look) bool {
		for _, r := range fresh(before, l) {
			var lacks []part
			for _, t := range parts {
				if !has(r, t) {
					lacks = append(lacks, t)
				}
			}
			if n := len(parts) - len(lacks); n > best && (p.unfenced == nil || n == len(parts)) { // an entry of a fence comes close to nothing
				best, missing, row = n, lacks, r
			}
		}
		return best == len(parts)
	})})
	_, n := s.latest(p)
	if miss != nil && miss.At > 0 {
		n = miss.At
	}
	var checks []steps.Check
	for _, t := range parts {
		c := steps.Check{Clauses: t.clauses, OK: true, Expected: "an entry in the log with " + t.what, At: n}
		switch {
		case best < 0:
			c.OK, c.Observed = false, "there is no new entry in the log"
			if l, _ := s.latest(p); l != nil && len(l.Log) == 0 {
				c.Observed = fmt.Sprintf("the log has no entries (hook %q)", s.Env.Profile.AgentClient.Hooks.Log)
			}
		case slices.ContainsFunc(missing, func(m part) bool { return m.what == t.what }):
			c.OK, c.Observed = false, fmt.Sprintf("the entry that comes closest is %q, of the levels %v", clip(row.Text), row.Levels)
		}
		checks = append(checks, c)
	}
	return s.Judge(checks...)
}

func (s *suite) looking(p *page, f func(*look.Look) bool) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		l := lookOf(r, p)
		return l != nil && f(l)
	}
}

// fresh are the entries that a log has now and had not before, whichever end they come in at.
func fresh(before, now *look.Look) []look.Row {
	had := map[string]int{}
	if before != nil {
		for _, r := range before.Log {
			had[r.Text]++
		}
	}
	var out []look.Row
	for _, r := range now.Log {
		if had[r.Text] > 0 {
			had[r.Text]--
			continue
		}
		out = append(out, r)
	}
	return out
}
