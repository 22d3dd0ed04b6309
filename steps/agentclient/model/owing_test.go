package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	texts "parley/protocol/agentclient"
	"parley/steps/obligation"
)

var (
	connects = "act connect\n"
	stream   = "> stream {}\n"
	wants    = "act new-session\n"
	chooses  = "choose DEBUGGER Agent\n"
	busyText = `a prompt for agent_busy: "` + texts.BusyPrompt + `"`
	fresh    = connects + stream + ready
	bound    = fresh + wants + "> session_create {}\n" + `= 200 {"sessionId":"s1"}` + "\n"
	shown    = `look *"GENERAL Agent" "DEBUGGER Agent" "CODE_REVIEWER Agent"` + "\n"
	chat1    = `主代理已切换: GENERAL Agent → x`
)

// owingRows are what TestOwing checks.
var owingRows = []struct {
	reason, in string
	want       []string
}{
	{"nothing", "", nil},
	{"a stream", connects, []string{"1 a request for the event stream"}},
	{"it has come", connects + stream, nil},
	{"the user could not click", connects + "! 1", nil},
	{"a list", fresh, []string{"5 an option for each agent, 3 in all",
		`5 "GENERAL Agent" selected, in a selector that is enabled`}},
	{"it is shown", fresh + shown, nil},
	{"it is shown in part", fresh + `look *"GENERAL Agent"` + "\n",
		[]string{"5 an option for each agent, 3 in all"}},
	{"an empty list", connects + stream + head + `< agent_list {"agents":[],"currentAgentId":null}`,
		[]string{`5 the option "` + texts.NoAgents + `"`, `5 a prompt: "` + texts.NoAgentsPrompt + `"`}},
	{"a current agent that is not listed", connects + stream + head + `< agent_list {"agents":` + agents("a") +
		`,"currentAgentId":"old"}`, []string{"5 an option for each agent, 1 in all",
		`5 a prompt: "` + texts.StalePrompt + `"`}},
	{"an agent that is not found", bound + shown + asks("debugger", "s1") + refused("agent_not_found",
		`,"message":"m","availableAgents":`+agents("general")), []string{`11 a prompt for agent_not_found: "m"`,
		"11 a selector that is enabled", "11 an option for each agent, 1 in all"}},
	{"a preselection", fresh + shown + chooses,
		[]string{`7 a prompt: "` + fmt.Sprintf(texts.Preselected, "DEBUGGER Agent") + `"`}},
	{"a session", fresh + shown + wants, []string{"7 a request for a new session"}},
	{"a switch", bound + shown + chooses, []string{`10 a switch_agent for "debugger"`}},
	{"the choice of the current agent", bound + shown + "choose GENERAL Agent", nil},
	{"another choice while a switch is under way", bound + shown + chooses + asks("debugger", "s1") + shown +
		"choose GENERAL Agent", []string{"11 a selector that is disabled"}},
	{"a switch is under way", bound + shown + chooses + asks("debugger", "s1"),
		[]string{"11 a selector that is disabled"}},
	{"a refusal", bound + shown + asks("debugger", "s1") + refused("agent_busy", ""),
		[]string{"11 " + busyText, "11 a selector that is enabled"}},
	{"its prompt was shown", bound + shown + asks("debugger", "s1") + refused("agent_busy", "") + shown +
		"look *\"GENERAL Agent\" | " + texts.BusyPrompt, nil},
	{"a dialog", bound + shown + asks("debugger", "s1") + refused("agent_busy", "") + shown + "dialog " +
		texts.BusyPrompt, nil},
	{"a prompt is owed again", bound + shown + asks("debugger", "s1") + refused("agent_busy", "") +
		"look *\"GENERAL Agent\" | " + texts.BusyPrompt + "\n" + refused("agent_busy", "") +
		"look *\"GENERAL Agent\" | " + texts.BusyPrompt, []string{"13 " + busyText}},
	{"a success", bound + shown + asks("debugger", "s1") + switched("general", "debugger"),
		[]string{`11 "DEBUGGER Agent" selected, in a selector that is enabled`,
			`11 the message "` + chat1 + `" in the chat`}},
	{"an abort", bound + shown + "act abort", []string{"10 an abort for session s1"}},
	{"an abort without a session", fresh + shown + "act abort", nil},
	{"the end of the stream", fresh + shown + "closed",
		[]string{`7 the option "(未连接)", in a selector that is disabled`}},
}

// TestOwing checks what a page owes at the end of a transcript: by which record, and what.
func TestOwing(t *testing.T) {
	for _, r := range owingRows {
		t.Run(r.reason, func(t *testing.T) {
			m := New(obligation.Ours)
			for _, rec := range script(t, r.in) {
				m.Take(rec)
			}
			if diff := cmp.Diff(r.want, owes(m), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

func owes(m *Model) (out []string) {
	for _, e := range m.Owing() {
		out = append(out, fmt.Sprintf("%d %s", e.Record, e.What))
	}
	return out
}

// TestOwingAtGate: in traffic between others a prompt is owed until the traffic goes on, and there is but one page.
func TestOwingAtGate(t *testing.T) {
	in := ready + create("", "s1") + asks("debugger", "s1") + refused("agent_busy", "")
	for _, r := range []struct {
		reason, in string
		want       []string
	}{
		{"a refusal", in, []string{"7 " + busyText}},
		{"the page asks again", in + asks("debugger", "s1"), nil},
		{"the server goes on", in + list("general"), nil},
		{"a second stream is open", in + "open\n" + refused("agent_busy", ""), nil},
		{"a second stream, after the first", in + "closed\nopen\n" + refused("agent_busy", ""), []string{"10 " + busyText}},
	} {
		m := New(obligation.Foreign)
		for _, rec := range script(t, r.in) {
			rec.Conn = strings.TrimPrefix(rec.Conn, "A api")
			m.Take(rec)
		}
		if diff := cmp.Diff(r.want, owes(m), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: want(-) got(+):\n%s", r.reason, diff)
		}
	}
}

// TestHasPrompted: a prompt is waited for only if something has obliged the page to it, or to one that begins like it.
func TestHasPrompted(t *testing.T) {
	m := New(obligation.Ours)
	if m.HasPrompted("A", texts.BusyPrompt) {
		t.Error("a page that was not opened owes a prompt")
	}
	for _, rec := range script(t, bound+shown+asks("debugger", "s1")+refused("agent_busy", "")) {
		m.Take(rec)
	}
	beginning, _, _ := strings.Cut(texts.BusyPrompt, ",")
	for text, want := range map[string]bool{texts.BusyPrompt: true, beginning: true, texts.BusyPrompt + "!": true,
		texts.NoSessionPrompt: false, texts.StalePrompt: false} {
		if m.HasPrompted("A", text) != want {
			t.Errorf("that the page owes the prompt %q is not %v", text, want)
		}
	}
}
