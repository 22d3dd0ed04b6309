package reports

// Load has the figures of `parley load`. Times are milliseconds; an act's latency counts from the time at which it was
// due, so that it includes the time for which it had to wait.
type Load struct {
	Driver   string  `json:"driver"`
	Shape    string  `json:"shape"`
	Sessions int     `json:"sessions"`
	Rate     float64 `json:"rate"`        // acts per second that were due, of the whole shape
	Duration float64 `json:"duration_ms"` // of the schedule

	Opened      int   `json:"opened"`   // sessions that got ready
	Sent        int64 `json:"sent"`     // messages
	Received    int64 `json:"received"` // messages
	Lives       int64 `json:"lives"`    // connections that were judged
	Unjudged    int64 `json:"unjudged,omitempty"`
	Violations  int64 `json:"violations"`   // findings on binding clauses, each message counted
	BrokenLives int64 `json:"broken_lives"` // connections on which a clause was broken
	Unfinished  int64 `json:"unfinished"`   // acts that were due and had no answer at the end
	Lag         int64 `json:"lag_us"`       // the longest time by which the schedule itself was late, in microseconds
	Interrupted bool  `json:"interrupted,omitempty"`

	All    LoadAct     `json:"all"` // all acts but connecting
	Acts   []LoadAct   `json:"acts"`
	Steps  []LoadAct   `json:"steps,omitempty"` // of shape "step"
	Errors []LoadError `json:"errors,omitempty"`

	Memory     LoadMemory      `json:"memory"`
	Thresholds []LoadThreshold `json:"thresholds"`
}

// LoadAct has the figures of one kind of act, or of a step.
type LoadAct struct {
	Name   string  `json:"name"`
	Wanted float64 `json:"wanted,omitempty"` // of a step: acts per second that were due
	Count  int64   `json:"count"`
	Failed int64   `json:"failed"`
	Rate   float64 `json:"rate"` // per second
	P50    float64 `json:"p50_ms"`
	P90    float64 `json:"p90_ms"`
	P99    float64 `json:"p99_ms"`
	P999   float64 `json:"p999_ms"`
	Max    float64 `json:"max_ms"`
}

// LoadError is a kind of error.
type LoadError struct {
	Kind    string `json:"kind"`
	Count   int64  `json:"count"`
	Example string `json:"example,omitempty"`
}

// LoadMemory has the memory of both sides, in bytes. Those of the target are 0 if it was not started by Parley, or the
// system does not tell.
type LoadMemory struct {
	Session       int64 `json:"session"`        // of this process for each session at rest, after all are open
	Peak          int64 `json:"peak"`           // the most that this process had
	TargetSession int64 `json:"target_session"` // of the target for each session at rest, after all are open
	TargetPeak    int64 `json:"target_peak"`
}

// LoadThreshold is a threshold, and whether the load kept it. Latencies are milliseconds.
type LoadThreshold struct {
	Name  string  `json:"name"` // such as "p99"
	Limit float64 `json:"limit"`
	Value float64 `json:"value"`
	OK    bool    `json:"ok"`
}
