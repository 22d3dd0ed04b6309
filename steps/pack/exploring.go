package pack

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"parley/steps"
)

// Explored implements steps.Explorer: all clauses that rules judge.
func (p *Pack) Explored() (out []string) {
	for _, id := range p.doc.ruled() {
		out = append(out, "@"+id)
	}
	return out
}

// The clients of random sequences.
var explorers = []string{"A", "B"}

// Explore implements steps.Explorer: two clients send, in any order, what the scenarios of the folder send, about what
// is their own or the other's; they lose their connections and connect again; and the server answers what it owes.
func (p *Pack) Explore(draw *rapid.T) []string {
	e := &exploration{acts: p.acts(), greet: p.greeted(), begins: p.doc.begins, has: map[string]map[string]bool{},
		there: map[string]bool{}}
	one := rapid.Custom(func(t *rapid.T) drawn {
		return drawn{client: rapid.SampledFrom(explorers).Draw(t, "client"),
			what:  rapid.IntRange(0, 1<<16).Draw(t, "what"),
			other: rapid.IntRange(0, 7).Draw(t, "other") == 7,
			wait:  rapid.IntRange(0, 3).Draw(t, "wait") > 0,
			leave: rapid.IntRange(0, 19).Draw(t, "leave") == 19}
	})
	for _, d := range rapid.SliceOfN(one, 8, 24).Draw(draw, "acts") {
		e.perform(d)
	}
	if !slices.Contains(slices.Collect(maps.Values(e.there)), true) {
		return e.lines
	}
	e.say("Then the server owes nothing any more")
	if p.doc.fence != nil {
		e.say("And everything is handled")
	}
	return e.lines
}

// Legal implements steps.Shortener: each client acts only while it has a connection. What a message needs that has not
// come is not tested, so that nothing is blamed for it.
func (p *Pack) Legal(lines []string) bool {
	there := map[string]bool{}
	for _, line := range lines {
		_, text, _ := strings.Cut(line, " ")
		for _, c := range explorers {
			switch {
			case text == strings.ReplaceAll(p.doc.begins, "{c}", c):
				there[c] = true
			case !strings.HasPrefix(text, "client "+c+" "):
			case !there[c]:
				return false
			case strings.HasSuffix(text, " loses its connection"):
				there[c] = false
			}
		}
	}
	return true
}

// drawn is an act of a random sequence.
type drawn struct {
	client      string
	what        int
	other, wait bool
	leave       bool
}

// exploration writes a sequence, and tracks what clients can know.
type exploration struct {
	lines  []string
	acts   []sending
	greet  []string                   // what every client keeps from the beginning
	begins string                     // the step with which a client begins
	has    map[string]map[string]bool // by client: the values that it keeps
	there  map[string]bool
}

func (e *exploration) say(format string, args ...any) {
	e.lines = append(e.lines, fmt.Sprintf(format, args...))
}

func (e *exploration) perform(d drawn) {
	c := d.client
	if !e.there[c] {
		e.say("Given %s", strings.ReplaceAll(e.begins, "{c}", c))
		e.there[c], e.has[c] = true, map[string]bool{}
		for _, name := range e.greet {
			e.has[c][name] = true
		}
	}
	if d.leave {
		e.say("When client %s loses its connection", c)
		e.there[c] = false
		return
	}
	other := explorers[0]
	if c == other {
		other = explorers[1]
	}
	may := slices.Clone(e.acts)
	may = slices.DeleteFunc(may, func(a sending) bool {
		return !allIn(e.has[c], a.needs) || !allIn(e.has[other], a.ofOther)
	})
	if len(may) == 0 {
		return
	}
	a := may[d.what%len(may)]
	text := a.text
	if d.other && a.foreign != "" && allIn(e.has[other], a.needs) {
		text = a.foreign
	}
	e.say("When %s", strings.NewReplacer("{c}", c, "{o}", other).Replace(text))
	if d.wait || len(a.gives) > 0 {
		e.say("Then the server owes nothing any more")
		e.learn(c, a.kind)
	}
}

// learn notes what a client keeps from the answer to a message.
func (e *exploration) learn(client, kind string) {
	for _, a := range e.acts {
		if a.kind == kind {
			for _, name := range a.gives {
				e.has[client][name] = true
			}
		}
	}
}

// greeted lists what a client keeps once it has begun.
func (p *Pack) greeted() []string {
	out := p.doc.givenBy(connecting)
	for _, k := range p.doc.keeps {
		if p.doc.before.path != "" && k.on.is(answer) {
			out = append(out, k.name)
		}
	}
	for _, ph := range p.doc.phrases {
		if ph.text != p.doc.begins {
			continue
		}
		for _, step := range ph.steps {
			if m := sends.FindStringSubmatch(asSent(strings.ReplaceAll(step, "{c}", "A"))); m != nil {
				out = append(out, p.doc.givenBy(m[3])...)
			}
		}
	}
	return out
}

func allIn(has map[string]bool, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !has[name] })
}

// sending is a step that sends a message.
type sending struct {
	text    string // with {c} for the client and {o} for the other one
	foreign string // the same about what the other client keeps; "": it is about nothing that is kept
	kind    string
	needs   []string // what the client must keep
	ofOther []string // what the other client must keep
	gives   []string // what it keeps from the answer
}

