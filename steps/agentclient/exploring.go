package agentclient

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"parley/steps"
)

// Explored implements steps.Explorer.
func (Protocol) Explored() (out []string) {
	for _, id := range strings.Fields(`AC-006 AC-007 AC-008 AC-009 AC-012 AC-013 AC-014 AC-018 AC-019 AC-020 AC-021 AC-022
		AC-023 AC-024 AC-030 AC-031 AC-032 AC-033 AC-034 AC-035 AC-036 AC-037 AC-038 AC-039 AC-040 AC-041 AC-042 AC-043
		AC-044 AC-045 AC-046 AC-047 AC-048 AC-049 AC-050 AC-051 AC-052 AC-053 AC-054 AC-055 AC-056 AC-057 AC-058 AC-059
		AC-060 AC-061 AC-066 AC-068 AC-071 AC-072 AC-073 AC-075 AC-079 AC-085 AC-086 AC-087 AC-088 AC-089 AC-090 AC-091 AC-094
		AC-095 AC-096 AC-097 AC-100 AC-101 AC-102 AC-103 AC-104 AC-105 AC-106 AC-108 AC-109 AC-111 AC-116 AC-119 AC-121
		AC-122 AC-124`) {
		out = append(out, "@"+id)
	}
	return out
}

// What the server of a sequence lists.
var (
	usualAgents = []string{"General", "Debugger", "Code Reviewer"}
	fewerAgents = []string{"Debugger", "Planner"}
)

// prompts are what a page shows of a refusal, or how it begins.
var prompts = map[string]string{
	"invalid_agent_id":        "主代理 ID 不能为空",
	"invalid_agent_id_format": "主代理 ID 格式错误",
	"agent_busy":              "当前会话有进行中的任务",
	"session_not_found":       "会话不存在,请先创建或加载会话",
}

// moves are what a person or the server does next; those that are listed first are drawn most often.
var moves = strings.Fields(`choose confirmed refused list switch new gone busy lost choose empty few unknown away`)

// visit is a person's visit to a page, as far as a sequence has come.
type visit struct {
	session bool
	agents  []string        // in the list
	current string          // the name of the agent that is selected
	wished  string          // the agent preselected for the next session
	seen    map[string]bool // prompts that were shown: whether the same one comes again, nobody can tell by looking
}

// Explore implements steps.Explorer: a person connects, chooses agents and asks for sessions, and the server answers,
// lists other agents, and goes away.
func (Protocol) Explore(draw *rapid.T) []string {
	v := &visit{agents: usualAgents, current: usualAgents[0], seen: map[string]bool{}}
	lines := []string{"Given a connected page"}
	if v.session = rapid.Bool().Draw(draw, "session"); v.session {
		lines = []string{"Given a page with a session"}
	}
	for range rapid.IntRange(4, 10).Draw(draw, "moves") {
		what := rapid.SampledFrom(moves).Draw(draw, "what")
		lines = append(lines, v.move(what, rapid.IntRange(0, 1000).Draw(draw, "n"))...)
	}
	if v.wished != "" {
		return append(lines, v.begins()...)
	}
	return append(lines, v.listed()...)
}

// move returns the lines of a move, with what a page owes for it; none if it cannot be made. What a list or a loss does
// to a preselected agent the document leaves open, so that a session follows the choice, or another choice.
func (v *visit) move(what string, n int) []string {
	if v.wished != "" {
		if what != "choose" && what != "refused" {
			return v.begins()
		}
		return v.preselects(n)
	}
	switch what {
	case "list":
		v.current = v.agents[n%len(v.agents)]
		id := strings.ReplaceAll(strings.ToLower(v.current), " ", "_")
		log := "And the log shows the list of %d agents with %q current, with the server's time"
		return append(v.listed(), fmt.Sprintf(log, len(v.agents), id))
	case "few":
		v.agents, v.current = fewerAgents, fewerAgents[n%2]
		return append(v.listed(), `And the options are "Debugger" and "Planner"`)
	case "empty":
		lines := []string{"When the server lists no agents", "Then the selector is disabled",
			`And the only option is "(暂无可用主代理)", and it is disabled`}
		v.agents, v.current = usualAgents, usualAgents[n%3]
		return append(v.prompted(lines, "暂无可用的主代理,请检查服务端配置"), v.listed()...)
	case "unknown":
		lines := []string{`When the server lists the agents, with "my_old_agent" current`,
			`Then the first option is "未知/已失效 (my_old_agent)"`}
		v.agents, v.current = usualAgents, usualAgents[n%3]
		return append(v.prompted(lines, "当前主代理已失效,请重新选择可用主代理"), v.listed()...)
	case "lost":
		lines := []string{"When the server " + []string{"ends", "resets"}[n%2] + " the stream"}
		return append(lines, v.back("the page reconnects")...)
	case "away":
		return append([]string{"When the user disconnects", "Then the page closes the stream"},
			v.back("the user connects", "Then the page requests the event stream", "When the server sends connected")...)
	case "new":
		return v.begins()
	}
	if v.session {
		return v.switches(what, n)
	}
	return v.preselects(n)
}

// listed returns the lines of a list with the current agent.
func (v *visit) listed() []string {
	those := "the agents"
	if !slices.Equal(v.agents, usualAgents) {
		those = `"` + strings.Join(v.agents, `" and "`) + `"`
	}
	return []string{fmt.Sprintf("When the server lists %s, with %q current", those, v.current),
		fmt.Sprintf("Then %q is selected", v.current), "And the selector is enabled"}
}

