package pack

import (
	"slices"
	"strings"

	"parley/internal/script"
	"parley/internal/words"
	"parley/steps"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Load implements steps.Loadable: a session sends, in turn, the messages that the document lists below load. What it
// receives is judged by the rules, as foreign traffic.
func (p *Pack) Load(env *steps.Env, base string) steps.Load {
	d := p.doc
	out := steps.Load{Judges: monitor.Monitor{Name: "load-sessions", Passive: true, Clauses: d.ruled(),
		Text: "what the rules of protocol.yaml say"}}
	c := codec{binding: d.bindingOf(env.Profile), doc: d, base: base, driver: env.Driver.Name()}
	out.Decode = c.decode
	switch {
	case len(d.load) == 0:
		out.Unfit = "its protocol.yaml does not say what a session sends (load: [ping])"
	case d.before.path != "":
		out.Unfit = "its clients make a request before they connect (before)"
	case env.Driver.Name() == target.Post || env.Driver.Name() == target.Stdio:
		out.Unfit = "no session lasts over the driver " + env.Driver.Name()
	default:
		out.Acts = append(append(out.Acts, d.load...), steps.LoadReconnect)
		out.New = func(mark steps.Mark, _ *steps.Claims) steps.LoadSession {
			return &loaded{codec: c, mark: mark, header: env.Profile.Header()}
		}
	}
	return out
}

// loaded is a client under load. It implements steps.LoadSession.
type loaded struct {
	codec  codec
	mark   steps.Mark
	header map[string][]string

	kept   map[string]any
	model  *model // of the connection
	serial int
	act    string   // in progress; "": none
	todo   []string // messages that are left of it
	cause  int      // the record that it sent; 0: not yet
	opened bool     // the connection
}

// Dial implements steps.LoadSession.
func (l *loaded) Dial() driver.OpenOptions {
	at, _ := l.codec.stream(l.find) // what has no value yet stays empty
	l.model, l.kept = newModel(l.codec.doc, obligation.Ours), map[string]any{}
	l.act, l.todo, l.cause, l.opened = steps.LoadConnect, nil, 0, false
	return driver.OpenOptions{URL: at, Header: l.header}
}

// Act implements steps.LoadSession. What a message needs is asked for before it.
func (l *loaded) Act(name string) []driver.Message {
	l.todo = []string{name}
	for len(l.todo) <= len(l.codec.doc.load) {
		lacks := l.lacks(l.todo[0])
		if lacks == "" {
			break
		}
		l.todo = slices.Insert(l.todo, 0, lacks)
	}
	return l.send()
}

// send sends the next message of the act.
func (l *loaded) send() []driver.Message {
	l.act, l.cause, l.todo = l.todo[0], 0, l.todo[1:]
	m, _, err := l.codec.filled(l.act, l.find)
	if err != nil { // the act fails for lack of an answer
		return nil
	}
	return []driver.Message{m}
}

// lacks returns the message whose answer has what another one needs and the session does not have; "": nothing is
// missing.
func (l *loaded) lacks(kind string) string {
	template, _ := l.codec.doc.sends[kind].(map[string]any)
	missing := ""
	_, _ = fill(template, func(hole string) (any, error) { // only the holes are looked at
		if _, err := l.find(hole); err != nil {
			missing = hole
		}
		return "", nil
	})
	if missing == "" {
		return ""
	}
	i := slices.IndexFunc(l.codec.doc.load, func(other string) bool {
		return slices.Contains(l.codec.doc.givenBy(other), missing)
	})
	if i < 0 {
		return ""
	}
	return l.codec.doc.load[i]
}

// find returns the value of a hole.
func (l *loaded) find(hole string) (any, error) {
	switch v, kept := l.kept[hole]; {
	case hole == "nonce":
		return l.mark.Nonce(0), nil
	case hole == "new":
		l.serial++
		return l.mark.Nonce(l.serial), nil
	case kept:
		return v, nil
	}
	return nil, steps.NotTestedf("the session has no %s", hole)
}

// HandleRecord implements steps.LoadSession.
func (l *loaded) HandleRecord(r *transcript.Record) (out steps.LoadStep) {
	l.model.Take(*r)
	for _, m := range l.codec.doc.messages(*r) {
		switch {
		case m.from == "server":
			l.codec.doc.keep(m, l.model.scopeOf(m), l.kept)
			l.opened = l.opened || m.kind == connected
		case l.cause == 0 && (m.kind == l.act || l.act == steps.LoadConnect && m.kind == connecting):
			l.cause = r.N
		}
	}
	if l.act != "" && l.cause > 0 && l.opened && len(l.model.owed(r.Conn, l.cause)) == 0 {
		if len(l.todo) > 0 {
			out.Send = l.send()
			return out
		}
		l.act, out.Done = "", true
	}
	return out
}

// readLoad reads what a session under load sends.
func (rd *reader) readLoad(v script.Value) {
	if !v.There() {
		return
	}
	for _, kind := range rd.typesOf(v, rd.Texts(v, "load")) {
		if slices.Contains(rd.doc.receives, kind) && !rd.sends(kind) {
			rd.Fail(v, "load: clients send no %q (%s)", kind, words.Suggest(kind, sorted(rd.doc.sends), "there is "+
				strings.Join(sorted(rd.doc.sends), ", ")))
		}
	}
	rd.doc.load = rd.Texts(v, "load")
}
