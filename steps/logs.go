package steps

import "io"

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
