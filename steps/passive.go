package steps

import (
	"net/http"
	"slices"

	"parley/monitor"
	"parley/target"
	"parley/transcript"
	"parley/verdict"
)

// Correlator is an optional interface of protocols in which an HTTP request belongs to an event stream. Without it,
// the party of a request that the harness did not send is unknown.
type Correlator interface {
	// Correlate returns a function that is called with each decoded record of the traffic between a client and a target
	// of the profile, as the client's end has it, and the header of the HTTP request where it is one. Of a request it
	// returns the party of the stream; "" if that is unknown. It is called from one goroutine at a time.
	Correlate(p *target.Profile) func(r *transcript.Record, h http.Header) string
}

// Witness is an optional interface of protocols with several roles, for traffic that the harness did not cause.
type Witness interface {
	// Observed returns those of the records that a tester of a role would have had: without the connections of parties
	// that such a tester does not meet. It does not change records.
	Observed(role string, records []transcript.Record) []transcript.Record
}

// Apart is an optional interface of protocols in which the connections to a target have nothing to do with each other,
// for traffic that the harness did not cause. Each is then judged alone.
type Apart interface {
	// Apart reports whether that is so for targets of a role.
	Apart(role string) bool
}

// Passive is implemented by protocols with monitors that runs do not have: they judge traffic that the harness did not
// cause, between two foreign parties.
type Passive interface {
	Passive() []monitor.Monitor
}

// PassiveMonitors returns every monitor of a protocol that can judge traffic which the harness did not cause: those of
// Monitors that are marked as passive, and those of Passive.
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

// JudgePassively has monitors judge records that the harness did not cause, and returns one judgement for each clause
// that they judged, and the first failure of each monitor and clause. Of env, Ledger and Strict count. A clause of
// which no finding says anything is not judged.
func JudgePassively(env *Env, monitors []monitor.Monitor, records []transcript.Record) (out []verdict.Judgement,
	failures []Failure) {
	for _, m := range monitors {
		w := &World{Env: env} // findings of one monitor say nothing about the models of another
		said, found := w.monitored(m, records)
		out, failures = append(out, said...), append(failures, found...)
	}
	return out, failures
}

// JudgeRecords is JudgePassively by those of the monitors that judge each record by itself (monitor.PerRecord), for
// records after a mark; those before are shown to them only.
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
