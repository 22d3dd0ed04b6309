package reports

import (
	"strings"
	"time"

	"parley/features/verdict"
)

// nasty is what a hostile or broken target may send: every report must show it, complete and harmless.
const nasty = "<script>alert(1)</script> ]]> %d %!s(MISSING) \x00\x07\x1b[31m \xff\xfe \u202e</pre> 切换主代理"

// shown is nasty as reports for people show it.
const shown = `<script>alert(1)</script> ]]> %d %!s(MISSING) \x00\x07\x1b[31m \xff\xfe \u202e</pre> 切换主代理`

// sample is a small Results with every outcome, every kind of note and baseline row, and nasty texts.
func sample() *Results {
	r := &Results{
		Schema:    SchemaID,
		Suite:     Suite{Version: "0.3.0", Digest: "sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"},
		Verdict:   verdict.NonConformant,
		Exit:      verdict.ExitHarness,
		Selection: "@agent-select and not @slow",
		Options:   &Options{Explore: 2, CutPoints: true}, Seed: 42,
		Started:  time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC),
		Duration: 12345.678,
		Runs:     []Run{sampleRun(), unreachableRun()},
	}
	for i := range r.Runs {
		r.Runs[i].Totals = totalsOf(&r.Runs[i])
		r.Runs[i].Causes = FindCauses(&r.Runs[i], r.Strict)
	}
	r.Runs[0].Causes[0].LooksLike = []Likeness{
		{Fault: "trims-ids", Why: "the id is trimmed as a form handler would do it", Likeness: 0.934,
			Explained: 1, Judged: 0.9},
		{Fault: "folds-case", Why: "ids are compared without case " + nasty, Likeness: 0.5}}
	return r
}

func sampleRun() Run {
	return Run{
		Protocol: "agent-select",
		Role:     "server",
		Verdict:  verdict.NonConformant,
		Target: Target{
			Name: "Snow CLI", URL: "http://127.0.0.1:3000/", Drivers: []string{"sse", "ws"},
			Capabilities: []string{"agent-list", "custom-agents"}, Profile: "my.yaml",
			Origin: FromProfile, ProfileDigest: unsealed,
		},
		Clauses:   sampleClauses(),
		Scenarios: sampleScenarios(),
		Notes: []Note{
			{Kind: "security", Text: "a log was written outside of its directory: " + nasty, Scenario: "4.1-07"},
			{Kind: "interop", Text: "r3labs/sse would lose the event that follows a line of data without a colon"},
			{Kind: "driver-difference", Text: "AS-085 failed over sse and was not tested over ws"},
		},
		TargetStderr: "\x1b[32mINFO\x1b[0m listening on :3000\r\nWARN " + nasty + "\n",
		Baseline: []BaselineRow{
			{Clause: "AS-110", Reason: "aborting takes effect at the end of the turn, issue 17", State: "applied"},
			{Clause: "AS-011", Reason: "switching was missing until 1.4", State: "stale"},
			{Clause: "AS-999", Reason: "a typing mistake", State: "unknown clause"},
			{Clause: "AS-080", Reason: "to be fixed in March", Expires: "2026-02-28", State: "expired"},
		},
	}
}

func unreachableRun() Run {
	return Run{
		Protocol:    "agent-client",
		Role:        "client",
		Verdict:     verdict.Incomplete,
		Target:      Target{Name: "demo page", URL: "file:///srv/demo/index.html"},
		Environment: "start the target: exec: \"chromium\": executable file not found in $PATH",
		Clauses: []Clause{
			{ID: "AC-001", Level: verdict.Must, Section: "3.1", Text: "The client shows the list of agents.",
				Outcome: verdict.EnvError},
		},
	}
}

