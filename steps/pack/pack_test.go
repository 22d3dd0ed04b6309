package pack

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"parley/steps"
	"parley/steps/obligation"
	"parley/transport/driver"
	"parley/transport/transcript"
)

const ledger = `
protocol: ping-pong
source: ping-pong.md
clauses:
  - {id: PP-001, level: MUST, section: "1", text: one, source: one, observed: wire, status: tested}
  - {id: PP-002, level: MUST, section: "1", text: two, source: two, observed: wire, status: tested}
  - {id: PP-003, level: SHOULD, section: "1", text: three, source: three, observed: wire, status: tested}
`

// protocol has pings that are answered, a room whose door closes, and a fence.
const protocol = `
protocol: ping-pong
prefix: PP
transports: {ws: {path: /ws}}
sends: {ping: {n: "${new}"}, fence: {n: "${new}"}, shut: {room: "${room}"}}
receives: [hello, pong, fenced, closed, note]
keeps: [{on: hello, room: it.room}]
fence: {send: fence, answer: fenced, where: it.n == act.n}
state:
  room: {key: it.room, closed: false, text: ""}
rules:
%s
`

func load(t testing.TB, rules string) *Pack {
	t.Helper()
	p, err := LoadFS(fstest.MapFS{"protocol.yaml": {Data: fmt.Appendf(nil, protocol, rules)},
		"clauses.yaml": {Data: []byte(ledger)}}, "pp")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// said makes records of a line each: < for the server, > for the client, with the connection first, as "A> {...}".
// "A]" is an event that answers the request in a record, "A)" the end of such an answer, "A/" a request over HTTP.
// "A!" requests and gets a connection, "A?" is a wait for what record N obliges the server to, which ended in vain.
// "A~" is a restart of the target, "Ax" the end of a connection with a code.
func said(t testing.TB, p *Pack, lines ...string) (out []transcript.Record) {
	t.Helper()
	c := codec{binding: p.doc.binding(), doc: p.doc}
	add := func(r transcript.Record) {
		r.N = len(out) + 1
		c.decode(&r)
		out = append(out, r)
	}
	for _, line := range lines {
		conn, what, body := line[:1], line[1:2], strings.TrimSpace(line[2:])
		switch what {
		case "!":
			add(transcript.Record{Conn: conn, Dir: transcript.Sent, Kind: transcript.Open})
			add(transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Open, Status: 101})
		case "~":
			add(transcript.Record{Dir: transcript.Noted, Kind: transcript.Remark, Label: restarting})
		case "x":
			status, _ := strconv.Atoi(body)
			add(transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Closed, Status: status})
		case "?":
			add(transcript.Record{Conn: conn, Dir: transcript.Noted, Kind: transcript.Remark,
				Label: inVain + "record " + body})
		case "/":
			add(transcript.Record{Conn: conn, Dir: transcript.Sent, Kind: transcript.Request, Bytes: []byte(body)})
		case "]", ")":
			of, body, _ := strings.Cut(body, " ")
			r := transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Stream, Bytes: []byte(body)}
			if what == ")" {
				r.Kind, r.Label = transcript.Comment, driver.AnswerEnded
			}
			r.Reply, _ = strconv.Atoi(of)
			add(r)
		case "#":
			r := transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Closed}
			r.Status, _ = strconv.Atoi(body)
			add(r)
		case ">":
			add(transcript.Record{Conn: conn, Dir: transcript.Sent, Kind: transcript.Frame, Bytes: []byte(body)})
		case "<":
			add(transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Frame, Bytes: []byte(body)})
		}
	}
	return out
}

