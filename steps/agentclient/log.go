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

	"parley/features/verdict"
	texts "parley/protocol/agentclient"
	"parley/steps"
	"parley/steps/agentclient/binding"
	"parley/transport/driver/browser/snapshot"
)

func (s *suite) registerLog(sc *godog.ScenarioContext) {
	const when = `, with (the server's time|the local time)$`
	steps.Step(sc, `^the log shows the list of (\d+) agents(?: with "([^"]*)" current)?`+when, s.logsList)
	steps.Step(sc, `^the log shows the switch from "([^"]*)" to "([^"]*)"`+when, s.logsSwitch)
	steps.Step(sc, `^the log shows the error "([^"]*)" with "([^"]*)"`+when, s.logsError)
	steps.Step(sc, `^the log shows an entry "([^"]*)"$`, func(ctx context.Context, kind string) error {
		return s.logs(ctx, text("the event's type, ", kind, "AC-065"))
	})
}

func (s *suite) logsList(ctx context.Context, n int, current, when string) error {
	parts := []part{{fmt.Sprintf("the number of agents, %d", n), []string{"AC-087"}, has(number(n))}}
	if current != "" {
		parts = append(parts, text("the current agent's id, ", current, "AC-087"))
	}
	return s.logs(ctx, append(parts, s.time(when, "AC-088"), level(texts.Info, "AC-087"))...)
}

func (s *suite) logsSwitch(ctx context.Context, from, to, when string) error {
	clause := map[string]string{"the server's time": "AC-061", "the local time": "AC-062"}[when]
	return s.logs(ctx, text("the name of the previous agent, ", from, "AC-089"),
		text("the name of the current agent, ", to, "AC-089"), s.time(when, clause, "AC-090"), level(texts.Info, "AC-089"))
}

func (s *suite) logsError(ctx context.Context, code, prompt, when string) error {
	return s.logs(ctx, text("the error code, ", code, "AC-091"), text("the prompt, ", prompt, "AC-091"),
		s.time(when, "AC-091"), level(texts.Error, "AC-091"))
}

// part is something that a log entry must contain.
type part struct {
	what    string
	clauses []string
	in      func(snapshot.Row) bool
}

// has makes a part's in function from a test of the text.
func has(in func(string) bool) func(snapshot.Row) bool {
	return func(row snapshot.Row) bool { return in(row.Text) }
}

func text(what, want string, clauses ...string) part {
	return part{what + want, clauses, has(func(row string) bool { return contains(row, want) })}
}

func level(name string, clauses ...string) part {
	return part{"the level " + name, clauses, func(row snapshot.Row) bool { return slices.Contains(row.Levels, name) }}
}

func number(n int) func(string) bool {
	whole := regexp.MustCompile(`(^|[^\d:.])` + strconv.Itoa(n) + `([^\d:.]|\.?$|\.\s)`)
	return whole.MatchString
}

// time returns the time part of the latest event's entry: the server's time, in any time zone, or this machine's.
func (s *suite) time(which string, clauses ...string) part {
	if which == "the server's time" {
		at := s.now.at
		return part{"the server's time, " + stamp(at), clauses, has(func(row string) bool { return shown(row, at) })}
	}
	from := s.now.emitted
	return part{"the time when it was received", clauses, has(func(row string) bool {
		for at := from.Add(-time.Second); !at.After(time.Now().Add(time.Second)); at = at.Add(time.Second) {
			if shown(row, at) {
				return true
			}
		}
		return false
	})}
}

// shown reports whether a text shows the time, either as a time of day to the second, in any time zone, or as a
// number.
func shown(row string, at time.Time) bool {
	for _, at := range []time.Time{at.UTC(), at.Local()} { // some time zones are off by half an hour
		clock := fmt.Sprintf(`\d\s*[:：时h]\s*%02d\s*[:：分m]\s*%02d(\D|$)`, at.Minute(), at.Second())
		if regexp.MustCompile(clock).MatchString(row) {
			return true
		}
	}
	return strings.Contains(row, strconv.FormatInt(at.Unix(), 10))
}

// logs waits for a new entry with these parts. A missing part breaks its clauses.
func (s *suite) logs(ctx context.Context, parts ...part) error {
	p, before := s.now, s.now.idle
	best := -1 // the most parts found in one entry
	var missing []part
	var row snapshot.Row
	_, miss := s.awaitSight(ctx, max(p.word, p.act), s.looking(func(l *snapshot.Page) bool {
		for _, r := range fresh(before, l) {
			lacks := slices.DeleteFunc(slices.Clone(parts), func(t part) bool { return t.in(r) })
			n := len(parts) - len(lacks)
			if n > best && (p.unfenced == nil || n == len(parts)) { // an entry of a fence is not a close match
				best, missing, row = n, lacks, r
			}
		}
		return best == len(parts)
	}))
	latest, n := s.latest()
	if miss != nil && miss.At > 0 {
		n = miss.At
	}
	var checks []verdict.Finding
	for _, t := range parts {
		c := verdict.Finding{Clauses: t.clauses, OK: true, Expected: "an entry in the log with " + t.what, At: n}
		switch {
		case best < 0:
			c.OK, c.Observed, c.Miss = false, "there is no new entry in the log", miss
			if latest != nil && len(latest.Log) == 0 {
				c.Observed = fmt.Sprintf("the log has no entries (hook %q)", binding.Of(s.Env.Profile).Hooks.Log)
			}
		case slices.ContainsFunc(missing, func(m part) bool { return m.what == t.what }):
			c.OK = false
			c.Observed = fmt.Sprintf("the entry that comes closest is %q, of the levels %v", clip(row.Text), row.Levels)
		}
		checks = append(checks, c)
	}
	return s.Judge(checks...)
}

// fresh returns the log entries that are new, at either end of the log.
func fresh(before, now *snapshot.Page) []snapshot.Row {
	had := map[string]int{}
	if before != nil {
		for _, r := range before.Log {
			had[r.Text]++
		}
	}
	var out []snapshot.Row
	for _, r := range now.Log {
		if had[r.Text] > 0 {
			had[r.Text]--
			continue
		}
		out = append(out, r)
	}
	return out
}
