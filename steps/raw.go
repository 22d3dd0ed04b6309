package steps

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cucumber/godog"

	"parley/internal/deadline"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Raw steps belong to no protocol. Live sessions and users' own scenarios can use them in addition to the protocol's
// steps; the suite does not. They judge nothing.
const (
	rawText   = `^(.+) sends raw:$`
	rawCoded  = `^(.+) sends raw base64:$`
	rawBinary = `^(.+) sends raw binary:$`
	rawEnd    = `^the connection of (.+) is (closed|reset)$`
)

// RawExpressions are the expressions of the raw steps.
func RawExpressions() []string { return []string{rawText, rawCoded, rawBinary, rawEnd} }

// registerRaw registers the raw steps.
func registerRaw(sc *godog.ScenarioContext, world func() *World) {
	coded := func(ctx context.Context, party string, doc *godog.DocString, binary bool) error {
		body, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(doc.Content), ""))
		if err != nil {
			return fmt.Errorf("the text below is not base64: %w", err)
		}
		return sendsRaw(ctx, world(), party, body, binary)
	}
	Step(sc, rawText, func(ctx context.Context, party string, doc *godog.DocString) error {
		return sendsRaw(ctx, world(), party, []byte(doc.Content), false)
	})
	Step(sc, rawCoded, func(ctx context.Context, party string, doc *godog.DocString) error {
		return coded(ctx, party, doc, false)
	})
	Step(sc, rawBinary, func(ctx context.Context, party string, doc *godog.DocString) error {
		return coded(ctx, party, doc, true)
	})
	Step(sc, rawEnd, func(party, how string) error {
		mode := driver.Graceful
		if how == "reset" {
			mode = driver.Reset
		}
		return notTested(world().endConnection(party, mode))
	})
}

// sendsRaw sends bytes, and waits for the answer to an HTTP request: later steps may depend on it, and closing the
// connection would lose it. A missing answer is not an error.
func sendsRaw(ctx context.Context, w *World, party string, body []byte, binary bool) error {
	mark, err := w.sendRaw(ctx, party, body, binary)
	if err == nil && mark > 0 && w.Env.Driver.Name() == target.SSE {
		limited, cancel := deadline.WithLimit(ctx, w.Limit(w.Env.Event()))
		defer cancel()
		_, err = w.T.Await(limited, mark, func(r *transcript.Record) bool { return r.Reply == mark })
		if ctx.Err() == nil {
			err = nil
		}
	}
	return notTested(err)
}

// notTested is the error of a raw step: the target is not at fault if nothing was sent.
func notTested(err error) error {
	var nobody *NoPartyError
	if errors.As(err, &nobody) || errors.Is(err, driver.ErrClosed) {
		return &NotTestedError{Reason: err.Error()}
	}
	return err
}

// RawStep returns the step that sends bytes unchanged, and the text below it.
func RawStep(party string, body []byte, binary bool) (text string, arg StepArg) {
	below := string(body)
	switch {
	case binary:
		text, below = party+" sends raw binary:", wrapBase64(body)
	case survivesDocString(body):
		text = party + " sends raw:"
	default:
		text, below = party+" sends raw base64:", wrapBase64(body)
	}
	return text, StepArg{Text: &below}
}

// HangStep returns the step that ends the connection of a party.
func HangStep(party string, how driver.CloseMode) string {
	return fmt.Sprintf("the connection of %s is %s", party,
		map[driver.CloseMode]string{driver.Graceful: "closed", driver.Reset: "reset"}[how])
}

// maxLine bounds the lines of a doc string.
const maxLine = 32 << 10

// survivesDocString reports whether a text survives a doc string unchanged.
func survivesDocString(body []byte) bool {
	for line := range bytes.Lines(body) {
		if len(line) > maxLine {
			return false
		}
	}
	return utf8.Valid(body) && !bytes.Contains(body, []byte(`"""`)) && !bytes.Contains(body, []byte(`\"\"\"`)) &&
		!bytes.ContainsFunc(body, func(c rune) bool { return c != '\n' && c != '\t' && !unicode.IsPrint(c) })
}

// wrapBase64 returns base64 in lines.
func wrapBase64(body []byte) string {
	const width = 76
	text := base64.StdEncoding.EncodeToString(body)
	var lines []string
	for ; len(text) > width; text = text[width:] {
		lines = append(lines, text[:width])
	}
	return strings.Join(append(lines, text), "\n")
}

// request matches a raw message over HTTP: its method, its path, and its body.
var request = regexp.MustCompile(`(?s)^([A-Z]+) (/\S*)(?:\s(.*))?$`)

// sendRaw writes bytes to the connection of a party unchanged. If messages are HTTP requests, the method and the
// path come first.
func (w *World) sendRaw(ctx context.Context, party string, body []byte, binary bool) (mark int, err error) {
	conn, err := w.findParty(party)
	if err != nil {
		return 0, err
	}
	m := driver.Message{Label: "raw", Body: body, Binary: binary}
	if w.Env.Driver.Name() == target.SSE {
		parts := request.FindSubmatch(body)
		if parts == nil {
			return 0, errors.New(`over sse a raw message is a request: its method, its path and its body, such as ` +
				`POST /message {"type":"abort"}`)
		}
		m.Method, m.URL, m.Body = string(parts[1]), w.Target.BaseURL()+string(parts[2]), bytes.Clone(parts[3])
		m.Label, m.Binary = fmt.Sprintf("raw %s", parts[1]), false
	}
	return conn.Send(ctx, m)
}

// endConnection ends the connection of a party.
func (w *World) endConnection(party string, how driver.CloseMode) error {
	conn, err := w.findParty(party)
	if err != nil {
		return err
	}
	return conn.Close(how)
}

// findParty finds a party by its name, which may follow other words: "client A" is A unless that is a name itself.
func (w *World) findParty(name string) (driver.Conn, error) {
	if conn := w.parties[name]; conn != nil {
		return conn, nil
	}
	if conn := w.parties[name[strings.LastIndexByte(name, ' ')+1:]]; conn != nil {
		return conn, nil
	}
	return nil, &NoPartyError{Party: name, Known: w.Parties()}
}
