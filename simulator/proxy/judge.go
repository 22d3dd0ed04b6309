package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"parley/features/verdict"
	"parley/simulator/gate"
	"parley/steps"
	"parley/steps/monitor"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Pace of judging while traffic passes: after a lull, and for at most a share of the time.
const (
	lull  = 500 * time.Millisecond
	share = 10

	mostSkipped = 10 // lulls that may be skipped while many records arrive
)

// judgeOn judges while traffic passes, and releases the tapes of connections that have ended.
func (p *Proxy) judgeOn() {
	timer := time.NewTimer(lull)
	defer timer.Stop()
	for skipped := 0; ; {
		select {
		case <-p.stop:
			return
		case <-timer.C:
		case <-p.many:
		}
		if skipped < mostSkipped && p.queue.hasBacklog() {
			skipped++
			timer.Reset(lull)
			continue
		}
		skipped = 0
		began := time.Now()
		p.judgeRecords()
		timer.Reset(max(lull, share*time.Since(began)))
	}
}

// judgeRecords judges new records.
func (p *Proxy) judgeRecords() {
	p.judging.Lock()
	defer p.judging.Unlock()
	said := &Checked{}
	for _, one := range p.judgeEnded(said) {
		// monitors see nothing new of a tape that is longer than what a run keeps
		if n := one.t.Len(); n == one.judgedTo || one.judgedTo > transcript.MaxRecords {
			continue
		}
		judged, failures, _ := p.judgeTape(one, said)
		p.reportFindings(one, failures)
		p.noteOutcomes(judged)
	}
	p.reportChecked(said)
}

// judgeEnded judges and releases the tapes of connections that have ended, and the oldest ones if there are too many.
// It returns the others. The caller holds p.judging.
func (p *Proxy) judgeEnded(said *Checked) (rest []*tape) {
	p.mu.Lock()
	rest = slices.Clone(p.all)
	var over []*tape
	p.tapes = slices.DeleteFunc(p.tapes, func(one *tape) bool {
		ended := one.name != "" && !p.open[one.name] || len(p.tapes)-len(over) > maxTapes
		if ended {
			over = append(over, one)
		}
		return ended
	})
	rest = append(rest, p.tapes...)
	said.Through = p.through
	p.mu.Unlock()
	for _, one := range over {
		p.judgeFinally(one, said)
	}
	return rest
}

// reportFindings reports new findings. The caller holds p.judging.
func (p *Proxy) reportFindings(one *tape, failures []steps.Failure) {
	for _, f := range failures {
		key := [3]string{one.role.Name, f.Monitor, f.Clause}
		if p.told[key] {
			continue
		}
		p.told[key] = true
		p.broken.Add(1)
		if p.o.Found != nil {
			redact := p.secrets.newRedactor()
			f.Expected, f.Observed, f.Diff = redact.String(f.Expected), redact.String(f.Observed), redact.String(f.Diff)
			at := transcript.Record{}
			if page := one.t.Page(f.At-1, 1); f.At > 0 && len(page) > 0 {
				at = page[0]
			}
			p.o.Found(Found{one.role.Name, f, at})
		}
	}
}

// judgeFinally makes the final judgement on a tape, and releases it. The caller holds p.judging.
func (p *Proxy) judgeFinally(one *tape, said *Checked) {
	judged, failures, whole := p.judgeTape(one, said)
	p.reportFindings(one, failures)
	p.noteOutcomes(judged)
	if p.o.Ended != nil {
		p.o.Ended(Ended{Role: one.role.Role, Conn: one.name, T: one.t, Judged: judged, Failures: failures,
			Whole: whole && one.t.Overflow() == 0, Partly: one.whyPartly(), Duration: p.duration(one),
			Redact: p.secrets.newRedactor()})
	}
	if err := one.t.FileError(); err != nil {
		p.mu.Lock()
		p.err = fmt.Errorf("records of a connection are lost: %w", err)
		p.mu.Unlock()
	}
	_ = one.t.Close()
}

// worstOutcomes has the worst outcome of each clause.
type worstOutcomes struct {
	mu sync.Mutex
	of verdict.Worst
}

// noteOutcomes notes outcomes. The caller holds p.judging.
func (p *Proxy) noteOutcomes(judged []verdict.Judgement) {
	p.worst.mu.Lock()
	changed := false
	for _, j := range judged {
		changed = p.worst.of.Take(j.Clause, j.Outcome) || changed
	}
	p.worst.mu.Unlock()
	if changed && p.o.Judged != nil {
		p.o.Judged()
	}
}