func sampleClauses() []Clause {
	clause := func(id string, l verdict.Level, section, text string, o verdict.Outcome, reason string) Clause {
		by := map[string]verdict.Outcome{"sse": o, "ws": o}
		return Clause{ID: id, Level: l, Section: section, Text: text, Outcome: o, ByDriver: by,
			Scenarios: []string{section + "-01"}, Reason: reason}
	}
	list := []Clause{
		clause("AS-001", verdict.Info, "1.1",
			"Three built-in main agents exist with ids `general`, `requirement_analyzer`, `debugger`.", verdict.Passed, ""),
		clause("AS-003", verdict.Info, "1.1", "Agents are managed by `MainAgentManager`.", verdict.NotApplicable,
			"not observable"),
		clause("AS-008", verdict.Must, "2.1",
			"On SSE connection the server pushes the list of available agents without any client request.", verdict.Passed, ""),
		clause("AS-011", verdict.Must, "2.1", "A client can switch the current session's main agent by sending a message.",
			verdict.UnexpectedPass, "the baseline says that it fails"),
		clause("AS-024", verdict.Should, "3.1", "The list is not sent again after a session was created.", verdict.Warned,
			""),
		clause("AS-047", verdict.Must, "3.2", "After a switch the model receives the new agent's system prompt.",
			verdict.NotTested, "no model stub was reached"),
		clause("AS-048", verdict.Must, "3.2", "After a switch the model receives the new agent's tools.", verdict.NotTested,
			"no model stub was reached"),
		clause("AS-066", verdict.May, "3.4", "A target may offer agents of a project beside those of the user.",
			verdict.NotApplicable, "capability project-agents is not declared"),
		clause("AS-080", verdict.Must, "4.1",
			"agentId must match [a-z0-9_-]+ in full: nothing is trimmed, folded or decoded before it is compared, whatever "+
				"a form handler would do.", verdict.Failed, ""),
		clause("AS-085", verdict.Must, "4.2", "The error that answers a switch carries an errorCode.", verdict.Failed, ""),
		clause("AS-091", verdict.Must, "4.3", "An unknown sessionId is answered with session_not_found.", verdict.NotTested,
			"a fence on client B failed"),
		clause("AS-098", verdict.Must, "4.3", "A restart keeps nothing of an unbound connection.", verdict.EnvError,
			"the target did not come up again"),
		clause("AS-099", verdict.Must, "4.3", "Two sessions never share an agent by accident.", verdict.HarnessError,
			"step undefined"),
		clause("AS-110", verdict.Must, "4.4", "After abort a switch succeeds within the event limit.", verdict.ExpectedFail,
			"aborting takes effect at the end of the turn, issue 17"),
		clause("AS-123", verdict.Conflict, "10.2", "currentAgentId is present at connect: null, or an id from the list.",
			verdict.Passed, ""),
	}
	list[8].Monitors = []string{"ids-are-exact"}
	list[9].ByDriver["ws"] = verdict.NotTested
	list[1].Excluded = true
	return list
}

func sampleScenarios() []Scenario {
	list := []Scenario{
		scenario("2.1-01", "the list comes first", verdict.Passed, "AS-008"),
		scenario("3.1-01", "no second list", verdict.Warned, "AS-024"),
		scenario("3.2-01", "the model hears the agent's prompt", verdict.NotTested, "AS-047", "AS-048"),
		scenario("3.4-01", "agents of a project", verdict.NotApplicable, "AS-066"),
		scenario("4.3-02", "restart while unbound", verdict.EnvError, "AS-098"),
		scenario("4.3-03", "two sessions", verdict.HarnessError, "AS-099"),
		scenario("4.4-01", "switch after abort", verdict.ExpectedFail, "AS-110"),
		scenario("2.1-02", "a client switches", verdict.UnexpectedPass, "AS-011"),
		scenario("4.2-01", "error code · "+nasty, verdict.Failed, "AS-085"),
	}
	list[1].Failures = []Failure{{
		Clause: "AS-024", Level: verdict.Should, Section: "3.1",
		Text:     "The list is not sent again after a session was created.",
		Expected: "no agent_list after session_created", Observed: "agent_list with 3 agents",
		At:    "client A, record 5, +2.0 ms",
		Again: "parley run --protocol agent-select --target my.yaml --tags @AS-024",
	}}
	list[2].Reason = "no model stub was reached"
	list[3].Reason = "capability project-agents is not declared"
	list[4].Reason = "the target did not come up again within 10 s"
	list[5].Reason = "step undefined"
	list[5].Steps[1].Status, list[5].Steps[1].Error = "undefined", "no step matches: "+nasty
	list[6].Failures = []Failure{{Clause: "AS-110", Level: verdict.Must, Section: "4.4", Expected: "agent_switched",
		Observed: "agent_busy"}}
	list[8].Failures = []Failure{{
		Clause: "AS-085", Level: verdict.Must, Section: "4.2", Text: "The error that answers a switch carries an errorCode.",
		Expected: `error with an errorCode`, Observed: "error " + nasty, Monitor: "errors-have-codes",
		Step: `When client A switches to "debugger"`, Location: list[8].Location[:len(list[8].Location)-2] + "14",
		At: "client A, record 9, +3.1 ms",
		Diff: "  map[string]any{\n- \t\"errorCode\": string(\"agent_not_found\"),\n  \t\"message\":   " +
			"string(\"切换失败，目标主代理不存在，请检查后重试\"),\n+ \t\"raw\":       " + nasty + ",\n  }\n",
		Again: "parley run --protocol agent-select --target my.yaml --driver sse --tags '@AS-085 and not @slow' --seed " +
			"42 --out parley-results",
	}}
	for _, i := range []int{2, 5, 8} { // not tested, an error, a failure
		list[i].Evidence = sampleEvidence(list[i].ID)
	}
	list[8].Notes = []string{"the server also sent a greeting: " + nasty}
	return append(list, trimmedIDs()...)
}

