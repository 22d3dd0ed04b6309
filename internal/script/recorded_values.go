package script

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/internal/jsonform"
)

// recordedValues holds recorded actions, and what their values show.
type recordedValues struct {
	actions     []RecordedAction
	values      []map[string]any // by deed: its texts and numbers, by their pointers
	told        map[string]int   // values of the peer's answers: the first deed with each
	valueCounts map[messageShape]*valueCount
	kept        map[string]source // values that answers to later messages contain, by their keys
}

// source is the variable that keeps a value of a message.
type source struct {
	name    string
	at      int
	pointer string
}

// messageShape is what messages have in common that differ only in their members.
type messageShape struct{ kind, typ, method string }

// valueCount counts the values of messages of one shape.
type valueCount struct {
	n      int
	values map[string]map[any]int // by pointer
}

func collectValues(actions []RecordedAction) *recordedValues {
	s := &recordedValues{actions: actions, told: map[string]int{}, valueCounts: map[messageShape]*valueCount{}}
	for i, d := range actions {
		body := d.Action.Body
		if d.Program {
			body = d.Message.Body
		}
		values := scalarsByPointer(decodeJSON(body))
		s.values = append(s.values, values)
		if !d.Program {
			for pointer, v := range values {
				if _, before := s.told[valueKey(pointer, v)]; !before {
					s.told[valueKey(pointer, v)] = i
				}
			}
			continue
		}
		k := messageShape{d.Message.Kind, d.Message.Type, d.Message.Method}
		if s.valueCounts[k] == nil {
			s.valueCounts[k] = &valueCount{values: map[string]map[any]int{}}
		}
		s.valueCounts[k].n++
		for pointer, v := range values {
			if s.valueCounts[k].values[pointer] == nil {
				s.valueCounts[k].values[pointer] = map[any]int{}
			}
			s.valueCounts[k].values[pointer][v]++
		}
	}
	return s
}

// valueKey identifies a value: a text by itself, a number together with the name of its member.
func valueKey(pointer string, v any) string {
	if n, is := v.(jsonform.Number); is {
		return pointer[strings.LastIndex(pointer, "/"):] + " " + n.String()
	}
	text, _ := v.(string)
	return text
}

// Values that look generated for a session: long, or with a digit, and not words.
var made = regexp.MustCompile(`^[A-Za-z0-9_.:+-]*(?:[0-9]|[A-Za-z0-9_.:+-]{16})[A-Za-z0-9_.:+-]*$`)

// Members whose values distinguish messages, whatever they look like; and the pattern of values that are searched in
// answers.
var (
	naming = regexp.MustCompile(`(?i)/(?:[^/]*(?:request|message|msg|correlation|call|trace|event)[_-]?)?` +
		`(?:id|uuid|nonce)$`)
	plainWord = regexp.MustCompile(`^[A-Za-z0-9_.:+-]+$`)
)

// looksMade reports whether a value looks generated: such a text, or the text of a member such as requestId, or the
// number of a member whose name ends with "id".
func looksMade(pointer string, v any) bool {
	if text, is := v.(string); is {
		return made.MatchString(text) || plainWord.MatchString(text) && naming.MatchString(pointer)
	}
	return strings.HasSuffix(strings.ToLower(pointer), "id")
}

// isOwn reports whether the program has generated a value of its message: the peer has not sent it before.
func (s *recordedValues) isOwn(at int, pointer string) bool {
	v := s.values[at][pointer]
	first, told := s.told[valueKey(pointer, v)]
	return looksMade(pointer, v) && (!told || first > at)
}

// distinguishMessage returns conditions on the members in which a message differs from its kindred.
func (s *recordedValues) distinguishMessage(at int) (where []string) {
	m := s.actions[at].Message
	others := s.valueCounts[messageShape{m.Kind, m.Type, m.Method}]
	for _, pointer := range slices.Sorted(maps.Keys(s.values[at])) {
		text, is := s.values[at][pointer].(string)
		if is && !s.isOwn(at, pointer) && !isPresentTime(text, s.actions[at].Time) &&
			others.values[pointer][text] < others.n {
			where = append(where, quoteScalar(pointer)+": "+quoteScalar(strings.ReplaceAll(text, "${", literal)))
		}
	}
	return where
}

// answerOwners returns for each answer the message of the program that it belongs to; -1 for none.
func (s *recordedValues) answerOwners() []int {
	out := make([]int, len(s.actions))
	latest, own, answered := -1, map[string]int{}, map[string]bool{}
	for i, d := range s.actions {
		out[i] = -1
		if d.Program {
			latest, own[d.Message.Party], answered[d.Message.Party] = i, i, false
			continue
		}
		if d.Reply > 0 {
			out[i] = d.Reply - 1
			continue
		}
		if latest < 0 {
			continue
		}
		mine, party := latest, d.Action.Party
		if before, is := own[party]; is && party != s.actions[latest].Message.Party &&
			s.actions[latest].Message.Party != "" &&
			(!answered[party] || !s.isShared(i, latest)) {
			mine = before
		}
		out[i] = s.namedMessage(i, mine)
		answered[party] = true
	}
	return out
}

