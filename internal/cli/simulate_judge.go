package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"parley/features/verdict"
	"parley/simulator/console"
	"parley/simulator/counterpart"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/target"
	"parley/transport/transcript"
)

// between is a play between a program and somebody's server, with both sides judged, each by the messages that it
// received and sent: a proxy behind the play judges the server, and one before it, or the play itself, the program. So
// neither is blamed for what was held, edited or dropped between them.
type between struct {
	o     proxy.Options                              // of both proxies together
	found func(f steps.Failure, r transcript.Record) // gets findings; may be nil
	front *proxy.Proxy
	back  *proxy.Proxy
	p     console.Player // between them

	ending  sync.Mutex // held while proxy.Options.Ended is called
	mu      sync.Mutex
	changed chan struct{} // closed and replaced when an outcome has changed
}

// namesAt is the profile of a server of which only the URL is known.
func namesAt(kind target.Kind, url string) *target.Profile {
	p := kind.New()
	p.Protocol, p.Name, p.URL = kind.Protocol, url, url
	if kind.Locate != nil && !slices.Contains(kind.Drivers, target.Browser) {
		kind.Locate(p) // a URL may have the path of the socket
	}
	return p
}

// judgedRoles returns the roles that are judged on one side.
func (b *between) judgedRoles(side proxy.Side) []proxy.Role {
	return slices.DeleteFunc(slices.Clone(b.o.Roles), func(r proxy.Role) bool { return r.Side != side })
}

// openPlay opens the proxies, and a play between them, which the options describe apart from who answers.
func (b *between) openPlay(ctx context.Context, c counterpart.Options) (console.Player, error) {
	b.changed = make(chan struct{})
	var err error
	if b.back, err = proxy.Open(b.serverSideOptions()); err != nil {
		return nil, err
	}
	c.Between, c.Listen = true, ""
	c.Start = func(_ context.Context, mutant, _ string) (counterpart.Peer, error) {
		if mutant != "" {
			return counterpart.Peer{}, errors.New("your own server has no mutants")
		}
		return counterpart.Peer{URL: b.back.URL()}, nil
	}
	if b.p, err = openPlay(ctx, c); err != nil {
		return nil, errors.Join(err, b.back.Close())
	}
	if b.front, err = proxy.Open(b.programSideOptions()); err != nil {
		b.p.Close()
		return nil, errors.Join(err, b.back.Close())
	}
	return &judgedPlay{b.p, b}, nil
}

// sideOptions returns the options of the proxy that judges a side.
func (b *between) sideOptions(side proxy.Side) proxy.Options {
	o := b.o
	o.Roles = b.judgedRoles(side)
	o.Found = func(f proxy.Found) {
		if b.o.Found != nil {
			b.o.Found(f)
		}
		if b.found != nil {
			b.found(f.Failure, f.Record)
		}
	}
	o.Judged = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		close(b.changed)
		b.changed = make(chan struct{})
	}
	o.Ended = func(e proxy.Ended) {
		b.ending.Lock()
		defer b.ending.Unlock()
		if b.o.Ended != nil {
			b.o.Ended(e)
		}
	}
	return o
}

// serverSideOptions are the options of the proxy next to the server. It records what passes, unless only the program is
// judged.
func (b *between) serverSideOptions() proxy.Options {
	o := b.sideOptions(proxy.Server)
	o.Listen, o.TLS, o.Token, o.Event = "", nil, "", nil
	if len(o.Roles) == 0 && len(b.o.Roles) > 0 {
		o.Record, o.Checked = nil, nil
	}
	return o
}

// programSideOptions are the options of the proxy next to the program.
func (b *between) programSideOptions() proxy.Options {
	o := b.sideOptions(proxy.Client)
	o.To, o.ToTLS, o.Header = b.p.URL(), nil, nil
	if b.serverSideOptions().Record != nil {
		o.Record, o.Checked = nil, nil
	}
	return o
}

// closeAll ends all connections, and judges what is not judged yet.
func (b *between) closeAll() error {
	err := b.front.Close()
	b.p.Close()
	return errors.Join(err, b.back.Close())
}