// sampleEvidence returns the evidence of a scenario with a page.
func sampleEvidence(id string) []Evidence {
	path := "evidence/sse-AS-" + id + "-"
	return []Evidence{
		{Name: "page-A.png", Type: "image/png", Path: path + "page-A.png", SHA256: strings.Repeat("cd", 32)},
		{Name: "page-A.html", Type: "text/html", Path: path + "page-A.html", SHA256: strings.Repeat("ef", 32)},
	}
}

// trimmedIDs returns scenarios with one clause, broken so often that not all of its failures are shown.
func trimmedIDs() []Scenario {
	var out []Scenario
	for i, id := range []string{" debugger", "debugger ", "DEBUGGER", "de%62ugger"} {
		s := scenario("4.1-0"+string(rune('5'+i)), "surrounding white space is not trimmed · \""+id+"\"", verdict.Failed,
			"AS-080")
		s.Rule = "An id is taken as it was sent"
		s.Steps[1].Status, s.Steps[1].Error = "failed",
			"AS-080: expected error invalid_agent_id_format, observed agent_switched"
		s.Failures = []Failure{{
			Clause: "AS-080", Level: verdict.Must, Section: "4.1", Text: "agentId must match [a-z0-9_-]+ in full.",
			Expected: "error with errorCode invalid_agent_id_format",
			Observed: `agent_switched {"previousAgentId":"general","currentAgentId":"debugger",` +
				`"agentName":"调试助手，负责定位和修复问题，并解释其原因"}`,
			Step: `When client A switches to "debugger"`, Location: "features/agent-select/4.1_switching.feature:14",
			At: "client A, record 9, +3.1 ms", Again: "parley run --protocol agent-select --target my.yaml --tags @AS-080",
			Excerpt: []string{"7  +2.9 ms  client A  sent      {\"type\":\"switch_agent\",\"agentId\":\"" + id + "\"}",
				"9  +3.1 ms  client A  received  agent_switched"},
		}}
		if i == 1 {
			s.Failures[0].Count = 12
		}
		if i == 0 {
			s.Failures[0].MoreFollowing = 4
			for _, c := range []string{"AS-042", "AS-043", "AS-053"} {
				s.Failures[0].Following = append(s.Failures[0].Following, Following{Clause: c, Expected: "previousAgentId general",
					Observed: "previousAgentId debugger", At: "client A, record 12, +4.0 ms", Monitor: "switches"})
			}
		}
		out = append(out, s)
	}
	return out
}

func scenario(id, name string, o verdict.Outcome, clauses ...string) Scenario {
	s := Scenario{
		ID: id, Name: name, Feature: id[:3] + " Switching", Location: "features/agent-select/" + id[:3] +
			"_switching.feature:12",
		Driver: "sse", Role: "server", Outcome: o, Duration: 3.25,
		Steps: []Step{
			{Keyword: "Given ", Text: "client A has a session", Line: 13, Status: "passed", Duration: 1.5},
			{Keyword: "When ", Text: `client A switches to "debugger"`, Line: 14, Status: "passed", Duration: 1.75},
		},
		Transcript: &Transcript{Path: "transcripts/AS-" + id + ".txt", SHA256: strings.Repeat("ab", 32)},
	}
	for _, c := range clauses {
		s.Clauses = append(s.Clauses, verdict.Judgement{Clause: c, Outcome: o})
	}
	return s
}

// totalsOf counts as a run does.
func totalsOf(run *Run) Totals {
	t := Totals{ByLevel: map[string]Count{}, BySection: map[string]Count{}}
	for _, c := range run.Clauses {
		if c.Excluded {
			t.Excluded++
			continue
		}
		t.Clauses = plus(t.Clauses, c.Outcome)
		t.ByLevel[string(c.Level)] = plus(t.ByLevel[string(c.Level)], c.Outcome)
		t.BySection[c.Section] = plus(t.BySection[c.Section], c.Outcome)
	}
	for _, s := range run.Scenarios {
		t.Scenarios = plus(t.Scenarios, s.Outcome)
	}
	return t
}

func plus(n Count, o verdict.Outcome) Count {
	if n.ByOutcome == nil {
		n.ByOutcome = map[verdict.Outcome]int{}
	}
	n.ByOutcome[o]++
	n.Total++
	return n
}