// isShared reports whether another connection gets the same answer before the program's next message.
func (s *recordedValues) isShared(at, latest int) bool {
	for i := max(latest+1, at-far); i < min(len(s.actions), at+far) && !s.actions[i].Program; i++ {
		a, b := s.actions[i], s.actions[at]
		if i != at && a.Action.Party != b.Action.Party && a.Action.Do == b.Action.Do &&
			withoutTimes(a) == withoutTimes(b) {
			return true
		}
	}
	return false
}

// far bounds the distance at which the message of an answer, and an answer with the same content, is searched.
const far = 256

// namedMessage returns the message whose id an answer contains: a message earlier than the one that the answer seems to
// belong to, if both have their own id in the same place.
func (s *recordedValues) namedMessage(at, mine int) int {
	body := string(s.actions[at].Action.Body)
	has := func(i int) (pointers []string) {
		for pointer, v := range s.values[i] {
			if text, is := v.(string); is && s.isOwn(i, pointer) && strings.Contains(body, `"`+text+`"`) {
				pointers = append(pointers, pointer)
			}
		}
		return pointers
	}
	if len(has(mine)) > 0 {
		return mine
	}
	for i := mine - 1; i >= max(0, mine-far); i-- {
		if !s.actions[i].Program {
			continue
		}
		for _, pointer := range has(i) {
			if _, there := s.values[mine][pointer]; there && s.isOwn(mine, pointer) {
				return i
			}
		}
	}
	return mine
}

// findKept finds the values that the answers to later messages contain, and returns their variables by message.
func (s *recordedValues) findKept(answers [][]int) map[int][]source {
	sources, out := map[string]source{}, map[int][]source{}
	s.kept = map[string]source{}
	for at, of := range answers {
		if !s.actions[at].Program {
			continue
		}
		mine := map[string]bool{}
		for _, pointer := range slices.Sorted(maps.Keys(s.values[at])) {
			k := valueKey(pointer, s.values[at][pointer])
			mine[k] = true
			if _, known := sources[k]; !known && s.isOwn(at, pointer) {
				sources[k] = source{"", at, pointer}
			}
		}
		for _, i := range of {
			for _, pointer := range slices.Sorted(maps.Keys(s.values[i])) {
				k := valueKey(pointer, s.values[i][pointer])
				from, known := sources[k]
				if !known || mine[k] || s.kept[k].name != "" {
					continue
				}
				from.name = fmt.Sprintf("kept%d", len(s.kept)+1)
				s.kept[k] = from
				out[from.at] = append(out[from.at], from)
			}
		}
	}
	return out
}

// writeHoled writes the body of an answer with holes for values that the program generated, and for the current time.
func (s *recordedValues) writeHoled(i, at int) string {
	d := s.actions[i]
	body := strings.ReplaceAll(string(d.Action.Body), "${", literal)
	for _, pointer := range slices.Sorted(maps.Keys(s.values[at])) {
		if looksMade(pointer, s.values[at][pointer]) {
			body = makeHole(body, valueKey(pointer, s.values[at][pointer]), pointer)
		}
	}
	for _, pointer := range slices.Sorted(maps.Keys(s.values[i])) {
		k := valueKey(pointer, s.values[i][pointer])
		if v := s.kept[k]; v.name != "" && v.at < at {
			body = makeHole(body, k, v.name)
		}
	}
	return times.ReplaceAllStringFunc(body, func(text string) string {
		if isPresentTime(strings.Trim(text, `"`), d.Time) {
			return `"${now}"`
		}
		return text
	})
}

// makeHole replaces a value by a hole.
func makeHole(body, k, name string) string {
	member, n, number := strings.Cut(k, " ")
	if !number || !strings.HasPrefix(member, "/") {
		return strings.ReplaceAll(body, `"`+k+`"`, `"${`+name+`}"`)
	}
	like := regexp.MustCompile(`("` + regexp.QuoteMeta(member[1:]) + `":\s*)` + regexp.QuoteMeta(n) + `([,}\s])`)
	return like.ReplaceAllString(body, "$1$${"+strings.ReplaceAll(name, "$", "$$$$")+"}$2")
}

// times matches times as ${now} writes them.
var times = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`)

// soon is how far a time may be from the current time: clocks differ, and machines are slow.
const soon = 5 * time.Second

// isPresentTime reports whether a text is the current time, as ${now} writes it.
func isPresentTime(text string, now time.Time) bool {
	if !times.MatchString(`"` + text + `"`) {
		return false
	}
	t, err := time.Parse(time.RFC3339, text)
	return err == nil && !now.IsZero() && t.Sub(now).Abs() <= soon
}

// withoutTimes returns the content of an answer without times.
func withoutTimes(d RecordedAction) string {
	return times.ReplaceAllString(string(d.Action.Body), "now")
}