// TestRules: each rule with what keeps and what breaks it.
func TestRules(t *testing.T) {
	const (
		ping, pong   = `A> {"type":"ping","n":1}`, `A< {"type":"pong","n":1}`
		fence, fend  = `A> {"type":"fence","n":9}`, `A< {"type":"fenced","n":9}`
		owesPong     = "  - {on: ping, owes: {type: pong, where: it.n == act.n}, clauses: PP-001}"
		mustPong     = "  - {on: ping, owes: {type: pong, must: it.n == act.n}, clauses: PP-001}"
		closesWell   = "  - {on: ended, require: it.code == 4001, clauses: PP-001}"
		closes       = "  - {on: closed, set: {room.closed: true}}\n"
		closed, note = `A< {"type":"closed","room":"r"}`, `A< {"type":"note","room":"r"}`
	)
	for _, r := range []struct {
		reason, rules string
		lines         []string
		want          string
	}{
		{"the code of a close", closesWell, []string{"A# 4001"}, "+PP-001@1"},
		{"another code", closesWell, []string{"A# 1000"}, "-PP-001@1"},
		{"what is owed comes", owesPong, []string{ping, pong}, "+PP-001@2"},
		{"another does not count", owesPong, []string{ping, `A< {"type":"pong","n":2}`, fence, fend}, "-PP-001@1"},
		{"a fence shows that nothing came", owesPong, []string{ping, fence, fend}, "-PP-001@1"},
		{"without a fence it may still come", owesPong, []string{ping}, ""},
		{"a wait in vain", owesPong, []string{ping, "A? 1"}, "-PP-001@1"},
		{"on another connection it does not count", owesPong,
			[]string{ping, `B< {"type":"pong","n":1}`, fence, fend}, "-PP-001@1"},
		{"one that must be otherwise is no other", mustPong, []string{ping, `A< {"type":"pong","n":2}`}, "-PP-001@2"},
		{"one that is as it must be", mustPong, []string{ping, pong}, "+PP-001@2"},
		{"one of several", "  - {on: ping, owes: pong, or: [{type: note, clauses: PP-002}], clauses: PP-001}",
			[]string{ping, note, fence, fend}, "+PP-002@2"},
		{"until then", "  - {on: ping, owes: pong, until: {type: closed}, clauses: PP-001}",
			[]string{ping, closed, fence, fend}, ""},
		{"until then on another connection",
			"  - {on: ping, owes: pong, until: {type: closed}, elsewhere: true, clauses: PP-001}",
			[]string{ping, `B< {"type":"closed"}`, fence, fend}, ""},
		{"on another connection it goes on", "  - {on: ping, owes: pong, until: {type: closed}, clauses: PP-001}",
			[]string{ping, `B< {"type":"closed"}`, fence, fend}, "-PP-001@1"},
		{"what answers another request neither settles nor ends what is owed",
			"  - {on: ping, owes: pong, until: {type: ended}, clauses: PP-001}",
			[]string{`A/ {"type":"ping"}`, `A/ {"type":"ping"}`, `A] 2 {"type":"pong"}`, "A) 2", "A? 1"},
			"-PP-001@1"},
		{"what is owed because of an answer is of the same request",
			"  - {on: pong, owes: ended, clauses: PP-001}",
			[]string{`A/ {"type":"ping"}`, `A/ {"type":"ping"}`, `A] 1 {"type":"pong"}`, "A) 2", "A) 1"}, "+PP-001@5"},
		{"a fence shows nothing of an HTTP answer", "  - {on: ping, owes: http, clauses: PP-001}",
			[]string{`A/ {"type":"ping"}`, fence, fend}, ""},
		{"required", "  - {on: pong, require: it.n > 0, clauses: PP-001}", []string{pong, `A< {"type":"pong","n":0}`},
			"+PP-001@1 -PP-001@2"},
		{"a member that is not there is not as required", "  - {on: pong, require: it.n.m > 0, clauses: PP-001}",
			[]string{pong}, "-PP-001@1"},
		{"grows", "  - {on: pong, grows: it.n, clauses: PP-001}",
			[]string{pong, `A< {"type":"pong","n":2}`, `B< {"type":"pong","n":1}`, `A< {"type":"pong","n":4}`},
			"+PP-001@1 +PP-001@2 +PP-001@3 -PP-001@4"},
		{"unique over all connections", "  - {on: hello, unique: it.room, clauses: PP-001}",
			[]string{`A< {"type":"hello","room":"r"}`, `B< {"type":"hello","room":"s"}`, `B< {"type":"hello","room":"r"}`},
			"+PP-001@1 +PP-001@2 -PP-001@3"},
		{"first of each connection", "  - {on: hello, first: true, clauses: PP-001}",
			[]string{"A!", `A< {"type":"hello"}`, `A< {"type":"note"}`, "B!", `B< {"type":"note"}`}, "+PP-001@3 -PP-001@7"},
		{"forbidden afterwards", "  - {on: closed, forbids: {type: note, where: it.room == act.room}, clauses: PP-002}",
			[]string{note, closed, `A< {"type":"note","room":"s"}`, note}, "-PP-002@4"},
		{"absence is shown by a fence", "  - {on: closed, forbids: {type: note}, clauses: PP-002}",
			[]string{closed, fence, fend}, "+PP-002@3"},
		{"forbidden until", "  - {on: closed, forbids: {type: note}, until: {type: hello}, clauses: PP-002}",
			[]string{closed, `A< {"type":"hello"}`, note}, ""},
		{"a new connection owes nothing of the former one", owesPong, []string{"A!", ping, "A!", fence, fend}, ""},
		{"forbidden elsewhere", "  - {on: closed, forbids: {type: note}, elsewhere: true, clauses: PP-002}",
			[]string{closed, `B< {"type":"note"}`}, "-PP-002@2"},
		{"by the state of what the message is about",
			closes + "  - {on: note, require: not room.closed, clauses: PP-001}",
			[]string{note, closed, `A< {"type":"note","room":"s"}`, note, `A< {"type":"note"}`},
			"+PP-001@1 +PP-001@3 -PP-001@4"},
		{"behind a deviation only violations, as consequences",
			closes + "  - {on: note, require: not room.closed, clauses: PP-001}\n" + owesPong,
			[]string{closed, note, ping, pong, note}, "-PP-001@2 [-PP-001@5]"},
		{"what is no JSON object, and what has no known type",
			"  - {on: {type: [malformed, unknown], from: client}, owes: {type: note}, clauses: PP-003}",
			[]string{`A> [`, note, `A> {"type":"other"}`, note, ping, fence, fend}, "+PP-003@2 +PP-003@4"},
		{"clauses by what has happened", closes + "  - {on: note, require: it.n == nil, by: 'room.closed ? \"closed\" : " +
			"\"open\"', clauses: {open: PP-001, closed: PP-002}}", []string{note, closed, note}, "+PP-001@1 +PP-002@3"},
		{"the code with which a connection is closed",
			"  - {on: ping, owes: {type: ended, where: it.code == 1008}, clauses: PP-001}",
			[]string{ping, "Ax 1011", "A!", ping, "Ax 1008"}, "+PP-001@6"},
		{"what holds until the target is restarted", closes +
			"  - {on: closed, set: {shared.closed: true}}\n  - {on: restarted, set: {shared.closed: false}}\n" +
			"  - {on: note, require: not (shared.closed ?? false), clauses: PP-001}",
			[]string{closed, "A~", note, closed, note}, "+PP-001@3 -PP-001@5"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			p := load(t, r.rules)
			var got []string
			for _, f := range obligation.Judge(newModel(p.doc, obligation.Ours), said(t, p, r.lines...)) {
				sign := map[bool]string{true: "+", false: "-"}[f.OK]
				text := fmt.Sprintf("%s%s@%d", sign, strings.Join(f.Clauses, " "), f.At)
				if f.Follows {
					text = "[" + text + "]"
				}
				if got = append(got, text); !f.OK && (f.Expected == "" || f.Observed == "") {
					t.Errorf("%+v says too little", f)
				}
			}
			if diff := cmp.Diff(r.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestForeign: in foreign traffic a message may still come behind a fence, and what is owed is missing at the end if a
// fence shows that it was handled.
func TestForeign(t *testing.T) {
	p := load(t, "  - {on: ping, owes: {type: pong, where: it.n == act.n}, clauses: PP-001}")
	const ping, fence, fenced = `A> {"type":"ping","n":1}`, `A> {"type":"fence","n":9}`, `A< {"type":"fenced","n":9}`
	for _, r := range []struct {
		lines []string
		found int
		ok    bool
	}{
		{[]string{ping, fence, fenced, `A< {"type":"pong","n":1}`}, 1, true},
		{[]string{ping, fence, fenced}, 1, false},
		{[]string{fence, fenced, ping}, 0, false},
	} {
		found := obligation.Judge(newModel(p.doc, obligation.Foreign), said(t, p, r.lines...))
		if len(found) != r.found || len(found) > 0 && found[0].OK != r.ok {
			t.Errorf("%q: %+v", r.lines, found)
		}
	}
}

// TestStateIsBounded: a state that grows without end becomes unknown, and breaks nothing.
func TestStateIsBounded(t *testing.T) {
	p := load(t, `  - {on: note, set: {room.text: room.text + it.text}}
  - {on: closed, require: len(room.text) < 10, clauses: PP-001}`)
	var lines []string
	for range 3 {
		lines = append(lines, `A< {"type":"note","room":"r","text":"`+strings.Repeat("x", mostText/2)+`"}`)
	}
	lines = append(lines, `A< {"type":"closed","room":"r"}`, `A< {"type":"closed","room":"s"}`)
	found := obligation.Judge(newModel(p.doc, obligation.Ours), said(t, p, lines...))
	if len(found) != 1 || !found[0].OK || found[0].At != 5 {
		t.Errorf("%+v", found)
	}
}

// TestMistakes: each mistake is told at its line, with the mend; all at once.
func TestMistakes(t *testing.T) {
	for _, r := range []struct{ rules, want string }{
		{"  - {owes: pong, clauses: PP-001}", "on is missing"},
		{"  - {on: pang, owes: pong, clauses: PP-001}", `"pang" is not a type of this protocol`},
		{"  - {on: ping, owes: pong}", "clauses is missing"},
		{"  - {on: ping, clauses: PP-001}", "the rule does nothing"},
		{"  - {on: ping, ows: pong, clauses: PP-001}", `a rule has no "ows" (did you mean "owes"?)`},
		{"  - {on: pong, require: it.n ==, clauses: PP-001}", "is not an expression"},
		{"  - {on: pong, require: 'all(it.a,', clauses: PP-001}", "a # after a space begins a comment"},
		{"  - {on: pong, require: roam.closed, clauses: PP-001}", "unknown name roam"},
		{"  - {on: pong, require: 'all(it.a, any(it.b, # == 1))', clauses: PP-001}", "more than one function goes"},
		{"  - {on: pong, require: 'sum(1..1000000) > 0', clauses: PP-001}", "it has no ranges"},
		{"  - {on: pong, require: 'now() != nil', clauses: PP-001}", "unknown name now"},
		{"  - {on: pong, forbids: note, within: 1s, clauses: PP-001}", "the rule has no owes"},
		{"  - {on: pong, set: {room.closed: []}}", "put a list or a map of Expr into quotes"},
		{"  - {on: pong, set: {rom.closed: true}}", `did you mean "room"?`},
		{"  - {on: pong, set: {room.clsed: true}}", `the state room has no "clsed" (did you mean "closed"?)`},
		{"  - {on: pong, require: not room.clsed, clauses: PP-001}", "unknown field clsed"},
		{"  - {on: pong, set: {rom.closed: true}}", `"rom.closed" is not a member of a state`},
		{"  - {on: pong, within: ever, owes: pong, clauses: PP-001}", "or the name of a limit"},
		{"  - {on: pong, owes: pong, by: kind, clauses: PP-001}", "by and a map of clauses belong together"},
		{"  - {on: pong, owes: pong, clauses: {pong: PP-001}}", "by and a map of clauses belong together"},
		{"  - {on: pong, owes: pong, by: it.n ==, clauses: {pong: PP-001}}", "is not an expression"},
		{"  - {on: pong, owes: pong, clauses: PP-009}", "no clause of clauses.yaml has the id PP-009"},
	} {
		_, err := LoadFS(fstest.MapFS{"protocol.yaml": {Data: fmt.Appendf(nil, protocol, r.rules)},
			"clauses.yaml": {Data: []byte(ledger)}}, "pp")
		if err == nil || !strings.Contains(err.Error(), r.want) || !strings.Contains(err.Error(), "pp/protocol.yaml:1") {
			t.Errorf("%s: %v, want %s", r.rules, err, r.want)
		}
	}
	for text, want := range map[string]string{
		"protocol: Ping\nprefix: P\n": "small letters, digits and single hyphens",
		"protocol: a\nprefix: AB\n":   "transports is missing",
		"- a\n":                       "a protocol is a map",
		"":                            "the protocol is empty",
		"protocol: a\nprefix: AB\ntransports: {ws: {path: /ws}}\nstate: {map: {key: it.a}}\n": "a function of that",
		"protocol: a\nprefix: AB\ntransports: {ws: {path: ws}}\n":                             "does not begin with a slash",
		"protocol: a\nprefix: AB\ntransports: {tcp: {}}\n":                                    `transports has no "tcp"`,
	} {
		_, err := LoadFS(fstest.MapFS{"protocol.yaml": {Data: []byte(text)}}, "pp")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "protocol.yaml") {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestStaysInside: a link that leads out of the folder is not followed.
func TestStaysInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(dir+"/protocol.yaml", fmt.Sprintf(protocol, "  - {on: ping, owes: pong, clauses: PP-001}"))
	write(outside+"/clauses.yaml", ledger)
	if err := os.Symlink(outside+"/clauses.yaml", dir+"/clauses.yaml"); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "leads out of the folder") {
		t.Error("a file outside of the folder was read")
	}
}

// TestPhrase: the words of a phrase are filled into its steps.
func TestPhrase(t *testing.T) {
	p := phrase{text: `client {c} is refused with "{code}"`, steps: []string{`client {c} receives "{code}"`,
		`client {c} sends "say" with {"text": "${c} {code}"}`}}
	m := steps.Expression(p.expression()).FindStringSubmatch(`client A is refused with "no such room"`)
	if len(m) != 3 {
		t.Fatalf("%s does not match: %q", p.expression(), m)
	}
	if diff := cmp.Diff([]string{`client A receives "no such room"`,
		`client A sends "say" with {"text": "${c} no such room"}`}, p.expand(m[1:])); diff != "" {
		t.Error(diff)
	}
}

// FuzzLoad: no file makes loading or judging fail otherwise than with an error.
func FuzzLoad(f *testing.F) {
	for rule, message := range map[string]string{
		"  - {on: ping, owes: {type: pong, where: it.n == act.n}, clauses: PP-001}": `{"type":"pong","n":[1]}`,
		"  - {on: note, require: room.text == it.text, clauses: PP-001}":            `{"type":"note","room":7}`,
		"  - {on: note, require: 'patched(it, it.n) != nil', clauses: PP-001}":      `{"type":"note","n":[{"op":"copy"}]}`,
	} {
		f.Add(fmt.Sprintf(protocol, rule), message)
	}
	f.Fuzz(func(t *testing.T, text, message string) {
		p, err := LoadFS(fstest.MapFS{"protocol.yaml": {Data: []byte(text)}, "clauses.yaml": {Data: []byte(ledger)}},
			"pp")
		if err == nil {
			obligation.Judge(newModel(p.doc, obligation.Ours), said(t, p, "A!", "A> "+message, "A< "+message))
		}
	})
}

// TestCorrelate: a request belongs to the stream that keeps the value in its path; without such a value, to the only
// stream there is.
func TestCorrelate(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(protocol, "  - {on: ping, owes: pong, clauses: PP-001}"), "ws: {path: /ws}",
		`sse: {open: /events, send: "POST /rooms/${room}/say"}`, 1)
	p, err := LoadFS(fstest.MapFS{"protocol.yaml": {Data: []byte(text)}, "clauses.yaml": {Data: []byte(ledger)}}, "pp")
	if err != nil {
		t.Fatal(err)
	}
	profile, err := p.Kind().ForURL("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	partyOf, c := p.Correlate(profile), codec{binding: p.doc.binding(), doc: p.doc}
	take := func(r transcript.Record) string {
		c.decode(&r)
		return partyOf(&r, nil)
	}
	request := func(path string) string {
		return take(transcript.Record{Dir: transcript.Sent, Kind: transcript.Request, Label: "POST " + path})
	}
	opens := func(conn, room string) {
		take(transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Open})
		take(transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Stream,
			Bytes: []byte(`{"type":"hello","room":"` + room + `"}`)})
	}
	if got := request("/rooms/a%20b/say"); got != "" {
		t.Errorf("without a stream: %s", got)
	}
	opens("C1", "a b")
	if got := request("/elsewhere"); got != "C1" {
		t.Errorf("with one stream: %s", got)
	}
	opens("C2", "c")
	for path, want := range map[string]string{"/rooms/a%20b/say": "C1", "/rooms/c/say?x=1": "C2", "/elsewhere": ""} {
		if got := request(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestApplies: a scenario is not applicable unless an expression holds for the last message that gives it a value.
func TestApplies(t *testing.T) {
	p := load(t, "  - {on: note, set: {room.text: it.text}}")
	s := &suite{World: &steps.World{T: transcript.New(nil)}, doc: p.doc, clients: map[string]*client{},
		model: newModel(p.doc, obligation.Ours)}
	for _, r := range said(t, p, `A< {"type":"note","room":"r","n":1}`, `A< {"type":"note","room":"r","n":2,"text":"x"}`,
		`B< {"type":"note","n":3}`, `A< {"type":"pong"}`) {
		s.T.Append(r)
	}
	var notApplicable *steps.NotApplicableError
	if err := s.applies(t.Context(), "A", "it.n > 1 and room.text == 'x'"); err != nil {
		t.Error(err)
	}
	if err := s.applies(t.Context(), "A", "it.n > 2"); !errors.As(err, &notApplicable) {
		t.Error(err)
	}
	if err := s.applies(t.Context(), "C", "it.n > 2"); err == nil || errors.As(err, &notApplicable) {
		t.Error(err)
	}
}

// TestFollowTo: a wait for one client's record takes what has come to others before it.
func TestFollowTo(t *testing.T) {
	p := load(t, "  - {on: ping, owes: pong, clauses: PP-001}")
	s := &suite{World: &steps.World{T: transcript.New(nil)}, doc: p.doc, clients: map[string]*client{},
		model: newModel(p.doc, obligation.Ours)}
	for _, r := range said(t, p, `B> {"type":"ping"}`, `B< {"type":"pong"}`, `A< {"type":"note"}`, `A< {"type":"note"}`) {
		s.T.Append(r)
	}
	s.followTo(3)
	if found := s.model.Findings(); len(found) != 1 || !found[0].OK || s.seen != 3 {
		t.Errorf("up to record %d: %+v", s.seen, found)
	}
}

// TestDigest: the rules are a part of the suite, which its digest identifies.
func TestDigest(t *testing.T) {
	one := load(t, "  - {on: ping, owes: pong, clauses: PP-001}")
	other := load(t, "  - {on: ping, owes: pong, clauses: PP-002}")
	if a, b := steps.NewProtocols("1", one).Digest(), steps.NewProtocols("1", other).Digest(); a == b {
		t.Errorf("two sets of rules have the digest %s", a)
	}
}

// TestTypePlaces: the messages of a client and of the server may have their types in different places.
func TestTypePlaces(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(protocol, "  - {on: ping, owes: pong, clauses: PP-001}"), "sends:",
		"message: {type: {client: /op, server: /ev}}\nsends:", 1)
	p, err := LoadFS(fstest.MapFS{"protocol.yaml": {Data: []byte(text)}, "clauses.yaml": {Data: []byte(ledger)}}, "pp")
	if err != nil {
		t.Fatal(err)
	}
	found := obligation.Judge(newModel(p.doc, obligation.Ours), said(t, p, `A> {"op":"ping","n":1}`, `A< {"ev":"pong"}`))
	if len(found) != 1 || !found[0].OK {
		t.Errorf("%+v", found)
	}
	m, err := codec{binding: p.doc.binding(), doc: p.doc, driver: "ws"}.encode("ping", map[string]any{}, nil)
	if err != nil || string(m.Body) != `{"op":"ping"}` {
		t.Errorf("%s, %v", m.Body, err)
	}
	if diff := cmp.Diff([]string{"/ev", "/op"}, p.Types()); diff != "" {
		t.Error(diff)
	}
}
