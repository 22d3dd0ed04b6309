package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Deed is one thing that happened in a session: the program did something, or its peer answered.
type Deed struct {
	Program bool // the program did Message; otherwise its peer did Action
	Message Message
	Action  Action
}

// Record writes a script that answers as a peer did: the answers to a message of the program are those that came before
// its next one. Each rule matches once, in order. A message is known by its kind and type, and by the values in which
// it differs from others of its type, unless these look made up for the session. Such values are filled in from the
// message where they occur in its answers. head has the name, the protocol and the party. What it returns is a valid
// script; the error says why there is none, as for answers that are not UTF-8.
func Record(head Script, deeds []Deed) ([]byte, error) {
	w := &writing{}
	w.line("script: %s", quote(head.Name))
	if head.Title != "" {
		w.line("title: %s", quote(head.Title))
	}
	w.line("protocol: %s", quote(head.Protocol))
	w.line("as: %s", quote(head.As))
	w.line(`vars: {dollar: "$"}`)
	first := slices.IndexFunc(deeds, func(d Deed) bool { return d.Program })
	if first < 0 {
		return nil, fmt.Errorf("the program has sent nothing yet, so that there is nothing to answer (send something first)")
	}
	if i := slices.IndexFunc(deeds, func(d Deed) bool { return !utf8.Valid(d.Action.Body) }); i >= 0 {
		return nil, fmt.Errorf("an answer is not UTF-8, which a script cannot send (save the recording instead)")
	}
	w.line("rules:")
	for i := first; i < len(deeds); i++ {
		if !deeds[i].Program {
			continue
		}
		end := i + 1
		for end < len(deeds) && !deeds[end].Program {
			end++
		}
		w.rule(deeds, i, deeds[i+1:end])
	}
	_, err := Parse(head.Name, w.b.Bytes())
	return w.b.Bytes(), err
}

type writing struct{ b bytes.Buffer }

func (w *writing) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// rule writes the rule for a message of the program.
func (w *writing) rule(deeds []Deed, at int, answers []Deed) {
	m := deeds[at].Message
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
	if where := distinguishing(deeds, m); len(where) > 0 {
		on = append(on, "where: {"+strings.Join(where, ", ")+"}")
	}
	w.line("- on: {%s}", strings.Join(on, ", "))
	w.line("  times: 1")
	if len(answers) == 0 {
		return
	}
	w.line("  answer:")
	for _, a := range answers {
		w.action(a.Action, m)
	}
}

// action writes an answer.
func (w *writing) action(a Action, m Message) {
	body, to := quote(holed(string(a.Body), m)), ""
	if a.Party != "" && (a.Party != m.Party || m.Kind == "request") {
		to = ", to: " + quote(a.Party)
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
		w.line("%s}", to)
	case Respond, Refuse:
		w.b.WriteString("  - {" + a.Do + ": " + strconv.Itoa(a.Status))
		if len(a.Body) > 0 {
			w.b.WriteString(", body: " + body)
		}
		if kind := a.Header["Content-Type"]; kind != "" && a.Do == Respond {
			w.b.WriteString(", headers: {Content-Type: " + quote(kind) + "}")
		}
		w.line("}")
	default:
		w.line("  - {%s: true%s}", a.Do, to)
	}
}

// quote writes a text as a YAML scalar on one line: a JSON text is one.
func quote(text string) string {
	var b bytes.Buffer
	_ = put(&b, text)
	return b.String()
}

// Values that look made up for a session: long, or with a digit, and no words.
var made = regexp.MustCompile(`^[A-Za-z0-9_.:+-]*(?:[0-9]|[A-Za-z0-9_.:+-]{16})[A-Za-z0-9_.:+-]*$`)

// holed writes a body with holes for values made up by the message that it answers.
func holed(body string, m Message) string {
	body = strings.ReplaceAll(body, "${", "${dollar}{")
	values := scalars(decode(m.Body))
	for _, pointer := range slices.Sorted(maps.Keys(values)) {
		name := pointer[strings.LastIndex(pointer, "/")+1:]
		switch v := values[pointer].(type) {
		case string:
			if made.MatchString(v) {
				body = strings.ReplaceAll(body, `"`+v+`"`, `"${`+pointer+`}"`)
			}
		case json.Number:
			if strings.HasSuffix(strings.ToLower(name), "id") {
				body = regexp.MustCompile(`("`+regexp.QuoteMeta(name)+`":\s*)`+regexp.QuoteMeta(v.String())+`([,}\s])`).
					ReplaceAllStringFunc(body, func(found string) string {
						return strings.Replace(found, v.String()+found[len(found)-1:], "${"+pointer+"}"+found[len(found)-1:], 1)
					})
			}
		}
	}
	return body
}

// distinguishing returns conditions on the members in which a message differs from others of its kind and type.
func distinguishing(deeds []Deed, m Message) (where []string) {
	mine := scalars(decode(m.Body))
	for _, pointer := range slices.Sorted(maps.Keys(mine)) {
		text, is := mine[pointer].(string)
		if !is || made.MatchString(text) {
			continue
		}
		differs := slices.ContainsFunc(deeds, func(d Deed) bool {
			o := d.Message
			return d.Program && o.Kind == m.Kind && o.Type == m.Type && o.Method == m.Method &&
				scalars(decode(o.Body))[pointer] != mine[pointer]
		})
		if differs {
			where = append(where, quote(pointer)+": "+quote(strings.ReplaceAll(text, "${", "${dollar}{")))
		}
	}
	return where
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