// Stats counts what has passed.
func (b *between) Stats() proxy.Stats {
	out, behind := b.front.Stats(), b.back.Stats()
	out.Broken += behind.Broken
	out.Unjudged += behind.Unjudged
	return out
}

// Owed returns what both sides owe, as proxy.Proxy.Owed does.
func (b *between) Owed() (list []steps.Owed, count int) {
	list, count = b.front.Owed()
	some, n := b.back.Owed()
	return steps.JoinOwed(list, some), count + n
}

// judgedPlay is a play between two proxies.
type judgedPlay struct {
	console.Player
	b *between
}

// URL implements console.Player.
func (p *judgedPlay) URL() string { return p.b.front.URL() }

// Redact implements console.Player: it removes the credentials in the requests that have passed.
func (p *judgedPlay) Redact(text string) string { return p.b.back.Redactor().String(text) }

// Judge implements console.Player.
func (p *judgedPlay) Judge() console.Judge {
	program := p.b.p.Judge()
	if len(p.b.o.Roles) == 0 && program == nil {
		return nil
	}
	return bothSides{p.b, program}
}

// Unjudged implements console.Player.
func (p *judgedPlay) Unjudged() string {
	if p.Judge() != nil {
		return ""
	}
	return p.b.p.Unjudged()
}

// Close implements console.Player.
func (p *judgedPlay) Close() { _ = p.b.closeAll() } // what is lost is a live finding

// bothSides is the judge of a play between two proxies.
type bothSides struct {
	b       *between
	program console.Judge // nil: a proxy judges the program, or nobody
}

// Role implements console.Judge.
func (j bothSides) Role() string {
	var names []string
	if j.program != nil {
		names = append(names, j.program.Role())
	}
	for _, r := range j.b.o.Roles {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// ProgramRole implements console.ProgramJudge.
func (j bothSides) ProgramRole() string {
	if j.program != nil {
		return j.program.Role()
	}
	return strings.Join(roleNames(j.b.judgedRoles(proxy.Client)), ", ")
}

// Clauses implements console.Judge.
func (j bothSides) Clauses() []string {
	var all []string
	if j.program != nil {
		all = append(all, j.program.Clauses()...)
	}
	for _, r := range j.b.o.Roles {
		all = append(all, r.Clauses()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Outcomes implements console.Judge.
func (j bothSides) Outcomes() map[string]verdict.Outcome {
	out := proxy.MergeWorst(j.b.front.Outcomes(), j.b.back.Outcomes())
	if j.program != nil {
		out = proxy.MergeWorst(out, j.program.Outcomes())
	}
	return out
}

// Untested implements console.Judge.
func (j bothSides) Untested() ([]string, string) {
	if j.program == nil {
		return nil, ""
	}
	ids, why := j.program.Untested()
	judged := j.Outcomes()
	return slices.DeleteFunc(ids, func(id string) bool { _, ok := judged[id]; return ok }), why
}

// Findings implements console.Judge: those of the proxies come by console.PlayOptions.Found.
func (j bothSides) Findings() []steps.Failure {
	if j.program == nil {
		return nil
	}
	return j.program.Findings()
}

// Check implements console.Judge.
func (j bothSides) Check() int {
	if j.program != nil {
		j.program.Check()
	}
	j.b.front.Check()
	j.b.back.Check()
	return 0
}

// Owed implements console.Judge.
func (j bothSides) Owed() (list []steps.Owed, count int, modelled bool) {
	if j.program != nil {
		list, count, modelled = j.program.Owed()
	}
	some, n := j.b.Owed()
	return steps.JoinOwed(list, some), count + n, modelled || j.b.front.Modelled() || j.b.back.Modelled()
}

// Follow implements console.Judge: the proxies judge by themselves.
func (j bothSides) Follow(ctx context.Context, tell func([]steps.Failure)) {
	var telling sync.Mutex
	inTurn := func(all []steps.Failure) {
		telling.Lock()
		defer telling.Unlock()
		tell(all)
	}
	var program sync.WaitGroup
	defer program.Wait()
	if j.program != nil {
		program.Go(func() { j.program.Follow(ctx, inTurn) })
	}
	for {
		j.b.mu.Lock()
		changed := j.b.changed
		j.b.mu.Unlock()
		inTurn(nil)
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
