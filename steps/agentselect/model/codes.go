package model

import (
	"slices"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
)

// long is the length of an agentId from which a server may refuse its form: the source names no limit.
const long = 256

// codesFor returns the codes of which a switch of a client of the harness must be refused with one; none if it is not
// certain that it must be refused.
func (m *Model) codesFor(a *ask) (codes []string) {
	id, is := a.id.(string)
	switch legal := vocab.IDPattern.MatchString(id); {
	case !is || id != "" && strings.TrimSpace(id) == "":
		codes = []string{vocab.InvalidAgentID, vocab.InvalidAgentIDFormat}
	case id == "":
		codes = []string{vocab.InvalidAgentID}
	case !legal:
		codes = []string{vocab.InvalidAgentIDFormat}
	case m.unlisted(a):
		if codes = []string{vocab.AgentNotFound}; len(id) >= long {
			codes = append(codes, vocab.InvalidAgentIDFormat)
		}
	}
	if m.ours() && a.elsewhere() {
		return nil
	}
	certain := m.unbound(a) || m.nowhere(a)
	if certain || a.of == nil && len(codes) > 0 {
		codes = append(codes, vocab.SessionNotFound)
	}
	if s := a.of; s != nil && (m.ours() && a.held && (s.holds || s.waiting) || len(codes) > 0 && s.running) {
		codes = append(codes, vocab.AgentBusy)
	}
	return codes
}

// nowhere reports whether a switch names a session that no client of the harness has.
func (m *Model) nowhere(a *ask) bool {
	return m.ours() && a.named && a.of == nil && m.sessions[a.session] == nil
}

// forCodes returns the clauses that require a refusal of a switch with one of some codes: all of them, and those that
// ask for a refusal at all.
func (m *Model) forCodes(a *ask, codes []string) (all, first []string) {
	switch id, is := a.id.(string); {
	case !is:
		return []string{"AS-077"}, []string{"AS-077"}
	case len(codes) > 1 && codes[0] == vocab.AgentNotFound:
		return []string{"AS-049", "AS-080"}, []string{"AS-049"}
	case len(codes) > 1:
		return []string{"AS-080"}, nil
	case codes[0] == vocab.AgentBusy:
		return []string{"AS-064", "AS-065", "AS-066", "AS-090", "AC-077", "AS-109", "AS-110", "AS-111", "AS-112", "AS-125"},
			m.ofBusy(a)
	case id == "":
		return []string{"AS-070", "AS-087"}, []string{"AS-070"}
	case codes[0] == vocab.InvalidAgentIDFormat:
		all = []string{"AS-073", "AS-076", "AS-080", "AS-088"}
		if lower := strings.ToLower(id); lower != id && vocab.IDPattern.MatchString(lower) {
			all = append(all, "AS-079", "AS-126")
		}
		return all, []string{"AS-073"}
	case codes[0] == vocab.AgentNotFound && m.removed:
		return []string{"AS-049", "AS-080", "AS-089", "AC-080"}, []string{"AS-049"}
	case codes[0] == vocab.AgentNotFound:
		return []string{"AS-049", "AS-080", "AS-089"}, []string{"AS-049"}
	case a.named:
		return []string{"AS-091", "AS-127"}, []string{"AS-091", "AS-127"}
	}
	all = []string{"AS-082", "AS-097", "AS-104", "AS-127"}
	if a.c.sought { // it has lost its session to another connection, or was refused it
		all = []string{"AS-094", "AS-095"}
	}
	return all, all
}

// ofBusy returns the clauses that ask for a refusal as busy. If there are other clients, it may have gone to one of
// them.
func (m *Model) ofBusy(a *ask) []string {
	if m.withOthers(a.c) {
		return []string{"AS-064", "AS-090", "AS-109", "AS-110", "AS-111", "AS-112", "AS-125"}
	}
	return []string{"AS-064", "AS-090"}
}

func oneOf(codes []string) string {
	return "an error event with errorCode " + strings.Join(codes, " or ")
}

// coded judges the code of the refusal of a switch that must be refused.
func (m *Model) coded(c *conn, a *ask, r transcript.Record, codes []string) {
	all, _ := m.forCodes(a, codes)
	code := text(r, vocab.ErrorCode)
	right := slices.Contains(codes, code)
	if id, is := a.id.(string); is && id == "" && code == vocab.AgentNotFound {
		all = append(all, "AS-076")
	}
	if right && code == vocab.AgentBusy {
		all = append(all, "AS-062")
	}
	if !right && m.alone(a.answers(code)...) && len(m.breaks(a, code)) > 0 {
		all = m.breaks(a, code)
	}
	m.judge(r, right, oneOf(codes), all...)
	id, is := a.id.(string)
	switch legal := vocab.IDPattern.MatchString(id); {
	case !is || legal && !right:
	case id == "":
		m.saysSo(r, vocab.InvalidAgentID, vocab.EmptyIDText, "AS-071")
	case legal && code == vocab.AgentNotFound:
		m.notFound(c, a, r, id)
	case !legal && strings.TrimSpace(id) != "":
		m.saysSo(r, vocab.InvalidAgentIDFormat, vocab.FormatIDText, "AS-074")
	}
}

// misspelt judges an error without a code of section 4.2 that answers a switch which must be refused.
func (m *Model) misspelt(a *ask, r transcript.Record, codes []string) {
	all, first := m.forCodes(a, codes)
	v, _ := member(r, vocab.ErrorCode)
	letters := func(code string) string {
		return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(code))
	}
	alike := slices.ContainsFunc(codes, func(one string) bool { return letters(one) == letters(text(r, vocab.ErrorCode)) })
	m.judge(r, isString(v), oneOf(codes), "AS-085")
	switch {
	case alike: // it is meant
		m.broken(r, oneOf(codes), append([]string{"AS-092"}, first...)...)
	case isString(v):
		m.broken(r, oneOf(codes), append(all, "AS-092")...)
	case !isString(a.id):
		m.broken(r, oneOf(codes), all...)
	}
}
