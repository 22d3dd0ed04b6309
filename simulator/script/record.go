package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Deed is one thing that happened in a session: the program did something, or its peer answered.
type Deed struct {
	Program bool // the program did Message; otherwise its peer did Action
	Message Message
	Action  Action    // its After counts for nothing: see Time
	Time    time.Time // when; zero if nobody knows
	Reply   int       // of an answer: the position of what it answers, from 1; 0 if that is to be found out
}

// Record writes a script that answers as a peer did. The rules are those of docs/simulator-scripts.md:
//
//   - A message of the program gets a rule that matches once, in the order of the messages. It is known by its kind and
//     type, and by the members in which it differs from others of its type, unless their values look made up by the
//     program.
//   - An answer belongs to the latest message; where connections overlap, to the latest of its own connection, unless
//     others get the same at that time. An answer with the id of an earlier message belongs to that one.
//   - Values that the program has made up are filled in from its message, or kept for the answers to later ones. A time
//     in milliseconds that was the present one is filled in.
//   - An answer comes after as much time as it did, if that is noticeable.
//
// head has the name, the protocol and the party. What it returns is a valid script; the error says why there is none,
// as for answers that are not UTF-8.
func Record(head Script, deeds []Deed) ([]byte, error) {
	first := slices.IndexFunc(deeds, func(d Deed) bool { return d.Program })
	if first < 0 {
		return nil, fmt.Errorf("the program has sent nothing yet, so that there is nothing to answer (send something first)")
	}
	if i := slices.IndexFunc(deeds, func(d Deed) bool { return !utf8.Valid(d.Action.Body) }); i >= 0 {
		return nil, fmt.Errorf("an answer is not UTF-8, which a script cannot send (save the recording instead)")
	}
	w := &writing{studied: study(deeds)}
	w.line("script: %s", quote(head.Name))
	if head.Title != "" {
		w.line("title: %s", quote(head.Title))
	}
	w.line("protocol: %s", quote(head.Protocol))
	w.line("as: %s", quote(head.As))
	w.line(`vars: {dollar: "$"}`)
	w.line("rules:")
	answers := make([][]int, len(deeds))
	for i, of := range w.owners() {
		if of >= 0 {
			answers[of] = append(answers[of], i)
		}
	}
	kept := w.keep(answers)
	for i := first; i < len(deeds); i++ {
		if deeds[i].Program {
			w.rule(i, answers[i], kept[i])
		}
	}
	_, err := Parse(head.Name, w.b.Bytes())
	return w.b.Bytes(), err
}

type writing struct {
	*studied
	b bytes.Buffer
}

func (w *writing) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// rule writes the rule for a message of the program. kept are the variables that it sets.
func (w *writing) rule(at int, answers []int, kept []source) {
	m := w.deeds[at].Message
	var on []string
	path, _, _ := strings.Cut(m.Path, "?")
	switch {
	case m.Kind == "request":
		on = append(on, "request: "+quote(m.Method+" "+path))
	case (m.Kind == "open" || m.Kind == "close") && path == "":
		on = append(on, m.Kind+": true")
	case m.Kind == "open" || m.Kind == "close":
		on = append(on, m.Kind+": "+quote(path))
	}
	if m.Type != "" {
		on = append(on, "type: "+quote(m.Type))
	}
	if where := w.distinguishing(at); len(where) > 0 {
		on = append(on, "where: {"+strings.Join(where, ", ")+"}")
	}
	w.line("- on: {%s}", strings.Join(on, ", "))
	w.line("  times: 1")
	var set []string
	for _, v := range kept {
		set = append(set, v.name+": "+quote("${"+v.pointer+"}"))
	}
	if len(set) > 0 {
		w.line("  set: {%s}", strings.Join(set, ", "))
	}
	if len(answers) == 0 {
		return
	}
	w.line("  answer:")
	before := w.deeds[at].Time
	for _, i := range answers {
		w.action(i, before, at)
		before = w.deeds[i].Time
	}
}

// noticeable is the shortest time that an answer is kept back.
const noticeable = 20 * time.Millisecond

// action writes an answer to a message, which came after another or after the message itself.
func (w *writing) action(i int, before time.Time, at int) {
	d, a, m := w.deeds[i], w.deeds[i].Action, w.deeds[at].Message
	body, more := quote(w.holed(i, at)), ""
	if a.Party != "" && (a.Party != m.Party || m.Kind == "request") {
		more = ", to: " + quote(a.Party)
	}
	if after := d.Time.Sub(before); !before.IsZero() && after >= noticeable {
		more += ", after: " + min(after.Round(noticeable/2), time.Hour).String()
	}
	switch a.Do {
	case Send:
		w.b.WriteString("  - {send: " + body)
		if a.Event != "" {
			w.b.WriteString(", event: " + quote(a.Event))
		}
		if a.Binary {
			w.b.WriteString(", binary: true")
		}
		w.line("%s}", more)
	case Respond, Refuse:
		w.b.WriteString("  - {" + a.Do + ": " + strconv.Itoa(a.Status))
		if len(a.Body) > 0 {
			w.b.WriteString(", body: " + body)
		}
		if kind := a.Header["Content-Type"]; kind != "" && a.Do == Respond {
			w.b.WriteString(", headers: {Content-Type: " + quote(kind) + "}")
		}
		w.line("%s}", more)
	default:
		w.line("  - {%s: true%s}", a.Do, more)
	}
}

// quote writes a text as a YAML scalar on one line: a JSON text is one.
func quote(text string) string {
	var b bytes.Buffer
	_ = put(&b, text)
	return b.String()
}

// scalars returns the texts and numbers of a value by their pointers. Names that a hole cannot have are left out.
func scalars(v any) map[string]any {
	out := map[string]any{}
	var walk func(pointer string, v any)
	walk = func(pointer string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, item := range v {
				if k != "" && !strings.ContainsAny(k, `}{"\~/$`) {
					walk(pointer+"/"+k, item)
				}
			}
		case []any:
			for i, item := range v {
				walk(pointer+"/"+strconv.Itoa(i), item)
			}
		case string, json.Number:
			if pointer != "" {
				out[pointer] = v
			}
		}
	}
	walk("", v)
	return out
}
