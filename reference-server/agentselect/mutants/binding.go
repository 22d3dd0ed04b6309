package mutants

import (
	"fmt"
	"regexp"
	"strings"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// bindingFaults bind sessions and connections incorrectly.
var bindingFaults = map[string]fault{
	"create-does-not-bind":   binding(agentselect.OnCreate, agentselect.Binding{Owner: true}),
	"create-takes-no-events": binding(agentselect.OnCreate, agentselect.Binding{Default: true}),
	"load-does-not-bind":     binding(agentselect.OnLoad, agentselect.Binding{}),
	"load-binds-events-only": binding(agentselect.OnLoad, agentselect.Binding{Owner: true, Release: true}),
	"load-keeps-old-default": binding(agentselect.OnLoad, agentselect.Binding{Owner: true, Default: true}),
	"load-keeps-old-owner":   binding(agentselect.OnLoad, agentselect.Binding{Default: true, Release: true}),
	"load-keeps-old-events":  loadKeepsEvents,
	"load-keeps-old-default-and-answers-owner": both(
		binding(agentselect.OnLoad, agentselect.Binding{Owner: true, Default: true}), elsewhere(refuses(), owner)),
	"bindings-dry-up": bindingsDryUp,
	"binding-is-used-up": telling(
		changed(confirms, func(m manager, to *connInfo, _ *event) { m.SetDefault(to.ID, "") })),
	"first-session-stays":   deciding(rules{Bind: keepsFirst(agentselect.OnCreate)}),
	"load-does-not-replace": deciding(rules{Bind: keepsFirst(agentselect.OnLoad)}),
	"binds-at-connect":      telling(changed(greets, bindsAtConnect)),
	"shares-one-session":    telling(changed(greets, sharesSession)),
}

func binding(when agentselect.Occasion, b agentselect.Binding) fault {
	return deciding(rules{Bind: func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		if how == when {
			return b
		}
		return correct.Bind(m, how, c, session)
	}})
}

// loadKeepsEvents also keeps sending a session's events to its former connection.
func loadKeepsEvents(o *options) {
	former := map[string]string{}
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		if owner := m.Owner(session); how == agentselect.OnLoad && owner != c.ID {
			former[session] = owner
		}
		return correct.Bind(m, how, c, session)
	}
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		if old := former[m.DefaultSession(to.ID)]; old != "" && !atOnce(ev) {
			send(old, ev)
		}
		send(to.ID, ev)
	}
}

// owner returns the connection that owns the asker's session.
func owner(m manager, asker connInfo) connInfo {
	if id := m.Owner(m.DefaultSession(asker.ID)); id != "" {
		asker.ID = id
	}
	return asker
}

// keepsFirst keeps an existing default session of a connection, on one occasion.
func keepsFirst(when agentselect.Occasion) func(manager, agentselect.Occasion, connInfo, string) agentselect.Binding {
	return func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		b := correct.Bind(m, how, c, session)
		b.Default = how != when || m.DefaultSession(c.ID) == ""
		return b
	}
}

// bindsAtConnect makes a session for every connection.
func bindsAtConnect(m manager, to *connInfo, _ *event) { m.SetDefault(to.ID, m.NewSession(*to)) }

// sharesSession binds every connection to the session created last.
func sharesSession(m manager, to *connInfo, _ *event) {
	if all := m.Sessions(); len(all) > 0 {
		m.SetDefault(to.ID, all[len(all)-1])
	}
}

// bindingsDryUp has room for a few bindings and never frees any.
func bindingsDryUp(o *options) {
	left := 4
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		if left--; left < 0 {
			return agentselect.Binding{Owner: true}
		}
		return correct.Bind(m, how, c, session)
	}
}

// defaultFaults use a wrong default agent.
var defaultFaults = map[string]fault{
	"url-agent-id": starting(
		fromQuery("agentId", "currentAgentId", "initialAgentId", "mainAgent", "agent_id")),
	"url-agent": starting(fromQuery("agent")),
	"url-agent-unannounced": both(starting(fromQuery("agentId")),
		with(lists, currentKey, func(eventData) any { return proto.General })),
	"default-is-last-switched": func(o *options) { startsWithLast(o) },
	"default-alternates":       startingInTurn(proto.General, proto.Debugger, proto.RequirementAnalyzer),
	"second-client-inherits":   secondInherits,
}

