package spread

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"parley/features/verdict"
	"parley/runner"
	"parley/simulator/load"
	"parley/steps"
	"parley/steps/protocols"
)

// TestOptions: what other machines could reach needs a token, and encryption unless that is waived.
func TestOptions(t *testing.T) {
	const secret = "a token"
	with := func(a Access) Options { return Options{Workers: 1, Access: a} }
	at := func(listen string, a Access) Options { return Options{Workers: 1, Listen: listen, Access: a} }
	for name, row := range map[string]struct {
		o    Options
		want string // "": it is accepted
	}{
		"two processes":           {Options{Workers: 2}, ""},
		"none":                    {Options{}, "--workers 0"},
		"too many":                {Options{Workers: 1001}, "--workers 1001"},
		"more remote than all":    {Options{Workers: 1, Remote: 2}, "--remote 2"},
		"remote without a token":  {Options{Workers: 1, Remote: 1}, EnvToken},
		"remote with one":         {Options{Workers: 1, Remote: 1, Access: Access{Token: secret}}, ""},
		"a name with a dot":       {Options{Workers: 1, Name: "a.b"}, "--name"},
		"no address":              {at("4222", Access{}), "--listen"},
		"every address":           {at("0.0.0.0:0", Access{Token: secret}), "could reach it"},
		"every one, too":          {at(":0", Access{Token: secret}), "could reach it"},
		"every one, no token":     {at(":0", Access{Insecure: true}), "could reach it"},
		"waived":                  {at(":0", Access{Token: secret, Insecure: true}), ""},
		"both servers":            {at(own, Access{URL: "nats://127.0.0.1:1"}), "leave one out"},
		"a server here":           {with(Access{URL: "nats://127.0.0.1:1"}), ""},
		"two servers here":        {with(Access{URL: "nats://127.0.0.1:1,nats://[::1]:2"}), ""},
		"no URL":                  {with(Access{URL: "127.0.0.1:1"}), "not the URL"},
		"elsewhere":               {with(Access{URL: "nats://192.0.2.1:1", Token: secret}), "read along"},
		"one of two elsewhere":    {with(Access{URL: "nats://127.0.0.1:1,nats://192.0.2.1:1"}), "read along"},
		"elsewhere, encrypted":    {with(Access{URL: "tls://192.0.2.1:1", Token: secret}), ""},
		"encrypted, for everyone": {with(Access{URL: "tls://192.0.2.1:1"}), "read along"},
		"a user in the URL":       {with(Access{URL: "tls://me:secret@192.0.2.1:1"}), ""},
		"a password is not told":  {with(Access{URL: "nats://me:secret@192.0.2.1:1"}), "me:xxxxx@"},
	} {
		row.o.Name = cmp.Or(row.o.Name, "load")
		err := row.o.checkOptions()
		var usage *runner.UsageError
		if (err == nil) != (row.want == "") ||
			err != nil && (!errors.As(err, &usage) || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
}

// TestJoining: a worker that others have started takes part if it has the token, the name and the suite; others do not.
func TestJoining(t *testing.T) {
	told := make(chan string, 8)
	c := crew(t, Options{Workers: 2, Remote: 1, Name: "mine", Access: Access{Token: "the token"},
		Tell: func(line string) { told <- line }})
	worker := WorkerOptions{Access: c.o.Access, Name: "mine", Workshop: shop(), Within: time.Minute}
	early := worker
	early.Name, early.Within = "other", 600*time.Millisecond
	if err := Work(t.Context(), early); err == nil || !strings.Contains(err.Error(), "nobody began a load of this name") {
		t.Errorf("a load of another name: %v", err)
	}
	stranger := worker
	stranger.Token = "another token"
	if err := Work(t.Context(), stranger); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a worker with another token: %v", err)
	}
	type end struct {
		exit int
		err  error
	}
	ended := make(chan end, 1)
	o := loadOf("session-chat", "", 4)
	o.Crew, o.Duration, o.Rate = c, time.Second, 8
	go func() {
		res, err := load.Run(t.Context(), o)
		if err != nil {
			ended <- end{-1, err}
			return
		}
		ended <- end{res.Exit, nil}
	}()
	if line := <-told; line != "waiting for 1 worker: parley-load worker --nats "+c.o.URL+" --name mine" {
		t.Errorf("told %q", line)
	}
	other := worker
	other.Workshop.Protocols = steps.NewProtocols("0", protocols.All.All[0])
	if err := Work(t.Context(), other); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("a worker with another suite: %v", err)
	}
	if err := Work(t.Context(), worker); err != nil {
		t.Errorf("a worker that has everything: %v", err)
	}
	if got := <-ended; got.err != nil || got.exit != verdict.ExitConformant {
		t.Errorf("exit %d: %v", got.exit, got.err)
	}
}

