package agentclient

import (
	"context"
	"net/http"
	"strings"

	"github.com/cucumber/godog"

	"parley/steps"
	"parley/steps/agentclient/model"
	"parley/transport/transcript"
)

// severedStream is the connection that is cut: the first event stream of the first page.
const severedStream = ofRequests + " 1"

// Courses implements steps.Severer. The server cuts the page's event stream. A page that loses it disables the selector
// and shows that it is not connected (AC-105, AC-108), forgets the agents and the current one (AC-106), keeps what the
// user has preselected (AC-107), waits for a new list once it is connected again (AC-109), and takes that (AC-111).
// The source does not state what happens to its session: a new session is requested, whose id its switches name
// (AC-051, AC-055). A page is not killed, since it would not come back.
func (Protocol) Courses(string) []steps.Course {
	only := []steps.Way{steps.ByReset, steps.ByClose, steps.ByFin}
	return []steps.Course{
		{
			ID: "switches", Name: "a session with switches and refused ones", Party: severedStream, Only: only,
			Tags:  strings.Fields(lost + "@AC-036 @AC-043 @AC-051 @AC-053 @AC-055 @AC-059 @AC-060"),
			Lines: arriving(switchingLines...), Back: switchingAgain(),
		},
		{
			ID: "preselection", Name: "preselections before a session", Party: severedStream, Only: only,
			Tags:  strings.Fields(lost + "@AC-043 @AC-107"),
			Lines: arriving(preselectingLines...), Back: preselectedStill(),
		},
	}
}

// lost are the clauses about every page that has lost its connection.
const lost = "@AC-105 @AC-106 @AC-108 @AC-109 @AC-111 "

// arriving are the steps by which a page connects.
func arriving(then ...string) []string {
	return append([]string{
		`Given an open page`,
		`When the user connects`, `Then the page requests the event stream`,
		`When the server sends connected`, `And the server sends a heartbeat`, `And the server lists the agents`,
		`Then the options are the agents`,
	}, then...)
}

var switchingLines = []string{
	`Given the server holds its HTTP responses`,
	`When the user asks for a new session`, `Then the page waits for a session`,
	`When the server sends a heartbeat`, `And the server gives the page its session`,
	`And the server lists the agents, with "General" current`, `Then "General" is selected`,
	`When the user chooses "Debugger"`, `Then the page requests a switch to "Debugger"`,
	`When the server sends a heartbeat`, `And the server switches to "Debugger"`, `Then the selector is enabled`,
	`When the user chooses "General"`, `Then the page requests a switch to "General"`,
	`When the server refuses with "agent_busy"`, `Then the selector is enabled`,
	`When the user chooses "Code Reviewer"`, `Then the page requests a switch to "Code Reviewer"`,
	`When the server refuses with "agent_not_found" and availableAgents "General" and "Debugger"`,
	`Then the options are "General" and "Debugger"`,
	`When the server sends a heartbeat`, `And the user chooses "General"`,
	`Then the page requests a switch to "General"`,
	`When the server switches to "General"`, `Then the selector is enabled`,
}

var preselectingLines = []string{
	`When the server sends a heartbeat`, `And the user chooses "Debugger"`,
	`When the server sends a heartbeat`, `And the server lists the agents`, `Then the options are the agents`,
	`When the server sends a heartbeat`, `And the user chooses "Code Reviewer"`,
	`And the server sends a heartbeat`, `And the server lists the agents, with none current`,
	`Then the options are the agents`,
	`When the server sends a heartbeat`, `And the user chooses "Debugger"`, `And the server sends a heartbeat`,
}

// backAgain are the steps of a page whose stream was cut.
func backAgain(then ...string) []string {
	return append([]string{
		steps.ComesBack, `Then the selector is disabled`, `And the only option is "(未连接)", and it is disabled`,
		`When the page reconnects`, `Then the selector is still disabled`,
	}, then...)
}