// Outcomes returns the worst outcome so far of each clause that was judged. Those of Ended are final.
func (p *Proxy) Outcomes() map[string]verdict.Outcome {
	p.worst.mu.Lock()
	defer p.worst.mu.Unlock()
	return maps.Clone(p.worst.of)
}

// MergeWorst merges the outcomes of several proxies: it returns the worst outcome of each clause.
func MergeWorst(all ...map[string]verdict.Outcome) map[string]verdict.Outcome {
	out := verdict.Worst{}
	for _, one := range all {
		for clause, o := range one {
			out.Take(clause, o)
		}
	}
	return out
}

// Check judges all traffic so far. When it returns, Found and Judged have been called for it.
func (p *Proxy) Check() {
	p.queue.awaitEmpty()
	p.judgeRecords()
}

// Codec decodes the records of a program that is only observed, in a role of its protocol. The protocol's binding
// depends on the driver that would have made the records: frames are those of a WebSocket or of stdio, and everything
// else is HTTP.
type Codec struct {
	Env *steps.Env // for judging

	protocol steps.Protocol
	base     string                // URL of the program, if it is a server
	envs     map[string]*steps.Env // by driver
}

// NewCodec makes a codec for a program that uses the default wire names. base is its base URL if it is a server.
func NewCodec(p steps.Protocol, role, base string) (*Codec, error) {
	kind := p.Kind()
	profile := kind.New()
	profile.Protocol, profile.Role, profile.Name, profile.URL = kind.Protocol, role, "your program", base
	if base != "" && kind.Locate != nil {
		kind.Locate(profile) // a URL may contain the path of the socket
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	return newCodec(p, profile, ledger, false, profile.URL), nil
}

// CodecOf makes a codec for a target with the wire names of its profile. base is its base URL.
func CodecOf(p steps.Protocol, profile *target.Profile, strict bool, base string) (*Codec, error) {
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	return newCodec(p, profile, ledger, strict, base), nil
}

func newCodec(p steps.Protocol, profile *target.Profile, ledger *verdict.Ledger, strict bool, base string) *Codec {
	c := &Codec{protocol: p, base: base, envs: map[string]*steps.Env{}}
	for _, name := range p.Kind().Drivers {
		c.envs[name] = &steps.Env{Profile: profile, Role: profile.Role, Driver: unusedDriver(name), Ledger: ledger,
			Strict: strict, Redact: transcript.NewRedactor()}
		if c.Env == nil {
			c.Env = c.envs[name]
		}
	}
	return c
}

// Decoder returns a decoder of records with its own state.
func (c *Codec) Decoder() func(*transcript.Record) {
	by := map[string]func(*transcript.Record){}
	for name, env := range c.envs {
		by[name] = c.protocol.Bind(env, observedTarget(c.base))
	}
	pick := func(names ...string) (string, func(*transcript.Record)) {
		for _, name := range names {
			if by[name] != nil {
				return name, by[name]
			}
		}
		return "", func(*transcript.Record) {}
	}
	socket, frames := pick(target.WS, target.Stdio, target.SSE, target.Browser)
	stream, others := pick(target.SSE, target.Post, target.Browser, target.WS, target.Stdio)
	return func(rec *transcript.Record) {
		if rec.Kind == transcript.Frame {
			frames(rec)
			return
		}
		if ends := rec.Kind == transcript.Open || rec.Kind == transcript.Closed; ends && socket != stream {
			seen := *rec // the connection may be one of frames: their decoder must learn when it begins and ends
			frames(&seen)
		}
		others(rec)
	}
}

// Observed returns the records that a tester of the role would have: see steps.Witness. filters reports whether it may
// omit records.
func (c *Codec) Observed(records []transcript.Record) (out []transcript.Record, filters bool) {
	if w, ok := c.protocol.(steps.Witness); ok {
		return w.Observed(c.Env.Role, records), true
	}
	return records, false
}

// unusedDriver is a driver of which only the name is used.
type unusedDriver string

// Name implements driver.Driver.
func (u unusedDriver) Name() string { return string(u) }

// Open implements driver.Driver.
func (u unusedDriver) Open(context.Context, driver.OpenOptions, driver.Sink) (driver.Conn, error) {
	return nil, errors.New("who only observes opens no connection")
}

// observedTarget is a target.Running that the harness does not control. Its value is the program's base URL.
type observedTarget string

// BaseURL implements target.Running.
func (o observedTarget) BaseURL() string { return string(o) }

// Hook implements target.Running.
func (o observedTarget) Hook(_ context.Context, name string, _ target.CustomAgent) error {
	return &target.NotDeclaredError{Key: "hooks." + name}
}

// ConfigBytes implements target.Running.
func (o observedTarget) ConfigBytes() ([]byte, error) {
	return nil, &target.NotDeclaredError{Key: "configuration of a program that is only observed"}
}

// Restart implements target.Running.
func (o observedTarget) Restart(context.Context, bool) error {
	return &target.NotDeclaredError{Key: "way to restart a program that is only observed"}
}

// Stderr implements target.Running.
func (o observedTarget) Stderr() string { return "" }

// Stop implements target.Running.
func (o observedTarget) Stop(context.Context) error { return nil }

// Side is a side of the traffic.
type Side = gate.Side

// The sides.
const (
	Client = gate.Client
	Server = gate.Server
)

// Role is a role in which one side is judged.
type Role struct {
	Name     string            // of the protocol
	Side     Side              // the side of its targets
	Together bool              // all connections are judged together, else each separately
	NoTarget bool              // it is the client of steps.Clients, which sees records as seen at the client's end
	Monitors []monitor.Monitor // that judge it
}

// Clauses returns the ids of the clauses that the role's monitors judge, sorted.
func (r Role) Clauses() []string {
	var all []string
	for _, m := range r.Monitors {
		all = append(all, m.Clauses...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// RolesOf returns the roles in which the traffic of a protocol can be judged: those named, or, for none, the first role
// of each side. The client of steps.Clients, which is no target, is judged if it is named. The error names an unknown
// role.
func RolesOf(p steps.Protocol, named []string) ([]Role, error) {
	kind := p.Kind()
	var out []Role
	client, _ := steps.ClientOf(p)
	for _, name := range named {
		if !slices.Contains(kind.Roles, name) && name != client {
			return nil, fmt.Errorf("%s has no role %q", kind.Protocol, name)
		}
	}
	has := [2]bool{}
	for _, name := range kind.Roles {
		side, together := sideOf(kind, name)
		if len(named) > 0 && !slices.Contains(named, name) || len(named) == 0 && has[side] {
			continue
		}
		has[side] = true
		if a, ok := p.(steps.IndependentConnections); ok && a.ConnectionsIndependent(name) {
			together = false
		}
		out = append(out, Role{Name: name, Side: side, Together: together, Monitors: steps.PassiveMonitorsOf(p, name)})
	}
	if client != "" && slices.Contains(named, client) {
		_, together := p.(steps.Correlator) // requests do not use the connections that they are about
		out = append(out, Role{Name: client, Side: Client, Together: together, NoTarget: true,
			Monitors: steps.PassiveMonitorsOf(p, client)})
	}
	return out, nil
}

// sideOf returns the side of the targets of a role: a page, like any target that dials, is a client. together: the
// connections belong to one target. Those of a page do, because its requests and its streams are separate connections.
func sideOf(kind target.Kind, role string) (side Side, together bool) {
	p := kind.New()
	p.Role = role
	switch {
	case p.Dials():
		return Client, false
	case slices.Equal(kind.Drivers, []string{target.Browser}):
		return Client, true
	}
	return Server, true
}

// judgedRole is a Role with the data that its tapes need.
type judgedRole struct {
	Role
	*Codec
}

func newRole(r Role, o Options, ledger *verdict.Ledger, base string) *judgedRole {
	profile := *o.Profile
	if profile.Role = r.Name; r.NoTarget { // the client of such a target, whose profile has the wire names
		profile.Role = o.Protocol.Kind().Roles[0]
	}
	return &judgedRole{Role: r, Codec: newCodec(o.Protocol, &profile, ledger, o.Strict, base)}
}

// seesMirrored reports whether the tester of the role is at the server's end.
func (r *judgedRole) seesMirrored() bool { return r.Side == Client && !r.NoTarget }

// observe returns what the tester of the role would have: see Codec.Observed.
func (r *judgedRole) observe(records []transcript.Record) (out []transcript.Record, filters bool) {
	if r.NoTarget {
		return records, false
	}
	return r.Observed(records)
}
