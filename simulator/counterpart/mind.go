package counterpart

import (
	"cmp"
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

// decideMessage decides on a message that passes the gate.
func (p *Play) decideMessage(ctx context.Context, m gate.Message) gate.Decision {
	typ := p.o.TypeOf(m.Body)
	p.mu.Lock()
	mind := p.mindOf(typ)
	p.mu.Unlock()
	if m.From == p.programSide() {
		if mind == Script {
			return p.answerByScript(ctx, m, typ)
		}
		if mind == Ask && p.o.Between && (m.Kind == transcript.Frame || m.Kind == transcript.Request && len(m.Body) > 0) {
			return p.holdMessage(ctx, m, typ)
		}
		return gate.Decision{}
	}
	if mind == Ask && isHoldable(m) {
		return p.holdMessage(ctx, m, typ)
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

// isHoldable reports whether a message can be decided on.
func isHoldable(m gate.Message) bool {
	switch m.Kind {
	case transcript.Stream, transcript.Frame:
		return true
	case transcript.Response:
		return len(m.Body) > 0
	}
	return false
}

// answerByScript lets the script answer a message of the program.
func (p *Play) answerByScript(ctx context.Context, m gate.Message, typ string) gate.Decision {
	if status, is := p.posted(m); is {
		return p.takePosted(ctx, m, typ, status)
	}
	if m.Kind == transcript.Closed {
		defer p.forgetConn(m.Conn)
	}
	actions, matched, nearly := p.askScript(m, typ)
	peer := p.upstreamURL() != ""
	if m.Kind == transcript.Open {
		return p.acceptOpening(ctx, m, actions, matched, peer)
	}
	if m.Kind == transcript.Response { // the program answers a request of the script
		p.performActions(m, actions)
		return gate.Decision{}
	}
	if !matched {
		if typ != "" || m.Kind == transcript.Request || m.Kind == transcript.Frame || m.Kind == transcript.Stream {
			p.t.Remark(m.Conn, "no rule of the script matches %s%s", describeMessage(m, typ), describeMisses(nearly))
		}
		if peer {
			return gate.Decision{}
		}
	}
	if m.Kind != transcript.Request {
		p.performActions(m, actions)
		return gate.Decision{Drop: !p.isScriptClient()}
	}
	return p.answerRequest(ctx, m, actions, matched)
}

// posted reports whether an HTTP request carries a message of a client with an event stream, and the status that
// answers it.
func (p *Play) posted(m gate.Message) (status int, is bool) {
	if m.Kind != transcript.Request {
		return 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.script.Posted(m.Method, m.Path)
}

// takePosted lets the script answer the message in an HTTP request on the stream of its client, which an id in the path
// tells, or else one in the message.
func (p *Play) takePosted(ctx context.Context, m gate.Message, typ string, status int) gate.Decision {
	conn := cmp.Or(p.streamOf(strings.Split(m.Path, "/")), p.streamOf(idTexts(m.Body)))
	if conn == "" {
		return newReply(http.StatusNotFound, nil, []byte(`{"error":"no client has an event stream and such an id"}`))
	}
	m = gate.Message{Kind: transcript.Frame, From: m.From, Conn: conn, Body: m.Body}
	p.answerByScript(ctx, m, typ)
	return newReply(status, nil, []byte(`{}`))
}

// isScriptClient reports whether the script is a client, so that only the script receives the program's messages.
func (p *Play) isScriptClient() bool { return p.o.Connect != "" }

// describeMessage describes a message of the program for people.
func describeMessage(m gate.Message, typ string) string {
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

// describeMisses says why rules for such messages did not match.
func describeMisses(nearly []string) string {
	if len(nearly) == 0 {
		return ""
	}
	more := ""
	if len(nearly) > mostNearly {
		more, nearly = ", …", nearly[:mostNearly]
	}
	return " (" + strings.Join(nearly, ", ") + more + ")"
}

// askScript asks the script what to do about a message. nearly says why rules for such messages do not match.
func (p *Play) askScript(m gate.Message, typ string) (actions []script.Action, matched bool, nearly []string) {
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
	defer p.wakeWaiters()
	actions, matched = p.engine.On(script.Message{Party: m.Conn, Kind: kind, Method: m.Method, Path: m.Path,
		Type: typ, Body: m.Body})
	p.noteFailure(m.Conn, p.engine.Trace().Failed)
	return actions, matched, p.engine.Trace().Nearly
}

// acceptOpening accepts a stream or socket, unless the script refuses it or the bundled target answers.
func (p *Play) acceptOpening(ctx context.Context, m gate.Message, actions []script.Action, matched,
	peer bool) gate.Decision {
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
			if !waitFor(ctx, a.After) {
				return gate.Decision{Drop: true}
			}
			reply.Status, reply.Body = a.Status, a.Body
			return gate.Decision{Reply: &reply}
		case script.Accept:
			if !waitFor(ctx, a.After) {
				return gate.Decision{Drop: true}
			}
			p.performActions(m, actions[i+1:])
			return gate.Decision{Reply: &reply}
		}
	}
	p.performActions(m, actions)
	if p.isScriptClient() || peer && !matched {
		return gate.Decision{}
	}
	return gate.Decision{Reply: &reply}
}

// answerRequest answers an HTTP request by a script: actions before the response are carried out first. Without a
// response of the script, the answer is 200 and an empty object, or 404 if no rule has matched.
func (p *Play) answerRequest(ctx context.Context, m gate.Message, actions []script.Action, matched bool) gate.Decision {
	for i, a := range actions {
		if a.Do != script.Respond {
			continue
		}
		done := p.performActions(m, actions[:i])
		select {
		case <-done:
		case <-ctx.Done():
			return gate.Decision{Drop: true}
		}
		if !waitFor(ctx, a.After) {
			return gate.Decision{Drop: true}
		}
		p.performActions(m, actions[i+1:])
		return newReply(a.Status, a.Header, a.Body)
	}
	p.performActions(m, actions)
	if !matched {
		return newReply(http.StatusNotFound, nil, []byte(`{"error":"no rule of the script matches"}`))
	}
	return newReply(http.StatusOK, nil, []byte(`{}`))
}

func newReply(status int, header map[string]string, body []byte) gate.Decision {
	h := http.Header{"Content-Type": {"application/json"}}
	for name, value := range header {
		h.Set(name, value)
	}
	return gate.Decision{Reply: &gate.Message{Status: status, Header: h, Body: body}}
}
