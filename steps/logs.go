package steps

import "io"

// LogJudge is what a protocol offers beyond whose targets write logs that can be judged by themselves.
type LogJudge interface {
	// CheckLog judges a log: the lines of a session, "": of all. complete says that the sessions have ended. It gives
	// everything but LogReport.File.
	CheckLog(r io.Reader, session string, complete bool) LogReport
	// AboutLogs says what is judged, by what, for the help of check-log: half a line, and the rest of the sentence.
	AboutLogs() (what, by string)
}

// The verdicts on a log.
const (
	LogFine       = "fine"
	LogFindings   = "findings"
	LogEmpty      = "empty"      // no event, so nothing was judged
	LogUnreadable = "unreadable" // LogReport.Error says why
)

// LogReport is what is said of a log, as check-log prints it.
type LogReport struct {
	File     string       `json:"file"`
	Verdict  string       `json:"verdict"`
	Session  string       `json:"session"`  // that was expected; where none was, that of the first line
	Sessions []string     `json:"sessions"` // that stand in it
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

// LogFinding is that a line breaks a clause; line 0 is the log as a whole.
type LogFinding struct {
	Clause   string `json:"clause"`
	Line     int    `json:"line"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
}

// LogNote is what no clause forbids.
type LogNote struct {
	Line  int    `json:"line"`
	Count int    `json:"count"`
	Text  string `json:"text"`
}

// LogTorn is a last line that was cut off.
type LogTorn struct {
	Line  int    `json:"line"`
	Bytes int    `json:"bytes"`
	Start string `json:"start"`
}
