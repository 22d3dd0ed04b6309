package agentclient

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	texts "parley/protocol/agentclient"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentclient/binding"
	"parley/steps/agentclient/looks"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
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
	return part{what + want, clauses, has(func(row string) bool { return looks.Contains(row, want) })}
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

// trap is the path that an armed text requests if it runs.
const trap = "parley-trap"

// armed returns a feature's text with PARLEY replaced by a script that makes a request.
func (s *suite) armed(text string) string {
	text = strings.ReplaceAll(text, `\"`, `"`)
	return strings.ReplaceAll(text, "PARLEY", "fetch('/"+trap+"')")
}

// markup returns a text that makes a request if it runs; the request names where the text stood.
func markup(where string) string {
	return fmt.Sprintf(`text <img src=x onerror="fetch('/%s?in=%s')">`, trap, url.QueryEscape(where))
}

// marked is an event of the scripted server with markup in one of its texts.
type marked struct {
	kind string
	data fields
	at   string // its time; "": the scenario's
}

// inText returns events with a text of the server in the named place.
func (s *suite) inText(where, text string) ([]marked, error) {
	id := s.now.session
	list := fields{vocab.Agents: usual, vocab.CurrentAgentID: "general"}
	switch where {
	case "an event's type":
		return []marked{{kind: text, data: fields{vocab.SessionID: id}}}, nil
	case "a timestamp":
		return []marked{{kind: vocab.AgentListEvent, data: list, at: text}}, nil
	case "an agent's description":
		agents := slices.Clone(usual)
		agents[0].description = text
		list[vocab.Agents] = agents
		return []marked{{kind: vocab.AgentListEvent, data: list}}, nil
	case "a message of the assistant":
		return []marked{{kind: vocab.MessageEvent,
			data: fields{vocab.Role: "assistant", vocab.Content: "**Result** " + text, vocab.SessionID: id}}}, nil
	case "a message in pieces":
		var out []marked
		for _, piece := range []string{text[:len(text)/2], text[len(text)/2:]} {
			out = append(out, marked{kind: vocab.MessageEvent,
				data: fields{vocab.Role: "assistant", vocab.Content: piece, vocab.Streaming: true, vocab.SessionID: id}})
		}
		return append(out, marked{kind: vocab.CompleteEvent, data: fields{vocab.SessionID: id}}), nil
	case "the role of a message":
		return []marked{{kind: vocab.MessageEvent,
			data: fields{vocab.Role: text, vocab.Content: "text", vocab.SessionID: id}}}, nil
	case "an undocumented error":
		return []marked{{kind: vocab.ErrorEvent, data: fields{vocab.ErrorCode: "parley_" + text, vocab.Message: text}}}, nil
	case "the name of a tool":
		return []marked{{kind: vocab.ConfirmationRequestEvent, data: fields{vocab.RequestID: "request-1", vocab.SessionID: id,
			"toolName": text, "toolArgs": fields{"path": text}, "description": text}}}, nil
	case "a question":
		return []marked{{kind: vocab.QuestionRequestEvent, data: fields{vocab.RequestID: "request-2", vocab.SessionID: id,
			"question": text, "options": []any{text, "other"}}}}, nil
	}
	return nil, fmt.Errorf("there is no markup in %s", where)
}

// sendsMarkup sends events with markup in the texts that a table names.
func (s *suite) sendsMarkup(ctx context.Context, table *godog.Table) error {
	for _, row := range table.Rows {
		where := row.Cells[0].Value
		events, err := s.inText(where, markup(where))
		if err != nil {
			return err
		}
		s.clock("")
		for _, e := range events {
			if err := s.emitMarked(ctx, e); err != nil {
				return err
			}
		}
		s.settle(ctx)
	}
	return nil
}

func (s *suite) emitMarked(ctx context.Context, e marked) error {
	if e.at == "" {
		return s.emit(ctx, e.kind, e.data)
	}
	s.remember()
	n, err := s.emitRaw(ctx, e.kind, s.now.server.event(e.kind, e.data, e.at))
	if err == nil {
		s.now.word = n
	}
	return err
}

// noScript judges that no armed text has made a request, up to a fence.
func (s *suite) noScript(ctx context.Context) error {
	if err := s.fence(ctx); err != nil {
		return err
	}
	told := map[string]bool{}
	for _, r := range s.T.All() {
		if r.Conn != s.now.name || r.Kind != transcript.Ask || !strings.Contains(r.Label, trap) {
			continue
		}
		if _, where, ok := strings.Cut(r.Label, trap+"?in="); ok {
			if !told[where] {
				place, _ := url.QueryUnescape(where) // written by markup
				s.Security("the page executes the server's texts: a script in %s ran (%s)", place, r.Label)
			}
			told[where] = true
			continue
		}
		s.Security("the page executes the server's texts: a script in a text ran (%s)", r.Label)
		c := steps.CheckOf(r, false, "the server's text shown as text",
			"AC-030", "AC-023", "AC-044", "AC-060", "AC-070", "AC-103", "AC-115")
		c.Observed = "it was carried out: " + c.Observed
		return s.Judge(c)
	}
	return nil
}
