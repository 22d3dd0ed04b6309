package counterpart

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"parley/internal/cut"
	"parley/internal/script"
	"parley/simulator/gate"
	"parley/transport/transcript"
	wire "parley/transport/wire/ws"
)

// handle decides on a message that passes the gate.
func (p *Play) handle(ctx context.Context, m gate.Message) gate.Decision {
	typ := p.o.TypeOf(m.Body)
	p.mu.Lock()
	mind := p.mindOf(typ)
	p.mu.Unlock()
	if m.From == p.program() {
		if mind == Script {
			return p.scripted(ctx, m, typ)
		}
		if mind == Ask && p.o.Between && (m.Kind == transcript.Frame || m.Kind == transcript.Request && len(m.Body) > 0) {
			return p.hold(ctx, m, typ)
		}
		return gate.Decision{}
	}
	if mind == Ask && holdable(m) {
		return p.hold(ctx, m, typ)
	}
	return gate.Decision{}
}

// mindOf returns the mind for messages of a type. The caller holds p.mu.
func (p *Play) mindOf(typ string) Mind {
	if m, ok := p.of[typ]; ok {
		return m
	}
	return p.mind
}

// holdable reports whether a message can be decided on.
func holdable(m gate.Message) bool {
	switch m.Kind {
	case transcript.Stream, transcript.Frame:
		return true
	case transcript.Response:
		return len(m.Body) > 0
	}
	return false
}

// scripted lets the script answer a message of the program.
func (p *Play) scripted(ctx context.Context, m gate.Message, typ string) gate.Decision {
	actions, matched, nearly := p.ask(m, typ)
	peer := p.upstream() != ""
	if m.Kind == transcript.Open {
		return p.opened(ctx, m, actions, matched, peer)
	}
	if m.Kind == transcript.Response { // the program answers a request of the script
		p.perform(m, actions)
		return gate.Decision{}
	}
	if !matched {
		if typ != "" || m.Kind == transcript.Request || m.Kind == transcript.Frame || m.Kind == transcript.Stream {
			p.t.Remark(m.Conn, "no rule of the script matches %s%s", name(m, typ), but(nearly))
		}
		if peer {
			return gate.Decision{}
		}
	}
	if m.Kind != transcript.Request {
		p.perform(m, actions)
		return gate.Decision{Drop: !p.ours()}
	}
	return p.answer(ctx, m, actions, matched)
}

// ours reports whether the script is a client, so that only the script receives the program's messages.
func (p *Play) ours() bool { return p.o.Connect != "" }

// name describes a message of the program for people.
func name(m gate.Message, typ string) string {
	switch {
	case m.Kind == transcript.Request:
		return strings.TrimSpace(m.Method + " " + m.Path + " " + typ)
	case typ != "":
		return typ
	}
	return fmt.Sprintf("the message %q, which has no type", cut.Bytes(m.Body, 80))
}

// mostNearly bounds the rules that a remark names.
const mostNearly = 3

// but says why rules for such messages did not match.
func but(nearly []string) string {
	if len(nearly) == 0 {
		return ""
	}
	more := ""
	if len(nearly) > mostNearly {
		more, nearly = ", …", nearly[:mostNearly]
	}
	return " (" + strings.Join(nearly, ", ") + more + ")"
}

// ask asks the script what to do about a message. nearly says why rules for such messages do not match.
func (p *Play) ask(m gate.Message, typ string) (actions []script.Action, matched bool, nearly []string) {
	kinds := map[transcript.Kind]string{transcript.Open: "open", transcript.Request: "request",
		transcript.Closed: "close", transcript.Response: "response"}
	kind := kinds[m.Kind]
	if kind == "" {
		kind = "message"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.engine == nil {
		return nil, false, nil
	}
	defer p.tell()
	actions, matched = p.engine.On(script.Message{Party: m.Conn, Kind: kind, Method: m.Method, Path: m.Path,
		Type: typ, Body: m.Body})
	p.note(m.Conn, p.engine.Trace().Failed)
	return actions, matched, p.engine.Trace().Nearly
}

// opened accepts a stream or socket, unless the script refuses it or the bundled target answers.
func (p *Play) opened(ctx context.Context, m gate.Message, actions []script.Action, matched, peer bool) gate.Decision {
	reply := gate.Message{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}}
	if strings.EqualFold(m.Header.Get("Upgrade"), "websocket") {
		reply.Status = http.StatusSwitchingProtocols
		if offered := wire.Offered(m.Header); len(offered) > 0 {
			reply.Header = http.Header{"Sec-Websocket-Protocol": {offered[0]}}
		}
	}
	for i, a := range actions {
		switch a.Do {
		case script.Refuse:
			if !wait(ctx, a.After) {
				return gate.Decision{Drop: true}
			}
			reply.Status, reply.Body = a.Status, a.Body
			return gate.Decision{Reply: &reply}
		case script.Accept:
			if !wait(ctx, a.After) {
				return gate.Decision{Drop: true}
			}
			p.perform(m, actions[i+1:])
			return gate.Decision{Reply: &reply}
		}
	}
	p.perform(m, actions)
	if p.ours() || peer && !matched {
		return gate.Decision{}
	}
	return gate.Decision{Reply: &reply}
}

// answer answers an HTTP request by a script: actions before the response are carried out first. Without a response of
// the script, the answer is 200 and an empty object, or 404 if no rule has matched.
func (p *Play) answer(ctx context.Context, m gate.Message, actions []script.Action, matched bool) gate.Decision {
	for i, a := range actions {
		if a.Do != script.Respond {
			continue
		}
		done := p.perform(m, actions[:i])
		select {
		case <-done:
		case <-ctx.Done():
			return gate.Decision{Drop: true}
		}
		if !wait(ctx, a.After) {
			return gate.Decision{Drop: true}
		}
		p.perform(m, actions[i+1:])
		return reply(a.Status, a.Header, a.Body)
	}
	p.perform(m, actions)
	if !matched {
		return reply(http.StatusNotFound, nil, []byte(`{"error":"no rule of the script matches"}`))
	}
	return reply(http.StatusOK, nil, []byte(`{}`))
}

func reply(status int, header map[string]string, body []byte) gate.Decision {
	h := http.Header{"Content-Type": {"application/json"}}
	for name, value := range header {
		h.Set(name, value)
	}
	return gate.Decision{Reply: &gate.Message{Status: status, Header: h, Body: body}}
}