func starting(f func(c connInfo) string) fault { return deciding(rules{InitialAgent: f}) }

// fromQuery takes the agent from the stream's URL.
func fromQuery(keys ...string) func(c connInfo) string {
	return func(c connInfo) string {
		for _, key := range keys {
			if id := c.Query.Get(key); isBuiltin(id) {
				return id
			}
		}
		return proto.General
	}
}

// startingInTurn rotates the initial agent from connection to connection, as a server with several workers might.
func startingInTurn(agents ...string) fault {
	return func(o *options) {
		of := map[string]string{}
		o.Policy.InitialAgent = func(c connInfo) string {
			if of[c.ID] == "" {
				of[c.ID] = agents[len(of)%len(agents)]
			}
			return of[c.ID]
		}
	}
}

// startsWithLast starts all sessions with the target of the last switch by any client. It returns the location of
// that id.
func startsWithLast(o *options) *string {
	last := proto.General
	o.Policy.InitialAgent = func(connInfo) string { return last }
	o.Policy.Commit = committed(func(sw agentselect.Switch) { last = sw.AgentID })
	return &last
}

// committed calls f for every successful switch.
func committed(f func(sw agentselect.Switch)) func(agentselect.Switch, func(string)) {
	return func(sw agentselect.Switch, set func(string)) {
		correct.Commit(sw, set)
		if sw.Refusal == nil {
			f(sw)
		}
	}
}

// secondInherits starts a session with the agent of the newest open one.
func secondInherits(o *options) {
	newest := startsWithLast(o)
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		if greets(ev) && len(m.Connections()) == 1 {
			*newest = proto.General
		}
		if lists(ev) {
			ev.Data = ev.Data.With(currentKey, proto.General)
		}
		send(to.ID, ev)
	}
}

// idFaults misjudge agentId.
var idFaults = map[string]fault{
	"trims-ids":  cleaning(strings.TrimSpace),
	"folds-case": cleaning(strings.ToLower),
	"sanitises-ids": cleaning(
		func(id string) string { return regexp.MustCompile(`[^a-zA-Z0-9_-]`).ReplaceAllString(id, "") }),
	"cuts-at-nul":    cleaning(func(id string) string { id, _, _ = strings.Cut(id, "\x00"); return id }),
	"decodes-escape": cleaning(func(id string) string { return strings.ReplaceAll(id, "%67", "g") }),

	"unanchored-pattern":       pattern(`[a-z0-9_-]`),
	"pattern-without-end":      pattern(`^[a-z0-9_-]+`),
	"pattern-without-start":    pattern(`[a-z0-9_-]+$`),
	"dollar-before-newline":    pattern(`^[a-z0-9_-]+\n?$`),
	"multiline-pattern":        pattern(`(?m)^[a-z0-9_-]+$`),
	"case-insensitive-pattern": pattern(`(?i)^[a-z0-9_-]+$`),
	"unicode-lower-case":       pattern(`^[\p{Ll}0-9_-]+$`),
	"unicode-digits":           pattern(`^[a-z\p{Nd}_-]+$`),
	"dot-in-pattern":           pattern(`^[a-z0-9_.-]+$`),
	"range-in-pattern":         pattern(`^[a-z0-9+-_]+$`), // + to _ is a range with most punctuation and all capitals
	"blank-in-pattern":         pattern(`^[a-z0-9_ -]+$`),
	"no-hyphen-in-pattern":     pattern(`^[a-z0-9_]+$`),
	"no-digits-in-pattern":     pattern(`^[a-z_-]+$`),
	"no-underscore-in-pattern": pattern(`^[a-z0-9-]+$`),
	"identifier-pattern":       pattern(`^[a-z][a-z0-9_-]*$`),
	"limits-ids-to-16":         pattern(`^[a-z0-9_-]{1,16}$`),
	"limits-ids-to-64":         pattern(`^[a-z0-9_-]{1,64}$`),
	"two-characters-at-least":  pattern(`^[a-z0-9_-]{2,}$`),
	"existence-before-format":  checking(textOnly),
	"empty-is-malformed":       recoding("", proto.InvalidAgentIDFormat, proto.FormatIDText),
	"empty-is-unknown":         recoding("", proto.AgentNotFound, proto.NotFoundText("")),
	"malformed-is-invalid":     checking(malformedIsInvalid),
	"empty-means-default":      substituting(func(raw any) bool { return raw == nil || raw == "" }),
	"null-means-default":       substituting(func(raw any) bool { return raw == nil }),
	"falsy-means-default":      substituting(falsy),
	"stringifies-ids": misreading(
		proto.SwitchAgentType, func(msg message) { msg["agentId"] = javaScriptString(msg) }),
	"takes-the-only-element": misreading(proto.SwitchAgentType, unwrapList),
	"crash-text-on-null":     crashing(func(raw any) bool { return raw == nil }),
	"crash-text-on-number":   crashing(isNumber),
	"silent-on-number":       deafTo(isNumber),
	"crashes-on-number":      both(deafTo(isNumber), failingOn(isNumber)),
	"crashes-on-object":      both(deafTo(isObject), failingOn(isObject)),
}

