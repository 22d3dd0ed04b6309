package faultrule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/internal/script"
	worded "parley/internal/words"
)

// maxNumber bounds numbers of messages.
const maxNumber = 1_000_000_000

// Parse reads a file of faults. name stands for it in errors, which join a *script.Error for each mistake, in order.
func Parse(name string, text []byte) (*Set, error) {
	p := &parsing{&script.Reader{}}
	s := &Set{}
	if root := p.Read(text, "file of faults"); root.There() && p.Keys(root, "a file of faults", "seed", "faults") {
		if seed := root.At("seed"); seed.There() {
			s.seed = uint64(p.readNumber(seed, "seed", 0, 1<<53))
		}
		all := root.At("faults")
		if !all.There() {
			p.Fail(root, "faults is missing (faults: a list of them, such as {on: ping, do: drop})")
			return nil, p.Err(name)
		}
		list := p.List(all, "faults")
		if len(list) > MaxRules {
			p.Fail(list[MaxRules], "there are more than %d faults (remove some)", MaxRules)
			return nil, p.Err(name)
		}
		for i, v := range list {
			s.rules = append(s.rules, p.readRule(v, i+1))
		}
	}
	if err := p.Err(name); err != nil {
		return nil, err
	}
	return s, nil
}

// ReadIn reads a fault, or a list of them, within another document. The mistakes are those of its reader.
func ReadIn(r *script.Reader, v script.Value) {
	all, several := v.Items()
	if !several {
		all = []script.Value{v}
	}
	p := &parsing{r}
	for i, one := range all {
		p.readRule(one, i+1)
	}
}

// connections matches the names that gates give to connections.
var connections = regexp.MustCompile(`^C[1-9][0-9]*$`)

type parsing struct{ *script.Reader }

// readNumber reads a whole number.
func (p *parsing) readNumber(v script.Value, what string, least, most int) int {
	n, ok := v.Number()
	if !ok || n != float64(int(n)) || n < float64(least) || n > float64(most) {
		p.Fail(v, "%s is a whole number from %d to %d", what, least, most)
		return least
	}
	return int(n)
}

func (p *parsing) readRule(v script.Value, i int) *Rule {
	r := &Rule{Name: fmt.Sprintf("fault %d", i), Line: v.Line(), match: script.Any(), chance: 1}
	if !p.Keys(v, "a fault", "name", "on", "connection", "from", "per", "after", "nth", "every", "since", "chance", "do") {
		return r
	}
	if n := v.At("name"); n.There() {
		r.Name = p.Text(n, "name")
	}
	if on := v.At("on"); on.There() {
		r.match = p.Match(on)
	}
	if per := v.At("per"); per.There() {
		r.per = p.Text(per, "per")
		p.readPointer(per, r.per)
	}
	if after := v.At("after"); after.There() {
		m := p.Match(after)
		r.after = &m
	}
	if c := v.At("connection"); c.There() {
		if r.connection = p.Text(c, "connection"); r.connection != "" && !connections.MatchString(r.connection) {
			p.Fail(c, "no connection is called %q: they are C1, C2, … in the order of their requests", r.connection)
		}
	}
	for key, to := range map[string]*int{"nth": &r.nth, "every": &r.every, "since": &r.since} {
		if n := v.At(key); n.There() {
			*to = p.readNumber(n, key, 1, maxNumber)
		}
	}
	if r.nth > 0 && r.every+r.since > 0 {
		p.Fail(v.At("nth"), "nth is one message, and stands without every and since (remove these)")
	}
	if c := v.At("chance"); c.There() {
		f, ok := c.Number()
		if r.chance = f; !ok || f <= 0 || f > 1 {
			p.Fail(c, "chance is a number above 0, and at most 1 (chance: 0.5)")
		}
	}
	p.readSender(v, r)
	if do := v.At("do"); do.There() {
		p.readKind(do, r)
	} else {
		p.Fail(v, "do is missing: say what goes wrong (do: drop)")
	}
	p.rejectUnsuited(v, r)
	return r
}

// readSender reads the sender of the messages; the default is both for those of a connection, else the client.
func (p *parsing) readSender(v script.Value, r *Rule) {
	from := v.At("from")
	switch text := p.Text(from, "from"); {
	case !from.There() && r.match.Kind() == "message":
		r.from = []Side{Client, Server}
	case !from.There(), text == "client":
		r.from = []Side{Client}
	case text == "server":
		r.from = []Side{Server}
	default:
		p.Fail(from, "from is client or server, who sends the message")
	}
}

