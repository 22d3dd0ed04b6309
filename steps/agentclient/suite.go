// Package agentclient has the steps of the agent-client features: they open a page in a browser, act as its server,
// and judge what a person would see on the page and what the page requests.
package agentclient

import (
	"context"
	"io/fs"
	"time"

	"github.com/cucumber/godog"

	"parley/features"
	vocab "parley/protocol/agentclient"
	"parley/steps"
	"parley/steps/agentclient/binding"
	"parley/steps/agentclient/checkup"
	"parley/steps/agentclient/model"
	"parley/steps/agentclient/probe"
	selectwire "parley/steps/agentselect/binding"
	"parley/steps/doctor"
	"parley/steps/monitor"
	"parley/steps/obligation"
	engine "parley/steps/probe"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

// suite is the agent-client side of one scenario's world.
type suite struct {
	*steps.World
	wire  wire
	pages map[string]*page
	now   *page // the current page of the steps

	model  *model.Model // see pagesModel
	taken  int          // the last record that it has taken
	absent []string     // clauses whose absences the model has proved, for the step that says so
}

// page is an open page and its server.
type page struct {
	name   string
	conn   driver.Conn
	server *server

	agents  []agent // the last list
	current string  // id of the current agent; "": none
	session string  // the current session; "": none
	first   string  // the first session
	chosen  agent   // the latest choice
	refused agent   // the latest choice once the server has refused it

	act       int            // record of the user's latest act
	word      int            // record of the server's latest event
	idle      *snapshot.Page // snapshot before that
	unfenced  *snapshot.Page // snapshot before a fence within a wait; nil without one
	rest      *snapshot.Page // snapshot before the latest choice, when the selector is not switching
	restAt    int            // its record
	marks     []string       // classes by which the selector looked busy
	refusal   string         // the message of the server's latest error
	at        time.Time      // the server's time in its latest event; zero: none
	emitted   time.Time      // when that was sent
	preselect int            // record of the first choice without a session
	frozen    bool           // it has not responded to an act or a look within its limit
	away      bool           // its server's port is closed
	returned  bool           // it has reconnected by itself after the latest loss
	doubled   bool           // it has several event streams, and the server sends each event on all of them
	said      string         // the user's last message
	wished    *agent         // the choice without a session, once the page has handled it
	returning bool           // its stream was cut, and the server has not greeted it again
	unsent    []fields       // possible events of a turn that the scripted server has not sent
}

// Protocol is the agent-client entry of the suite.
type Protocol struct{}

// Kind implements steps.Protocol.
func (Protocol) Kind() target.Kind { return binding.Kind() }

// Features implements steps.Protocol.
func (Protocol) Features() fs.FS { return features.FS }

// Bind implements steps.Protocol: it returns the decoder of a scenario's records.
func (Protocol) Bind(env *steps.Env, _ target.Running) func(*transcript.Record) {
	return wire{*selectwire.Of(env.Profile)}.decode
}

// NotRunnable implements steps.Protocol.
func (Protocol) NotRunnable(*steps.Env, []string) string { return "" }

// Monitors implements steps.Protocol.
func (Protocol) Monitors() []monitor.Monitor { return model.All() }

// Model implements steps.Modelled.
func (Protocol) Model(_ string, o obligation.Observer) obligation.Model { return model.New(o) }

// Chart implements steps.Charted.
func (Protocol) Chart(string) (obligation.Chart, error) { return model.Chart() }

// Passive implements steps.Passive.
func (Protocol) Passive() []monitor.Monitor { return model.Foreign() }

// Subprotocols implements steps.Protocol.
func (Protocol) Subprotocols(*target.Profile) []string { return nil }

// Certifying implements steps.Protocol.
func (Protocol) Certifying() []string { return []string{target.Browser} }

// Stages implements steps.Protocol.
func (Protocol) Stages() [3]string {
	return [3]string{"connecting the page", "showing the agents", "asking for a switch"}
}

// Register implements steps.Protocol.
func (Protocol) Register(sc *godog.ScenarioContext, world func() *steps.World) {
	s := &suite{pages: map[string]*page{}, model: model.New(obligation.Ours)}
	sc.Before(func(ctx context.Context, _ *godog.Scenario) (context.Context, error) {
		if w := world(); w != nil {
			s.World, s.wire = w, wire{*selectwire.Of(w.Env.Profile)}
			w.AtEnd(func() { s.end(ctx) })
			w.Severed = s.severed
			w.Model = func() obligation.Model { return s.pagesModel() }
		}
		return ctx, nil
	})
	s.registerPages(sc)
	steps.StepsAfter(sc, s.noPage, func() {
		s.registerOnPage(sc)
		s.registerLists(sc)
		s.registerSwitching(sc)
		s.registerTelling(sc)
		s.registerLog(sc)
		s.registerStreams(sc)
		s.registerSevering(sc)
	})
}

// end saves a picture of each page if something is wrong, and closes the servers.
func (s *suite) end(ctx context.Context) {
	for _, p := range s.pages {
		if p.conn != nil && (s.Broken() || !s.Whole()) {
			s.keepEvidence(ctx, p)
		}
	}
	s.TellPageTrouble("agent-client.allow")
	for _, p := range s.pages {
		p.close()
	}
}

// close closes a page and its server.
func (p *page) close() {
	p.server.told.Close()
	if p.conn != nil {
		_ = p.conn.Close(driver.Graceful)
	}
	p.server.close()
}

func (s *suite) keepEvidence(ctx context.Context, p *page) {
	if p.frozen {
		s.Note("there is no picture of the page, which no longer responds")
		return
	}
	s.AttachPage(ctx, p.name, p.conn)
}

// open opens a page and starts its server.
func (s *suite) open(ctx context.Context, name string) error {
	srv, err := s.listen(name)
	if err != nil {
		return err
	}
	if before := s.pages[name]; before != nil { // a person opens it again
		before.close()
	}
	p := &page{name: name, server: srv}
	s.pages[name], s.now = p, p
	profile := binding.Of(s.Env.Profile)
	how := s.reading()
	if first := s.pages["A"]; name != "A" && first != nil {
		if page, ok := first.conn.(driver.PageConn); ok { // two pages of one browser share storage, like two tabs
			how.With = page.Profile()
		}
	}
	url := profile.PageURL(s.Target.BaseURL(), srv.l.URL())
	conn, err := s.Open(ctx, driver.OpenOptions{Party: name, URL: url, Page: how})
	if err != nil {
		return &steps.UnreachableError{Err: err}
	}
	p.conn = conn
	s.RecordReach(steps.Opened)
	return nil
}

// reading returns how to read pages, from the profile's hooks.
func (s *suite) reading() *driver.Page {
	c := binding.Of(s.Env.Profile)
	h := c.Hooks
	how := &driver.Page{
		Language: c.Language,
		Allow:    c.Allow,
		Select:   h.Selector,
		Chat:     h.Chat,
		Log:      h.Log,
		LogRow:   h.LogRow,
		Loading:  h.Loading,
		Dismiss:  h.Dismiss,
		Levels:   map[string]string{},
		Controls: map[string]string{
			serverURL:        h.ServerURL,
			model.Connect:    h.Connect,
			model.Disconnect: h.Disconnect,
			model.NewSession: h.NewSession,
			message:          h.Message,
			send:             h.Send,
			model.Abort:      h.Abort,
			session:          h.Session,
			chat:             h.Chat,
		},
	}
	if h.Session == "" && h.Sessions != "" {
		how.Controls[session] = h.Sessions + " > *"
	}
	for level, hook := range map[string]string{vocab.Info: h.LevelInfo, vocab.Error: h.LevelError} {
		if hook != "" {
			how.Levels[level] = hook
		}
	}
	return how
}

// Names of a page's controls in acts and snapshots, beside those of the model.
const (
	serverURL = "server-url"
	message   = "message"
	send      = "send"
	chat      = "chat"
	session   = "session"
)

// Doctor implements doctor.Examinable.
func (Protocol) Doctor() doctor.Guide { return checkup.Guide() }

// Init implements probe.Probing.
func (Protocol) Init() engine.Guide { return probe.Guide() }

// ofRequests is the party of the first page's requests.
const ofRequests = "A api"

// Renamed implements steps.Renamer.
func (Protocol) Renamed() [][2]string {
	return [][2]string{
		{`^it is recorded (whether the page suggests "[^"]*")$`, `$1 is recorded`},
	}
}
