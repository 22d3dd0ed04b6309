package fault

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	worded "parley/internal/words"
	"parley/simulator/gate"
	"parley/simulator/script"
)

// maxNumber bounds numbers of messages.
const maxNumber = 1_000_000_000

// Parse reads a file of faults. name stands for it in errors, which join a *script.Error for each mistake, in order.
func Parse(name string, text []byte) (*Set, error) {
	p := &parsing{}
	s := &Set{}
	if root := p.Read(text, "file of faults"); root.There() && p.Keys(root, "a file of faults", "seed", "faults") {
		if seed := root.At("seed"); seed.There() {
			s.seed = uint64(p.number(seed, "seed", 0, 1<<53))
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
			s.rules = append(s.rules, p.rule(v, i+1))
		}
	}
	if err := p.Err(name); err != nil {
		return nil, err
	}
	return s, nil
}

// connections matches the names that gates give to connections.
var connections = regexp.MustCompile(`^C[1-9][0-9]*$`)

type parsing struct{ script.Reader }

// number reads a whole number.
func (p *parsing) number(v script.Value, what string, least, most int) int {
	n, ok := v.Number()
	if !ok || n != float64(int(n)) || n < float64(least) || n > float64(most) {
		p.Fail(v, "%s is a whole number from %d to %d", what, least, most)
		return least
	}
	return int(n)
}

func (p *parsing) rule(v script.Value, i int) (r rule) {
	r = rule{name: fmt.Sprintf("fault %d", i), line: v.Line(), match: script.Any(), chance: 1}
	if !p.Keys(v, "a fault", "name", "on", "connection", "from", "nth", "every", "since", "chance", "do") {
		return r
	}
	if n := v.At("name"); n.There() {
		r.name = p.Text(n, "name")
	}
	if on := v.At("on"); on.There() {
		r.match = p.Match(on)
	}
	if c := v.At("connection"); c.There() {
		if r.connection = p.Text(c, "connection"); r.connection != "" && !connections.MatchString(r.connection) {
			p.Fail(c, "no connection is called %q: they are C1, C2, … in the order of their requests", r.connection)
		}
	}
	for key, to := range map[string]*int{"nth": &r.nth, "every": &r.every, "since": &r.since} {
		if n := v.At(key); n.There() {
			*to = p.number(n, key, 1, maxNumber)
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
	p.direction(v, &r)
	if do := v.At("do"); do.There() {
		p.do(do, &r)
	} else {
		p.Fail(v, "do is missing: say what goes wrong (do: drop)")
	}
	p.suits(v, &r)
	return r
}

// direction reads the sender of the messages; the default is both for those of a connection, else the client.
func (p *parsing) direction(v script.Value, r *rule) {
	from := v.At("from")
	switch text := p.Text(from, "from"); {
	case !from.There() && r.match.Kind() == "message":
		r.from = []gate.Side{gate.Client, gate.Server}
	case !from.There(), text == "client":
		r.from = []gate.Side{gate.Client}
	case text == "server":
		r.from = []gate.Side{gate.Server}
	default:
		p.Fail(from, "from is client or server, who sends the message")
	}
}

// do reads the kind of fault: a name alone, or a map of a name and a value.
func (p *parsing) do(v script.Value, r *rule) {
	if text, ok := v.Scalar().(string); ok {
		k, known := kinds[text]
		switch {
		case !known:
			p.Fail(v, "%q is not a fault (%s)", text, worded.Suggest(text, Kinds(), "faults are "+strings.Join(Kinds(), ", ")))
		case k.value != nothing:
			p.Fail(v, "%s needs a value (do: %s)", text, example(text, k))
		}
		r.do = text
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
	r.do = v.Keys()[0]
	k, in := kinds[r.do], v.At(r.do)
	switch k.value {
	case number:
		r.n = p.number(in, r.do, k.least, k.most)
	case duration:
		text, _ := in.Scalar().(string)
		d, err := time.ParseDuration(text)
		if r.delay = d; err != nil || d <= 0 || d > MaxDelay {
			p.Fail(in, "delay is a time with its unit, of at most 10m (write 2s or 200ms)")
		}
	case words:
		if r.text = p.Text(in, r.do); strings.ContainsAny(r.text, "\r\n") {
			p.Fail(in, "%s is one line", r.do)
		}
	case member:
		r.change = p.corrupt(in)
	}
}

// example is a fault with a value.
func example(name string, k kind) string {
	return fmt.Sprintf("{%s: %s}", name, map[value]string{number: fmt.Sprint(max(k.least, min(k.most, 3))),
		duration: "200ms", member: "{at: /data/id, set: 7}", words: "text/plain"}[k.value])
}

// corrupt reads the change of a member.
func (p *parsing) corrupt(v script.Value) (c change) {
	if !p.Keys(v, "corrupt", "at", "set", "remove", "draw") {
		return c
	}
	if at := v.At("at"); !at.There() {
		p.Fail(v, "at is missing (at: /data/id)")
	} else if c.at = p.Text(at, "at"); !strings.HasPrefix(c.at, "/") {
		p.Fail(at, "%q is no JSON Pointer (write it like /data/id)", c.at)
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
		return c
	}
	if c.draw = draw.There(); set.There() {
		p.NoHoles(set)
		c.set, _ = set.JSON()
	}
	return c
}

// suits fails for a fault whose kind does not apply to the messages that it is for.
func (p *parsing) suits(v script.Value, r *rule) {
	places := kinds[r.do].places
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
		p.Fail(v.At("do"), "%s is not for %s, which can have %s", r.do, what, strings.Join(could, ", "))
	case r.do == "content-type" && kind == "open" && slices.Contains(r.from, gate.Client):
		p.Fail(v.At("do"), "an open has no content, and its answer has (add from: server)")
	case kind == "request" && (r.connection != "" || r.match.HasParty()):
		p.Fail(v, "a request belongs to no connection (remove connection and party)")
	}
}