// readKind reads the kind of fault: a name alone, or a map of a name and a value.
func (p *parsing) readKind(v script.Value, r *Rule) {
	if text, ok := v.Scalar().(string); ok {
		k, known := kinds[text]
		switch {
		case !known:
			p.Fail(v, "%q is not a fault (%s)", text, worded.Suggest(text, Kinds(), "faults are "+strings.Join(Kinds(), ", ")))
		case k.value != nothing:
			p.Fail(v, "%s needs a value (do: %s)", text, exampleOf(text, k))
		}
		r.Do = text
		return
	}
	var valued []string
	for _, name := range Kinds() {
		if kinds[name].value != nothing {
			valued = append(valued, name)
		}
	}
	if all := v.Keys(); len(all) > 1 {
		p.Fail(v, "do takes one fault, and this has %s (write a fault for each, with its own do)", strings.Join(all, " and "))
		return
	}
	for _, key := range v.Keys() {
		if k, ok := kinds[key]; ok && k.value == nothing {
			p.Fail(v, "%s has no value (do: %[1]s)", key)
			return
		}
	}
	if !p.Keys(v, "do", valued...) || len(v.Keys()) != 1 {
		if v.Scalar() == nil && len(v.Keys()) == 0 {
			p.Fail(v, "do has no fault (do: drop)")
		}
		return
	}
	r.Do = v.Keys()[0]
	k, known := kinds[r.Do]
	if !known { // it is told
		return
	}
	in := v.At(r.Do)
	switch k.value {
	case number:
		r.N = p.readNumber(in, r.Do, k.least, k.most)
	case duration:
		text, _ := in.Scalar().(string)
		d, err := time.ParseDuration(text)
		if r.Delay = d; err != nil || d <= 0 || d > MaxDelay {
			p.Fail(in, "delay is a time with its unit, of at most 10m (write 2s or 200ms)")
		}
	case words:
		if r.Text = p.Text(in, r.Do); strings.ContainsAny(r.Text, "\r\n") {
			p.Fail(in, "%s is one line", r.Do)
		}
	case condition:
		m := p.Match(in)
		r.behind = &m
	default:
		r.edits = p.readEdits(k.value, in, r.Do)
	}
}

// exampleOf is a fault with a value.
func exampleOf(name string, k kind) string {
	return fmt.Sprintf("{%s: %s}", name, map[value]string{number: fmt.Sprint(max(k.least, min(k.most, 3))),
		duration: "200ms", member: "{at: /data/id, set: 7}", members: "{/data/id: 7}",
		pointers: "/data/id", moves: "{/data/id: /data/key}", place: "/data", words: "text/plain",
		condition: "answer"}[k.value])
}

// readPointer reads a JSON Pointer; what is at v.
func (p *parsing) readPointer(v script.Value, text string) []string {
	if !strings.HasPrefix(text, "/") {
		p.Fail(v, "%q is no JSON Pointer (write it like /data/id)", text)
	}
	return pointerNames(text)
}

// readEdits reads changes of members.
func (p *parsing) readEdits(of value, v script.Value, do string) (out []edit) {
	switch of {
	case member:
		return p.readCorrupted(v)
	case place:
		at := p.readPointer(v, p.Text(v, do))
		if len(at) == 0 { // a mistake is noted
			return nil
		}
		return []edit{{at: at[:len(at)-1], wrap: at[len(at)-1]}}
	case pointers:
		for _, text := range p.Texts(v, do) {
			out = append(out, edit{at: p.readPointer(v, text)})
		}
		return out
	}
	if len(v.Keys()) == 0 {
		p.Fail(v, "%s has members to change (do: %s)", do, exampleOf(do, kinds[do]))
	}
	for _, name := range v.Keys() {
		e, to := edit{at: p.readPointer(v, name)}, v.At(name)
		if of == moves {
			e.to = p.readPointer(to, p.Text(to, do))
		} else {
			p.Holes(to)
			e.value, e.create = to, true
		}
		out = append(out, e)
	}
	return out
}

// readCorrupted reads the change of a member that is there.
func (p *parsing) readCorrupted(v script.Value) []edit {
	if !p.Keys(v, "corrupt", "at", "set", "remove", "draw") {
		return nil
	}
	var e edit
	if at := v.At("at"); !at.There() {
		p.Fail(v, "at is missing (at: /data/id)")
	} else {
		e.at = p.readPointer(at, p.Text(at, "at"))
	}
	set, remove, draw := v.At("set"), v.At("remove"), v.At("draw")
	n := 0
	for _, one := range []script.Value{set, remove, draw} {
		if one.There() {
			n++
		}
	}
	if n != 1 || remove.There() && remove.Scalar() != true || draw.There() && draw.Scalar() != true {
		p.Fail(v, "corrupt has one of set: VALUE, remove: true and draw: true beside at")
		return nil
	}
	p.NoHoles(set)
	e.draw, e.value = draw.There(), set
	return []edit{e}
}

// rejectUnsuited fails for a fault whose kind does not apply to the messages that it is for.
func (p *parsing) rejectUnsuited(v script.Value, r *Rule) {
	places := kinds[r.Do].places
	if places == "" { // an error is noted
		return
	}
	kind := r.match.Kind()
	letter, ok := map[string]string{"message": "m", "request": "r", "open": "o"}[kind]
	switch {
	case !ok:
		p.Fail(v.At("on"), "close is no message (on: {type: …}, {request: …} or {open: …})")
	case !strings.Contains(places, letter):
		var could []string
		for _, name := range Kinds() {
			if strings.Contains(kinds[name].places, letter) {
				could = append(could, name)
			}
		}
		what := map[string]string{"m": "a message", "r": "a request or its answer", "o": "an open"}[letter]
		p.Fail(v.At("do"), "%s is not for %s, which can have %s", r.Do, what, strings.Join(could, ", "))
	case r.Do == "content-type" && kind == "open" && slices.Contains(r.from, Client):
		p.Fail(v.At("do"), "an open has no content, and its answer has (add from: server)")
	case r.Do == "status" && slices.Contains(r.from, Client):
		p.Fail(v.At("do"), "a request has no status, and its answer has (add from: server)")
	case r.after != nil && (r.after.Kind() == "message") != (kind == "message"):
		p.Fail(v.At("after"), "after is for a message where on is, and for a request or an open where on is")
	case r.behind != nil && r.behind.Kind() != "message":
		p.Fail(v.At("do"), "behind is for a message (do: {behind: answer})")
	case kind == "request" && (r.connection != "" || r.match.HasParty()):
		p.Fail(v, "a request belongs to no connection (remove connection and party)")
	}
}