// TestStrayMessages: what comes from no worker of the load is answered with an error, and changes nothing.
func TestStrayMessages(t *testing.T) {
	c := crew(t, Options{Workers: 1})
	g := newGang(c, nil, nil)
	if err := g.subscribeWorkers(); err != nil {
		t.Fatal(err)
	}
	defer g.leaveLoad()
	suite := protocols.All.Digest()
	if g.addWorker(hello{Version: version, Suite: suite, ID: "second", Local: 2}).Error == "" ||
		g.addWorker(hello{Version: version, Suite: suite, ID: "first", Local: 1}).Error != "" {
		t.Error("the crew has one worker, which is number 1")
	}
	joins := func(version int, id string, local int) string {
		b, err := json.Marshal(hello{Version: version, Suite: suite, ID: id, Local: local})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const first = `{"id":"first"`
	for name, row := range map[string]struct{ what, body, want string }{
		"not JSON":          {report, "{", "unexpected end"},
		"unknown members":   {report, first + `,"more":1}`, "unknown field"},
		"a stranger":        {report, `{"id":"third","report":{}}`, "no worker of the load"},
		"no report":         {report, first + `}`, "no report"},
		"nothing shown":     {show, first + `}`, "nothing shown"},
		"no claim":          {claim, first + `}`, "no claim"},
		"a stranger claims": {claim, `{"id":"third","claim":{}}`, "no worker of the load"},
		"a stranger's end":  {ended, `{"id":"third"}`, "no worker of the load"},
		"twice":             {joining, joins(version, "again", 1), "there already"},
		"another version":   {joining, joins(version+1, "again", 1), "another version"},
		"a strange id":      {joining, joins(version, "*", 0), "no worker of the load"},
		"one too many":      {joining, joins(version, "again", 0), "all its workers"},
	} {
		m, err := c.conn.Request(subjectOf(c.o.Name, row.what), []byte(row.body), 10*time.Second)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var a answer
		if err := json.Unmarshal(m.Data, &a); err != nil || !strings.Contains(a.Error, row.want) {
			t.Errorf("%s: %s, want %q", name, m.Data, row.want)
		}
	}
	long := make([]byte, maxMessage+8192)
	if err := c.conn.Publish(subjectOf(c.o.Name, report), long); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("a message that is too long: %v", err)
	}
	if _, err := encodeMessage(message{Why: strings.Repeat("x", maxMessage)}); err == nil {
		t.Error("a message that is too long is encoded")
	}
	if !c.isAnswered() {
		t.Error("the name of a load that is under way is free")
	}
}

// TestServerOfUser: workers meet at a server of the user's, unless its messages are too short for them.
func TestServerOfUser(t *testing.T) {
	s, url, err := embedServer(own, "their token", 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	c := crew(t, Options{Workers: 2, Access: Access{URL: url, Token: "their token"}})
	if c.server != nil {
		t.Error("a server of our own was started, too")
	}
	o := loadOf("session-runtime", "", 4)
	o.Duration, o.Rate = time.Second, 8
	if res := carryOut(t, o, c); res.Exit != verdict.ExitConformant || res.Load.All.Count != 8 {
		t.Errorf("exit %d: %+v", res.Exit, res.Load)
	}
	small, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		MaxPayload: maxMessage - 1})
	if err != nil {
		t.Fatal(err)
	}
	small.Start()
	t.Cleanup(func() { small.Shutdown(); small.WaitForShutdown() })
	_, err = New(Options{Workers: 1, Access: Access{URL: small.ClientURL()}})
	var usage *runner.UsageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("a server with short messages: %v", err)
	}
}

// TestGone: a worker ends its part when the NATS server has gone for good, and says so.
func TestGone(t *testing.T) {
	c := crew(t, Options{Workers: 1, Remote: 1, Access: Access{Token: "x"}})
	ctx, gone := context.WithCancelCause(t.Context())
	w := &worker{o: WorkerOptions{Name: "load", Workshop: shop(), Within: time.Minute}, conn: c.conn, id: "me", give: gone}
	l := w.linkPart(nil, nil)
	if _, err := w.sendToCoordinator(ctx, report, message{}); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("without a coordinator: %v", err)
	}
	l.Report(load.Report{})
	if ctx.Err() != nil {
		t.Error("the worker gives up at once")
	}
	if l.Opened(ctx, load.Report{}); ctx.Err() == nil || !strings.Contains(context.Cause(ctx).Error(), "does not answer") {
		t.Errorf("the worker acts without a coordinator: %v", context.Cause(ctx))
	}
	p := patience{time.Now().Add(-2 * Silence)}
	if p.isOver(nil) || !(&patience{time.Now().Add(-2 * Silence)}).isOver(nats.ErrTimeout) {
		t.Error("patience is not over after Silence")
	}
}
