package model

import (
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// subject is what rows of tests are about: some clauses of the model of a role.
type subject struct {
	role, clauses string
}

// subjects of a run. Those of a host are those of a relay too where the harness plays a host.
var subjects = map[string]subject{
	"envelopes": {role: vocab.Host, clauses: form},
	"answers":   {role: vocab.Host, clauses: "EA-023a"},
	"errors":    {role: vocab.Host, clauses: "EA-069 EA-070 EA-084"},
	"host-messages": {role: vocab.Host, clauses: `EA-039 EA-043 EA-044 EA-045 EA-048 EA-052a EA-056 EA-056a EA-057 EA-058
		EA-059 EA-061 EA-062 EA-065 EA-067`},
	"no-backend-data":      {role: vocab.Host, clauses: "EA-015 EA-102"},
	"failures":             {role: vocab.Host, clauses: "EA-104"},
	"one-answer":           {role: vocab.Host, clauses: "EA-104"},
	"nothing-to-act-on":    {role: vocab.Host, clauses: "EA-082"},
	"agent-replies":        {role: vocab.Agent, clauses: "EA-023a"},
	"agent-joins-first":    {role: vocab.Agent, clauses: "EA-026"},
	"agent-messages":       {role: vocab.Agent, clauses: "EA-027 EA-031 EA-032 EA-033 EA-034 EA-035 EA-036 EA-037"},
	"agent-ids":            {role: vocab.Agent, clauses: "EA-022b"},
	"agent-calls":          {role: vocab.Agent, clauses: "EA-081a EA-096a"},
	"agent-resynchronises": {role: vocab.Agent, clauses: "EA-076"},
	"agent-connection":     {role: vocab.Agent, clauses: "EA-016 EA-103 EA-106"},
}

// foreignSubjects are those of foreign traffic.
var foreignSubjects = map[string]subject{
	"forms": {role: vocab.Host, clauses: form},
	"joins": {role: vocab.Relay, clauses: "EA-028 EA-029 EA-030"},
	"codes": {role: vocab.Host, clauses: "EA-069 EA-070 EA-084"},
	"answers": {role: vocab.Host, clauses: `EA-004 EA-005 EA-006 EA-007 EA-023a EA-038 EA-041 EA-046 EA-047
		EA-060 EA-063 EA-068 EA-077a`},
	"failures":  {role: vocab.Host, clauses: "EA-049 EA-074 EA-104 EA-105"},
	"sessions":  {role: vocab.Host, clauses: "EA-011 EA-042 EA-064"},
	"tools":     {role: vocab.Host, clauses: "EA-079 EA-080 EA-081 EA-082 EA-096"},
	"states":    {role: vocab.Host, clauses: "EA-054 EA-072 EA-073"},
	"notes":     {role: vocab.Host, clauses: "EA-008 EA-008a"},
	"refusals":  {role: vocab.Host, clauses: "EA-020 EA-024a EA-078"},
	"admission": {role: vocab.Relay, clauses: "EA-020 EA-023a EA-024a"},
	"agents":    {role: vocab.Agent, clauses: "EA-022b EA-026 EA-076 EA-081a EA-096a"},
}

// judge returns the findings on a subject.
func (s subject) judge(o obligation.Observer, t []transcript.Record) (out []verdict.Finding) {
	role := s.role
	if role == vocab.Host && slices.ContainsFunc(t, func(r transcript.Record) bool { return r.Conn == "host" }) {
		role = vocab.Relay
	}
	for _, f := range obligation.Judge(New(role, o), t) {
		f.Clauses = slices.DeleteFunc(slices.Clone(f.Clauses), func(id string) bool {
			return !slices.Contains(strings.Fields(s.clauses), id)
		})
		if len(f.Clauses) > 0 {
			out = append(out, f)
		}
	}
	return out
}

func set(ids string) map[string]bool {
	out := map[string]bool{}
	for _, id := range strings.Fields(ids) {
		out[id] = true
	}
	return out
}

// judged returns which clauses findings keep and break. A clause may be both.
func judged(found []verdict.Finding) (kept, broken map[string]bool) {
	kept, broken = map[string]bool{}, map[string]bool{}
	for _, f := range found {
		for _, id := range f.Clauses {
			if f.OK {
				kept[id] = true
			} else {
				broken[id] = true
			}
		}
	}
	return kept, broken
}