// switchingAgain judges two switches in a new session. Each agent that the old session had is in the new list, since a
// page may load that session by itself.
func switchingAgain() []string {
	return backAgain(
		`When the server lists "General", "Debugger" and "Planner", with "Planner" current`,
		`Then the selector is enabled`, `And the options are "General", "Debugger" and "Planner"`,
		`When the user asks for a new session`, `Then the page requests a session`,
		`When the server switches from the id "code_reviewer" to "Planner"`,
		`Then the chat announces the switch from "code_reviewer" to "Planner"`, `And "Planner" is selected`,
		`When the user chooses "Debugger"`, `Then the page requests a switch to "Debugger"`,
		`When the server switches to "Debugger"`, `Then the chat announces the switch from "Planner" to "Debugger"`,
		`And the selector is enabled`, `And "Debugger" is selected`)
}

// preselectedStill judges that the choice is kept, and that the current agent, which is not in the new list, is not
// kept.
func preselectedStill() []string {
	return backAgain(
		`When the server lists "Debugger", "Code Reviewer" and "Planner", with none current`,
		`Then the selector is enabled`, `And the options are "Debugger", "Code Reviewer" and "Planner"`,
		`And the page reports no unknown agent`,
		`When the user asks for a new session`,
		`Then the page requests a session with what the user had preselected`)
}

// CountsRecord implements steps.Counter. It counts the server's messages on the stream, except fences, whose number
// depends on the speed of the page, and the requests that the user causes.
func (Protocol) CountsRecord(r *transcript.Record, party string) bool {
	switch r.Conn {
	case party:
		return r.Dir == transcript.Sent && r.Label != fencing &&
			(r.Kind == transcript.Open || r.Kind == transcript.Stream)
	case ofRequests:
		return r.Dir == transcript.Received && r.Kind == transcript.Request &&
			strings.HasPrefix(r.Label, http.MethodPost+" ")
	}
	return false
}

func (s *suite) registerSevering(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the server sends a heartbeat$`, func(ctx context.Context) error {
		_, err := s.comment(ctx, "heartbeat")
		return err
	})
	steps.Step(sc, `^the page waits for a session$`, s.waitsForSession)
	steps.Step(sc, `^the server gives the page its session$`, s.givesSession)
	steps.Step(sc, `^the page requests a session with what the user had preselected$`, s.sessionKeeps)
}

// severed marks the event stream that was cut on purpose as lost. When the page reconnects, it may load the session
// that it has, or had requested.
func (s *suite) severed(string, steps.Way) error {
	p := s.now
	if p == nil {
		return steps.NotTestedf("no page was open")
	}
	for _, r := range s.T.All() {
		if r.Kind == transcript.Remark && strings.HasPrefix(r.Label, steps.SeveredAt) {
			p.word = r.N
		}
	}
	p.server.set(func() {
		p.server.hold = false
		if n := len(p.server.sessions); n > 0 {
			p.first = p.server.sessions[n-1]
		}
	})
	p.idle, _ = s.latest()
	p.session, p.current, p.refused, p.rest, p.unsent, p.returning = "", "", agent{}, nil, nil, true
	return nil
}

// waitsForSession waits for a request for a session whose answer the server holds.
func (s *suite) waitsForSession(ctx context.Context) error {
	if _, miss := s.asked(ctx, model.CreateType); miss != nil {
		return steps.NotTestedf("the page did not ask for a session: %s", miss.Reason)
	}
	return nil
}

// givesSession sends the held answer, and waits until the page has handled it.
func (s *suite) givesSession(ctx context.Context) error {
	s.now.server.release()
	_, err := s.requestsSession(ctx, false)
	s.now.first = s.now.session
	return err
}

// sessionKeeps waits for a session request with the agent that the user had preselected before the stream was cut
// (AC-107). A choice that the cut interrupted is not judged.
func (s *suite) sessionKeeps(ctx context.Context) error {
	if s.now.wished == nil {
		_, err := s.requestsSession(ctx, false)
		return err
	}
	return s.sessionBegins(ctx, s.now.wished.name)
}
