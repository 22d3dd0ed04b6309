package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/internal/words"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// command is a command that begins with a dot.
type command struct {
	name, args, about string
	do                func(t *Terminal, ctx context.Context, args []string) error
}

var commands []command

func init() {
	commands = []command{
		{"parties", "", "who is connected", (*Terminal).printParties},
		{"wait", "[SECONDS] [TEXT]", "wait for the next record, or for one that has the text (10 s)",
			(*Terminal).awaitRecord},
		{"close", "PARTY [reset]", "end a connection, with a closing handshake if there is one, or by a reset",
			(*Terminal).hangUp},
		{"cut", "PARTY", "reset a connection: the same as .close PARTY reset", (*Terminal).cutOff},
		{"undo", "", "leave the last line out of what .save writes", (*Terminal).undoStep},
		{"save", "FILE.feature|FILE.jsonl", "write what was done as a scenario, for parley run --features; or the recording",
			(*Terminal).saveScenario},
		{"owed", "", "what the target owes now: since when, by which clause, and what would settle it",
			(*Terminal).printOwed},
		{"clauses", "", "the clauses that were judged so far", (*Terminal).printClauses},
		{"explain", "CLAUSE", "what a clause says", (*Terminal).explainClause},
		{"steps", "[WORDS]", "all steps, or those that have the words: the same as ?WORDS", (*Terminal).printList},
		{"set", "[times|width VALUE]", "how records are printed: times on or off, columns", (*Terminal).setOption},
		{"help", "", "this list", (*Terminal).printHelp},
		{"quit", "", "end the session", func(*Terminal, context.Context, []string) error { return ErrQuit }},
	}
}

// runCommand carries out a line that begins with a dot.
func (t *Terminal) runCommand(ctx context.Context, line string) error {
	parts := strings.Fields(line)
	name := ""
	if len(parts) > 0 {
		name = parts[0]
	}
	var known []string
	for _, c := range commands {
		if c.name == name {
			return c.do(t, ctx, parts[1:])
		}
		known = append(known, c.name)
	}
	meant := "; see .help"
	if near := words.Near(name, known, 1); len(near) > 0 {
		meant = fmt.Sprintf(" (did you mean .%s?)", near[0])
	}
	return fmt.Errorf("there is no command .%s%s", name, meant)
}

func (t *Terminal) printParties(ctx context.Context, _ []string) error {
	all, err := t.o.Session.Parties(ctx)
	if err == nil {
		t.printText("  %s", cmp.Or(strings.Join(all, " "), "nobody is connected"))
	}
	return err
}

// awaitRecord waits for a record.
func (t *Terminal) awaitRecord(ctx context.Context, args []string) error {
	limit := 10 * time.Second
	if len(args) > 0 {
		if s, err := strconv.ParseFloat(args[0], 64); err == nil && s > 0 && s <= 3600 {
			limit, args = time.Duration(s*float64(time.Second)), args[1:]
		}
	}
	text := strings.Join(args, " ")
	limited, cancel := deadline.WithLimit(ctx, limit)
	defer cancel()
	records := t.o.Session.Transcript()
	mark := records.Len()
	if done := t.o.Session.Steps(); text != "" && len(done) > 0 { // it may already have come, in answer to it
		mark = done[len(done)-1].From
	}
	_, err := records.Await(limited, mark, func(r *transcript.Record) bool {
		return r.Dir == transcript.Received && (text == "" || strings.Contains(r.Line(0), text))
	})
	if err != nil && ctx.Err() == nil {
		t.mu.Lock()
		t.untested = true
		t.println(t.paint.yellow(fmt.Sprintf("  – nothing of the kind came within %v", limit)))
		t.mu.Unlock()
		return nil
	}
	return err
}

func onlyParty(args []string, what string) (string, error) {
	if len(args) != 1 {
		return "", fmt.Errorf("name one %s", what)
	}
	return args[0], nil
}

func (t *Terminal) hangUp(ctx context.Context, args []string) error {
	if last := len(args) - 1; last > 0 && args[last] == "reset" {
		return t.endConnection(ctx, args[:last], driver.Reset)
	}
	return t.endConnection(ctx, args, driver.Graceful)
}

func (t *Terminal) cutOff(ctx context.Context, args []string) error {
	return t.endConnection(ctx, args, driver.Reset)
}