var (
	sends    = regexp.MustCompile(`^client (\w+) sends ("([\w./-]+)"|the text .+)`)
	ofParty  = regexp.MustCompile(`\$\{(\w+)\.`)
	ownValue = regexp.MustCompile(`\$\{(\w+)\}`)
)

// asSent returns a step with the words of one that does not wait for the answer.
func asSent(step string) string { return strings.Replace(step, " gets an answer to ", " sends ", 1) }

// acts returns the distinct sending steps of the scenarios and phrases that need no capability, in their order.
func (p *Pack) acts() []sending {
	var out []sending
	seen := map[string]bool{}
	for _, line := range p.sendingLines() {
		line = asSent(line)
		m := sends.FindStringSubmatch(line)
		if m == nil || strings.HasSuffix(line, " with") || strings.Contains(line, "<") || strings.Contains(line, "{c}") {
			continue
		}
		a := sending{kind: m[3], text: strings.Replace(line, "client "+m[1]+" ", "client {c} ", 1)}
		a.text = ofParty.ReplaceAllStringFunc(a.text, func(h string) string { return "${{o}." })
		if seen[a.text] {
			continue
		}
		seen[a.text] = true
		template, _ := p.doc.sends[a.kind].(map[string]any)
		p.holesOf(&a, template)
		if a.text == fmt.Sprintf("client {c} sends %q", a.kind) { // with other members it may be refused
			a.gives = p.doc.givenBy(a.kind)
		}
		if !slices.ContainsFunc(append(slices.Clone(a.needs), a.ofOther...), p.unknownValue) {
			out = append(out, a)
		}
	}
	return out
}

// holesOf finds what a message needs.
func (p *Pack) holesOf(a *sending, template map[string]any) {
	for _, m := range ofHoles.FindAllStringSubmatch(a.text, -1) {
		a.ofOther = append(a.ofOther, m[1])
	}
	for _, m := range ownValue.FindAllStringSubmatch(a.text+p.doc.send+p.doc.post.path, -1) {
		a.needs = append(a.needs, m[1])
	}
	var foreign []string
	for _, member := range slices.Sorted(maps.Keys(template)) {
		text, _ := template[member].(string)
		for _, m := range ownValue.FindAllStringSubmatch(text, -1) {
			if p.isKept(m[1]) {
				a.needs = append(a.needs, m[1])
				foreign = append(foreign, fmt.Sprintf("%q: %q", member, strings.ReplaceAll(text, m[0], "${{o}."+m[1]+"}")))
			}
		}
	}
	a.needs = slices.DeleteFunc(a.needs, func(name string) bool { return name == "new" || name == "nonce" })
	if len(foreign) > 0 && a.text == fmt.Sprintf("client {c} sends %q", a.kind) {
		a.foreign = a.text + " with {" + strings.Join(foreign, ", ") + "}"
	}
}

var ofHoles = regexp.MustCompile(`\$\{\{o\}\.(\w+)\}`)

func (p *Pack) isKept(name string) bool {
	return slices.ContainsFunc(p.doc.keeps, func(k keep) bool { return k.name == name })
}

func (p *Pack) unknownValue(name string) bool { return !p.isKept(name) }

// givenBy lists what a client keeps from what the server owes because of a message.
func (d *document) givenBy(kind string) (names []string) {
	for _, r := range d.rules {
		if !r.on.is(kind) {
			continue
		}
		for _, k := range d.keeps {
			if slices.ContainsFunc(r.owes, func(o *owing) bool { return slices.ContainsFunc(k.on.types, o.is) }) {
				names = append(names, k.name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sendingLines returns the steps of the scenarios that need no capability, with those of phrases in place of them, and
// of phrases that vary in their client alone. So what else the words of a phrase vary in has the values of scenarios.
func (p *Pack) sendingLines() (out []string) {
	add := func(line string) {
		left := maxExpanded
		out = append(out, p.general(line, &left)...)
	}
	for _, ph := range p.doc.phrases {
		if line := strings.ReplaceAll(ph.text, "{c}", "A"); !strings.Contains(line, "{") {
			add(line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if path.Ext(name) != ".feature" {
			continue
		}
		tags := ""
		for line := range strings.Lines(string(p.files[name].Data)) {
			line = strings.TrimSpace(line)
			word, rest, _ := strings.Cut(line, " ")
			switch {
			case strings.HasPrefix(line, "@"):
				tags = line
			case slices.Contains([]string{"Given", "When", "Then", "And", "But", "*"}, word) && !p.needsCapability(tags):
				add(rest)
			}
		}
	}
	return out
}

// general returns the general steps that a step stands for: those of its phrase, if it is one. left bounds how many
// steps of phrases are looked at: with the words of a scenario a phrase may contain itself.
func (p *Pack) general(line string, left *int) (out []string) {
	for _, ph := range p.doc.phrases {
		words := steps.Expression(ph.expression()).FindStringSubmatch(line)
		if words == nil {
			continue
		}
		for _, step := range ph.expand(words[1:]) {
			if *left--; *left > 0 {
				out = append(out, p.general(step, left)...)
			}
		}
		return out
	}
	return []string{line}
}

func (p *Pack) needsCapability(tags string) bool {
	return slices.ContainsFunc(p.doc.capabilities, func(name string) bool {
		return slices.Contains(strings.Fields(tags), "@"+name)
	})
}