// prompted adds that a prompt is shown, if it was not shown before.
func (v *visit) prompted(lines []string, text string) []string {
	if v.seen[text] {
		return lines
	}
	v.seen[text] = true
	return append(lines, fmt.Sprintf("And the page shows the prompt %q", text))
}

// back returns the lines after a loss of the connection, up to the next session: a page may have forgotten the last
// one, or not.
func (v *visit) back(how ...string) []string {
	lines := []string{"Then the selector is disabled", `And the only option is "(未连接)", and it is disabled`,
		"When " + how[0]}
	lines = append(append(lines, how[1:]...), v.listed()...)
	if v.session {
		lines = append(lines, v.begins()...)
	}
	return lines
}

// begins returns the lines of a new session.
func (v *visit) begins() []string {
	lines := []string{"When the user asks for a new session", "Then the page requests a session"}
	if v.wished != "" {
		lines[1] += fmt.Sprintf(" with the initial agent %q", v.wished)
		lines, v.current = append(lines, "And it has requested no switch"), v.wished
	}
	v.session, v.wished = true, ""
	return append(lines, v.listed()...)
}

// other returns an agent of the list that is not the current one.
func (v *visit) other(n int) string {
	others := slices.DeleteFunc(slices.Clone(v.agents), func(a string) bool { return a == v.current })
	return others[n%len(others)]
}

// preselects returns the lines of a choice without a session.
func (v *visit) preselects(n int) []string {
	v.wished = v.other(n)
	v.current = v.wished
	lines := []string{fmt.Sprintf("When the user chooses %q", v.wished), fmt.Sprintf("Then %q is selected", v.wished)}
	return append(v.prompted(lines, fmt.Sprintf("已预选主代理: %s,新建会话时将自动使用该主代理", v.wished)), "And the selector is enabled")
}

// meanwhile is what may happen during a switch, and does not end it.
var meanwhile = []string{"", "", "the server sends undocumented events", `the server sends the chat message "hello"`,
	"the server sends a heartbeat", "the server lists"}

// switches returns the lines of a switch, and how it ends.
func (v *visit) switches(what string, n int) []string {
	to, log := v.other(n), n%5 == 0
	switch what {
	case "switch": // by the server
		return v.switched(to, log)
	case "busy":
		return append(v.busy(to), v.switched(to, log)...)
	}
	lines := []string{fmt.Sprintf("When the user chooses %q", to),
		fmt.Sprintf("Then the page requests a switch to %q", to), "And the selector is disabled during the switch"}
	if what == "choose" {
		lines = append(lines, "And the selector looks busy")
	}
	if also := meanwhile[n%len(meanwhile)]; also != "" {
		if also == "the server lists" {
			also, _ = strings.CutPrefix(v.listed()[0], "When ")
		}
		lines = append(lines, "When "+also, "Then the selector is still disabled")
	}
	switch {
	case what == "gone":
		return append(lines, v.gone(to)...)
	case what != "refused":
		return append(lines, v.switched(to, log)...)
	}
	code := []string{"agent_busy", "session_not_found", "invalid_agent_id", "invalid_agent_id_format"}[n%4]
	lines = append(lines, fmt.Sprintf("When the server refuses with %q", code))
	lines = append(v.prompted(lines, prompts[code]), "Then the selector is enabled",
		fmt.Sprintf("And %q is selected", v.current), "And the selector no longer looks busy")
	if log {
		log := "And the log shows the error %q with %q, with the server's time"
		lines = append(lines, fmt.Sprintf(log, code, prompts[code]))
	}
	return append(lines, "And it has requested no other switch")
}

// gone returns the lines of a refusal because an agent is there no more.
func (v *visit) gone(agent string) []string {
	others := slices.DeleteFunc([]string{"Planner", "General", "Code Reviewer"},
		func(a string) bool { return a == v.current || a == agent })
	v.agents = []string{v.current, others[0]}
	left := `"` + strings.Join(v.agents, `" and "`) + `"`
	return []string{`When the server refuses with "agent_not_found" and availableAgents ` + left,
		"Then the page names the agents " + left, "And the options are " + left,
		fmt.Sprintf("And %q is selected", v.current), "And the selector is enabled"}
}

// busy returns the lines of a switch that is refused while the session has a turn, up to the next request for it.
func (v *visit) busy(to string) []string {
	choose := []string{fmt.Sprintf("the user chooses %q", to), fmt.Sprintf("Then the page requests a switch to %q", to)}
	return []string{`When the user has sent "hello"`,
		"And the server has begun to answer, in pieces, after an echo of the message", "When " + choose[0], choose[1],
		`When the server refuses with "agent_busy"`, fmt.Sprintf("Then %q is selected", v.current), "When the user aborts",
		"Then the page requests an abort", "When the server ends the turn with cancelled", "And " + choose[0], choose[1]}
}

// switched returns the lines of a switch that the server announces.
func (v *visit) switched(to string, log bool) []string {
	lines := []string{fmt.Sprintf("When the server switches to %q", to), "Then the selector is enabled",
		fmt.Sprintf("And %q is selected", to), fmt.Sprintf("And the chat announces the switch from %q to %q", v.current, to)}
	if log {
		shows := "And the log shows the switch from %q to %q, with the server's time"
		lines = append(lines, fmt.Sprintf(shows, v.current, to))
	}
	v.current = to
	return lines
}

var _ steps.Explorer = Protocol{}