func (t *Terminal) endConnection(ctx context.Context, args []string, how driver.CloseMode) error {
	if len(args) == 0 {
		return errors.New("name one party, such as A (.parties lists them)")
	}
	return t.o.Session.Hang(ctx, strings.Join(args, " "), how)
}

func (t *Terminal) undoStep(context.Context, []string) error {
	last, ok := t.o.Session.Undo()
	if !ok {
		return fmt.Errorf("nothing is left to undo")
	}
	t.printText("  left out: %s (the target still knows it)", last.Text)
	return nil
}

func (t *Terminal) saveScenario(_ context.Context, args []string) error {
	file, err := onlyParty(args, "file, such as my.feature")
	switch {
	case err != nil:
		return err
	case filepath.Ext(file) == ".jsonl":
		return t.keepRecording(file)
	case filepath.Ext(file) != ".feature":
		return fmt.Errorf("a scenario is saved as *.feature, a recording as *.jsonl, and this is %s", file)
	}
	name := strings.TrimSuffix(filepath.Base(file), ".feature")
	text := t.o.Session.Redact(t.o.Session.Scenario(name))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	again := cmp.Or(t.o.Again, "parley run --protocol "+t.o.Session.Protocol())
	t.printText("  saved: %s --features %s", again, file)
	return nil
}

// keepRecording writes all records so far as a recording.
func (t *Terminal) keepRecording(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(t.o.Session.Record(f), f.Close()); err != nil {
		return err
	}
	t.printText("  saved: %s", file)
	return nil
}

func (t *Terminal) printClauses(context.Context, []string) error {
	outcomes := t.o.Session.Outcomes()
	by := map[verdict.Outcome][]string{}
	for _, row := range t.o.Session.Ledger().Rows() {
		if o, ok := outcomes[row.ID]; ok {
			by[o] = append(by[o], row.ID)
		}
	}
	for _, o := range []verdict.Outcome{
		verdict.Failed, verdict.Warned, verdict.Passed, verdict.NotApplicable, verdict.NotTested,
	} {
		if len(by[o]) > 0 {
			t.printText("  %-14s %s", o, strings.Join(by[o], " "))
		}
	}
	return nil
}

func (t *Terminal) explainClause(_ context.Context, args []string) error {
	id, err := onlyParty(args, "clause, such as those that .clauses lists")
	if err != nil {
		return err
	}
	row, ok := t.o.Session.Ledger().Row(strings.ToUpper(id))
	if !ok {
		return fmt.Errorf("%s has no clause %s", t.o.Session.Protocol(), id)
	}
	t.printText("  %s %s, section %s: %s", row.ID, row.Level, row.Section, row.Text)
	t.printText("  source: %s", row.Source)
	return nil
}

func (t *Terminal) printList(_ context.Context, args []string) error {
	return t.searchSteps(strings.Join(args, " "))
}

// searchSteps prints the steps that contain some words.
func (t *Terminal) searchSteps(text string) error {
	n := 12
	if text == "" {
		n = 0
	}
	found := t.o.Session.Search(text, n)
	if len(found) == 0 {
		return fmt.Errorf("no step has %q", text)
	}
	for _, pattern := range found {
		t.printText("  %s", pattern)
	}
	return nil
}

func (t *Terminal) setOption(_ context.Context, args []string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(args) == 0:
		t.println(fmt.Sprintf("  times %s\n  width %d", map[bool]string{true: "on", false: "off"}[t.o.Times], t.o.Width))
		return nil
	case len(args) == 2 && args[0] == "times" && slices.Contains([]string{"on", "off"}, args[1]):
		t.o.Times = args[1] == "on"
		return nil
	case len(args) == 2 && args[0] == "width":
		if n, err := strconv.Atoi(args[1]); err == nil && n >= 40 && n <= 10000 {
			t.o.Width = n
			return nil
		}
		return fmt.Errorf("a width is a number from 40 to 10000, and this is %s", args[1])
	}
	return fmt.Errorf("what can be set: times on, times off, width N")
}

func (t *Terminal) printHelp(context.Context, []string) error {
	t.printText(`  a step          client A is connected   (Tab completes it, ?words finds others)
  a raw message   A> {"type":"ping"}      (over sse: A> POST /path {...})`)
	for _, c := range commands {
		t.printText("  .%-14s %s", strings.TrimSpace(c.name+" "+c.args), c.about)
	}
	return nil
}
