package steps

import (
	"io"
	"net/http"
	"slices"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/target"
	"parley/transport/transcript"
)

// Correlator is an optional interface of protocols in which an HTTP request belongs to an event stream. Without it,
// the party of a foreign request is unknown.
type Correlator interface {
	// Correlate returns a function that is called with each decoded record of the traffic between a client and a target
	// of the profile, from the client's side, and the header if the record is an HTTP request. For a request it
	// returns the party of the stream; "" if that is unknown. It is called from one goroutine at a time.
	Correlate(p *target.Profile) func(r *transcript.Record, h http.Header) string
}

// Foldered is an optional interface of protocols that were read from a folder.
type Foldered interface {
	Folder() string // as it was named
}

// FolderOf returns the folder from which a protocol was read, as it was named; "" if it has none.
func FolderOf(p Protocol) string {
	if of, is := p.(Foldered); is {
		return of.Folder()
	}
	return ""
}

// Poster is an optional interface of protocols with the driver post, whose requests are answered by themselves.
type Poster interface {
	// Posts returns a function that reports whether a request to a target of the profile is one of them, and the headers
	// that records show; nil if none is.
	Posts(p *target.Profile) (is func(*http.Request) bool, reads []string)
}

// Witness is an optional interface of protocols with several roles, for foreign traffic.
type Witness interface {
	// Observed returns the records that a test of a role would contain: without the connections of parties
	// that such a test does not have. It does not change records.
	Observed(role string, records []transcript.Record) []transcript.Record
}

// IndependentConnections is an optional interface of protocols in which the connections to a target are independent,
// for foreign traffic. Each is then judged on its own.
type IndependentConnections interface {
	// ConnectionsIndependent reports whether that is so for targets of a role.
	ConnectionsIndependent(role string) bool
}

// Clients is an optional interface of protocols whose targets are all servers, for foreign traffic: its monitors judge
// the client, which is not a target of a run.
type Clients interface {
	// Client returns the client's name, and its monitors. These see records as seen at the client's end, decoded by Bind:
	// Sent is what the client has sent.
	Client() (name string, monitors []monitor.Monitor)
}

// Modelled is an optional interface of protocols that have a model of what the parties owe each other: it is one judge
// of a run, of a live session and of traffic between others.
type Modelled interface {
	// Model returns a new model of what a target of a role owes, for an observer. Its records are decoded as by Bind.
	Model(role string, o obligation.Observer) obligation.Model
}

// Charted is an optional interface of protocols whose model can be drawn.
type Charted interface {
	// Chart describes the model of what a target of a role owes; "" is the first role. The error names an unknown role.
	Chart(role string) (obligation.Chart, error)
}

// Passive is implemented by protocols with additional monitors that runs do not use: they judge traffic between two
// foreign parties.
type Passive interface {
	Passive() []monitor.Monitor
}

// PassiveMonitors returns every monitor of a protocol that can judge foreign traffic: those of Monitors that are marked
// as passive, and those of Passive.
func PassiveMonitors(p Protocol) []monitor.Monitor {
	var out []monitor.Monitor
	for _, m := range p.Monitors() {
		if m.Passive {
			out = append(out, m)
		}
	}
	if p, ok := p.(Passive); ok {
		out = append(out, p.Passive()...)
	}
	return out
}

// ClientOf returns the client that Clients names, with its monitors; "" if there is none.
func ClientOf(p Protocol) (name string, monitors []monitor.Monitor) {
	if c, ok := p.(Clients); ok {
		return c.Client()
	}
	return "", nil
}

// PassiveMonitorsOf returns those of PassiveMonitors that judge targets of a role, or those of the client that Clients
// names.
func PassiveMonitorsOf(p Protocol, role string) []monitor.Monitor {
	if name, monitors := ClientOf(p); role != "" && role == name {
		return monitors
	}
	return slices.DeleteFunc(PassiveMonitors(p), func(m monitor.Monitor) bool { return !m.For(role) })
}

// JudgePassively judges records of foreign traffic with monitors, and returns one judgement for each clause that they
// judged, and the first failure of each monitor and clause. It uses only Ledger and Strict of env. A clause without any
// finding is not judged.
func JudgePassively(env *Env, monitors []monitor.Monitor, records []transcript.Record) (out []verdict.Judgement,
	failures []Failure) {
	return JudgeEach(env, monitors, records, nil)
}

// JudgeEach is JudgePassively, and calls held for each record that shows that a clause is kept. held may be nil.
func JudgeEach(env *Env, monitors []monitor.Monitor, records []transcript.Record,
	held func(clause string, record int)) (out []verdict.Judgement, failures []Failure) {
	for _, m := range monitors {
		w := &World{Env: env} // findings of one monitor do not affect the models of another
		said, found := w.reduceFindings(m, records, held)
		out, failures = append(out, said...), append(failures, found...)
	}
	return out, failures
}

// JudgeRecords is like JudgePassively, with only those monitors that judge single records (monitor.PerRecord), and
// only for records after a mark; the monitors also see earlier records but do not judge them.
func JudgeRecords(env *Env, monitors []monitor.Monitor, mark int, records []transcript.Record) (out []verdict.Judgement,
	failures []Failure) {
	var alone []monitor.Monitor
	for _, m := range monitors {
		if m.PerRecord && m.Of == nil {
			alone = append(alone, limitAfter(m, mark))
		}
	}
	return JudgePassively(env, alone, records)
}

// LogJudge is an optional interface of protocols whose targets write logs that can be judged on their own.
type LogJudge interface {
	// CheckLog judges the lines of a session in a log, or of all sessions for "". complete says that the sessions have
	// ended. It fills everything but LogReport.File.
	CheckLog(r io.Reader, session string, complete bool) LogReport
	// AboutLogs describes what is judged, and by what, for the help of check-log: half a line, and the rest of the
	// sentence.
	AboutLogs() (what, by string)
}

// Verdicts on a log.
const (
	LogFine       = "fine"
	LogFindings   = "findings"
	LogEmpty      = "empty"      // no event, so nothing was judged
	LogUnreadable = "unreadable" // LogReport.Error says why
)

// LogReport is the result for a log, as check-log prints it.
type LogReport struct {
	File     string       `json:"file"`
	Verdict  string       `json:"verdict"`
	Session  string       `json:"session"`  // the expected session; without one, that of the first line
	Sessions []string     `json:"sessions"` // in the log
	Lines    int          `json:"lines"`
	Events   int          `json:"events"`
	Clauses  []LogTally   `json:"clauses"` // that were judged
	Findings []LogFinding `json:"findings"`
	Dropped  int          `json:"dropped"` // findings beyond those
	Notes    []LogNote    `json:"notes"`
	Torn     *LogTorn     `json:"torn,omitzero"`
	Error    string       `json:"error,omitzero"`
}

// LogTally counts how often a log kept and broke a clause.
type LogTally struct {
	Clause string `json:"clause"`
	Kept   int    `json:"kept"`
	Broken int    `json:"broken"`
}

// LogFinding is a line that breaks a clause; line 0 stands for the whole log.
type LogFinding struct {
	Clause   string `json:"clause"`
	Line     int    `json:"line"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
}

// LogNote is a remark on something that no clause forbids.
type LogNote struct {
	Line  int    `json:"line"`
	Count int    `json:"count"`
	Text  string `json:"text"`
}

// LogTorn is a truncated last line.
type LogTorn struct {
	Line  int    `json:"line"`
	Bytes int    `json:"bytes"`
	Start string `json:"start"`
}
