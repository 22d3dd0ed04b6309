package desk

import (
	"example.org/tickets/features"
	"parley/steps/doctor"
	"parley/target"
)

var _ doctor.Examinable = Protocol{}

// Doctor implements doctor.Examinable: the checks before a run, each with its scenario below
// features/ticket-desk/doctor.
func (Protocol) Doctor() doctor.Guide {
	server := doctor.Checkup{
		Items: []doctor.Item{
			{Key: "consent", Tag: "@doctor-consent", Advice: ID + ".events: agent.asks",
				Declared: doctor.Always, Needed: doctor.Takes(`needs consent$|was asked for its consent$`)},
			{Key: History, Tag: "@doctor-history", Advice: ID + ".events: ticket.history", Optional: true,
				Declared: doctor.Has(History), Needed: doctor.OfTag("@" + History)},
		},
		Advice: map[int]string{
			1: "url, headers, and the paths and fields below " + ID,
			2: "sse.messages, fields and events below " + ID,
			3: "events below " + ID,
		},
	}
	return doctor.Guide{Checkups: map[string]doctor.Checkup{target.Server: server}, Features: features.Doctor}
}
