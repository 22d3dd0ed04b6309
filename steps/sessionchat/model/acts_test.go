package model

const (
	whole1  = ask1 + "A < system red s-1: \n" + success
	success = `A < result {"agent_id":"red","session_id":"s-1","subtype":"success"}` + "\n"
	blues   = blue + "A < system blue s-2: \nA < result blue s-2: \n"
	fail    = "A > chat red: [[fail x-9 500]]\n"
	fails   = fail + "A < system red s-1: \n"
)

// acts are about what steps report: how a session continues, an error of a turn, the answer to a ping.
var acts = []row{
	{subject: "continuation", reason: "a single turn shows nothing", in: whole1},
	{subject: "continuation", reason: "the same id in a later turn", kept: "SC-002 SC-003 SC-005 SC-006 SC-050 SC-057",
		in: whole1 + ask2 + "A < system red s-1: "},
	{subject: "continuation", reason: "another id in a later turn", broken: "SC-002 SC-003 SC-005 SC-006 SC-050 SC-057",
		in: whole1 + ask2 + "A < system red s-9: "},
	{subject: "continuation", reason: "after another session's turn",
		kept: "SC-002 SC-003 SC-005 SC-006 SC-028 SC-050 SC-057", in: whole1 + blues + ask2 + "A < system red s-1: "},
	{subject: "continuation", reason: "after a ping and an incomplete chat",
		kept: "SC-002 SC-003 SC-005 SC-006 SC-031 SC-037 SC-050 SC-057",
		in:   whole1 + "A > ping {}\n" + `A > chat {"agent_id":"red"}` + "\n" + ask2 + "A < system red s-1: "},
	{subject: "continuation", reason: "an incomplete chat has made a session of its own", broken: "SC-031",
		in: whole1 + `A > chat {"agent_id":"red"}` + "\nA < system red s-9: "},
	{subject: "continuation", reason: "an id that has changed within a turn shows nothing in later ones",
		in: ask1 + "A < system red s-1: \nA < result red s-2: \n" + ask2 + "A < system red s-1: "},
	{subject: "continuation", reason: "the same id after a restart", kept: "SC-016a",
		in: whole1 + rests + ask2 + "A < system red s-1: "},
	{subject: "continuation", reason: "another id after a restart", broken: "SC-016a",
		in: whole1 + rests + ask2 + "A < system red s-9: "},

	{subject: "beginning", reason: "two have one",
		broken: "SC-001 SC-002 SC-003 SC-004 SC-009 SC-017 SC-027 SC-046 SC-047 SC-055 SC-057 SC-060",
		in:     whole1 + blue + "A < system blue s-1: "},
	{subject: "beginning", reason: "each has its own", kept: "SC-004 SC-009 SC-027 SC-057 SC-060", in: whole1 + blues},
	{subject: "beginning", reason: "the words of another session's chat tell nothing of the session",
		in: whole1 + blue + "A < assistant blue s-1: x-1"},
	{subject: "session-id-stays", reason: "unknown by the end of the first turn", broken: "SC-042",
		in: ask1 + "A < system red null: \n" + `A < result {"agent_id":"red","session_id":null,"subtype":"success"}`},
	{subject: "session-id-stays", reason: "missing, which is judged as such",
		in: ask1 + `A < result {"agent_id":"red","subtype":"success"}`},

	{subject: "errors", reason: "with both ids", kept: "SC-038 SC-039 SC-042",
		in: fails + `A < error {"agent_id":"red","session_id":"s-1"}`},
	{subject: "errors", reason: "with none", broken: "SC-038 SC-039", in: fails + `A < error {}`},
	{subject: "errors", reason: "with another session's id", kept: "SC-038 SC-039", broken: "SC-042",
		in: fails + `A < error {"agent_id":"red","session_id":"s-9"}`},
	{subject: "errors", reason: "it may be about something else", in: fail + "A > ping {}\nA < error {}"},
	{subject: "errors", reason: "it may be about another turn", in: fail + ask2 + "A < error {}"},

	{subject: "heartbeats", reason: "answered", kept: "SC-037 SC-037a", in: "A > ping {}\nA < pong {}"},
	{subject: "heartbeats", reason: "answered during a turn", kept: "SC-037 SC-037a",
		in: ask1 + "A > ping {}\nA < pong {}"},
	{subject: "heartbeats", reason: "refused during a turn", broken: "SC-037 SC-037a",
		in: ask1 + "A > ping {}\nA < error {}"},
	{subject: "heartbeats", reason: "an error of the turn refuses nothing",
		in: ask1 + "A > ping {}\n" + `A < error {"agent_id":"red"}`},
	{subject: "heartbeats", reason: "the connection ends", broken: "SC-037 SC-037a", in: "A > ping {}\nA closed"},
	{subject: "heartbeats", reason: "waited for in vain", broken: "SC-037a",
		in: "A > ping {}\n- " + InVain + "1: no such message within 2 s"},
	{subject: "heartbeats", reason: "another one was waited for in vain",
		in: "A > ping {}\n- " + InVain + "7: no such message within 2 s"},
	{subject: "heartbeats", reason: "waited for in vain, and then answered", kept: "SC-037", broken: "SC-037a",
		in: "A > ping {}\n- " + InVain + "1: no such message within 2 s\nA > ping {}\nA < pong {}"},
}