// cleaning changes string ids before they are judged.
func cleaning(f func(id string) string) fault {
	return misreading(proto.SwitchAgentType, func(msg message) {
		if id, isString := msg["agentId"].(string); isString {
			msg["agentId"] = f(id)
		}
	})
}

func checking(f func(raw any) *refusal) fault { return deciding(rules{CheckID: f}) }

// pattern checks ids against another expression.
func pattern(expression string) fault {
	form := regexp.MustCompile(expression)
	return checking(func(raw any) *refusal {
		id, isString := raw.(string)
		switch {
		case !isString || id == "":
			return correct.CheckID(raw)
		case !form.MatchString(id):
			return &refusal{Code: proto.InvalidAgentIDFormat, Message: proto.FormatIDText}
		}
		return nil
	})
}

// textOnly accepts any string as an id.
func textOnly(raw any) *refusal {
	if id, isString := raw.(string); isString && id != "" {
		return nil
	}
	return correct.CheckID(raw)
}

// recoding refuses one id with another code and text.
func recoding(id, code, text string) fault {
	return checking(func(raw any) *refusal {
		if raw == id {
			return &refusal{Code: code, Message: text}
		}
		return correct.CheckID(raw)
	})
}

func malformedIsInvalid(raw any) *refusal {
	r := correct.CheckID(raw)
	if r != nil && r.Code == proto.InvalidAgentIDFormat {
		r.Code = proto.InvalidAgentID
	}
	return r
}

// substituting replaces some ids by the default agent, as `agentId || "general"` does.
func substituting(where func(raw any) bool) fault {
	return misreading(proto.SwitchAgentType, func(msg message) {
		if where(msg["agentId"]) {
			msg["agentId"] = proto.General
		}
	})
}

func falsy(raw any) bool {
	return raw == nil || raw == "" || raw == false || raw == agentselect.Number("0")
}

func isNumber(raw any) bool {
	switch raw.(type) {
	case agentselect.Number, float64: // from the wire, or from a peeked body
		return true
	}
	return false
}

func isObject(raw any) bool { _, is := raw.(map[string]any); return is }

// javaScriptString is String(msg.agentId).
func javaScriptString(msg message) string {
	raw, present := msg["agentId"]
	switch v := raw.(type) {
	case nil:
		if !present {
			return "undefined"
		}
		return "null"
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = javaScriptString(message{"agentId": part})
		}
		return strings.Join(parts, ",")
	case map[string]any:
		return "[object Object]"
	}
	return fmt.Sprint(raw)
}

func unwrapList(msg message) {
	if list, is := msg["agentId"].([]any); is && len(list) == 1 {
		msg["agentId"] = list[0]
	}
}

// crashing answers some ids with the text of an exception, without a code.
func crashing(where func(raw any) bool) fault {
	const text = "Cannot read properties of undefined (reading 'trim')"
	return both(
		checking(func(raw any) *refusal {
			if where(raw) {
				return &refusal{Message: text}
			}
			return correct.CheckID(raw)
		}),
		rewriting(refuses(""), func(eventData) eventData { return eventData{"message": text} }),
	)
}

// deafTo ignores switches to some ids.
func deafTo(where func(raw any) bool) fault {
	return dropping(proto.SwitchAgentType, func(_ manager, _ connInfo, msg message) bool { return where(msg["agentId"]) })
}
