package steps

import (
	"net/http"
	"slices"

	"parley/features/verdict"
	"parley/steps/monitor"
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

// Witness is an optional interface of protocols with several roles, for foreign traffic.
type Witness interface {
	// Observed returns the records that a test of a role would contain: without the connections of parties
	// that such a test does not have. It does not change records.
	Observed(role string, records []transcript.Record) []transcript.Record
}

// Apart is an optional interface of protocols in which the connections to a target are independent, for foreign
// traffic. Each is then judged on its own.
type Apart interface {
	// Apart reports whether that is so for targets of a role.
	Apart(role string) bool
}

// Clients is an optional interface of protocols whose targets are all servers, for foreign traffic: its monitors judge
// the client, which is not a target of a run.
type Clients interface {
	// Client returns the client's name, and its monitors. These see records as seen at the client's end, decoded by Bind:
	// Sent is what the client has sent.
	Client() (name string, monitors []monitor.Monitor)
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

// PassiveMonitorsOf returns those of PassiveMonitors that judge targets of a role.
func PassiveMonitorsOf(p Protocol, role string) []monitor.Monitor {
	return slices.DeleteFunc(PassiveMonitors(p), func(m monitor.Monitor) bool { return !m.For(role) })
}

// JudgePassively judges records of foreign traffic with monitors, and returns one judgement for each clause that they
// judged, and the first failure of each monitor and clause. It uses only Ledger and Strict of env. A clause without any
// finding is not judged.
func JudgePassively(env *Env, monitors []monitor.Monitor, records []transcript.Record) (out []verdict.Judgement,
	failures []Failure) {
	for _, m := range monitors {
		w := &World{Env: env} // findings of one monitor do not affect the models of another
		said, found := w.monitored(m, records)
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
			alone = append(alone, after(m, mark))
		}
	}
	return JudgePassively(env, alone, records)
}
