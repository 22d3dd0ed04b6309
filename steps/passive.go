package steps

import "parley/monitor"

// Passive is implemented by protocols with monitors that runs do not have: they judge traffic that the harness did not
// cause, between two foreign parties.
type Passive interface {
	Passive() []monitor.Monitor
}

// PassiveMonitors returns every monitor of a protocol that can judge traffic which the harness did not cause.
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
