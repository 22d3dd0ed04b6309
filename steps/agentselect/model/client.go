package model

import (
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// Client lists the monitors that judge the client, which is not a target of a run. They do not judge whether an
// agentId is well formed: the source lets clients send others, and specifies the answers (3.6).
func Client() []monitor.Monitor {
	return []monitor.Monitor{
		{Name: "switches-formed", Text: "a switch_agent names an agent and, if it names a session, does so by a string",
			Clauses: []string{"AS-077", "AS-078", "AS-116"}, Passive: true, PerRecord: true, Check: switchesFormed},
		{Name: "abort-before-retry", Text: "a switch that was refused as busy is tried again after an abort",
			Clauses: []string{"AS-067"}, Passive: true, Check: aborts},
	}
}

// switchesFormed judges each switch by itself. A null sessionId is not judged: many serializers write it for an absent
// one.
func switchesFormed(t []transcript.Record) (out []verdict.Finding) {
	for _, r := range t {
		if r.Dir != transcript.Sent || r.Event == nil || r.Event.Type != vocab.SwitchAgentType {
			continue
		}
		data, ok := r.Event.Data.(map[string]any)
		if !ok {
			continue
		}
		_, agent := data[vocab.AgentID].(string)
		session, named := data[vocab.SessionID]
		_, text := session.(string)
		expects := func(ok bool, expected string, clauses ...string) {
			f := verdict.Finding{Clauses: clauses, OK: ok, At: r.N}
			if !ok {
				f.Expected, f.Observed = expected, monitor.Describe(r)
			}
			out = append(out, f)
		}
		expects(agent, "agentId, a string", "AS-077", "AS-116")
		switch {
		case text:
			expects(true, "", "AS-078", "AS-116")
		case named && session != nil:
			expects(false, "sessionId, a string, or none", "AS-116")
		}
	}
	return out
}

// heard is the time after which a client has certainly received what was sent to it.
const heard = time.Second

// refused is a switch that was refused as busy.
type refused struct {
	agent string        // that was asked for
	at    time.Duration // of the refusal; 0: none has come
	abort bool          // it was followed by an abort
}

// aborts judges a connection after a switch was refused as busy. Any message in between that may have ended the task,
// or shown that it ended, ends the judgement.
func aborts(t []transcript.Record) (out []verdict.Finding) {
	conns := map[string]*refused{}
	for _, r := range t {
		c := conns[r.Conn]
		switch {
		case r.Conn == "" || r.Dir == transcript.Noted:
		case r.Kind == transcript.Open, r.Kind == transcript.Closed, len(conns) > maxKept:
			delete(conns, r.Conn)
		case r.Event == nil:
		case r.Dir == transcript.Received:
			c.event(r)
		case r.Event.Type == vocab.SwitchAgentType:
			agent := text(r, vocab.AgentID)
			if c != nil && c.at > 0 && c.agent == agent {
				out = append(out, c.retried(r)...)
			}
			conns[r.Conn] = &refused{agent: agent}
		case r.Event.Type == vocab.AbortType:
			if c != nil {
				c.abort = true
			}
		default: // such as the answer to a question of the task
			delete(conns, r.Conn)
		}
	}
	return out
}

// event handles an event that the client receives: the refusal, or one that may have ended the task.
func (c *refused) event(r transcript.Record) {
	if c == nil || c.abort {
		return
	}
	switch r.Event.Type {
	case vocab.ErrorEvent:
		code, _ := member(r, vocab.ErrorCode)
		if c.at > 0 || code != any(vocab.AgentBusy) {
			*c = refused{}
			return
		}
		c.at = max(r.At, 1)
	case vocab.MessageEvent, vocab.ConfirmationRequestEvent, vocab.QuestionRequestEvent:
	default:
		*c = refused{}
	}
}

// retried judges the second attempt.
func (c *refused) retried(r transcript.Record) []verdict.Finding {
	switch {
	case c.abort:
		return []verdict.Finding{{Clauses: []string{"AS-067"}, OK: true, At: r.N}}
	case r.At-c.at < heard: // the refusal may not have arrived yet
		return nil
	}
	return []verdict.Finding{{Clauses: []string{"AS-067"}, At: r.N, Observed: monitor.Describe(r),
		Expected: "an abort before the switch that was refused as busy is tried again"}}
}
