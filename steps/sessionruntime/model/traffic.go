package model

import (
	"slices"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// Bounds on the state kept of foreign traffic; older state is dropped and not judged.
const (
	mostSessions = 1000
	mostTurns    = 256
	mostIDs      = 2048
	mostHeard    = 512
)

// Traffic folds the records of foreign traffic: each connection is a bus with its own sessions. It implements
// obligation.Model.
type Traffic struct {
	observer obligation.Observer
	buses    map[string]*Bus
	ended    []verdict.Finding // of sessions that are over
}

// New returns a model of what an orchestrator owes, for an observer.
func New(o obligation.Observer) obligation.Model {
	if o == obligation.Ours {
		return NewBus(o)
	}
	return &Traffic{observer: o, buses: map[string]*Bus{}}
}

// Take implements obligation.Model.
func (v *Traffic) Take(r transcript.Record) {
	if r.Late || r.Dir == transcript.Noted {
		return
	}
	b := v.buses[r.Conn]
	if b == nil || r.Kind == transcript.Open || r.Kind == transcript.Closed || r.Kind == transcript.Failure {
		if b != nil {
			b.End()
			v.ended = append(v.ended, b.Findings()...)
		}
		b = NewBus(v.observer)
		v.buses[r.Conn] = b
	}
	if r.Kind != transcript.Frame {
		return
	}
	if r.Event == nil || r.Cut > 0 || len(r.Event.Faults) > 0 {
		b.blind = b.blind || r.Dir == transcript.Received || r.Cut > 0 || r.Event != nil
		return
	}
	if b.blind {
		return
	}
	b.Take(r)
	if m, ok := Read(r); ok {
		v.unmix(b, m.Session)
	}
}

// unmix ends the judging of a session that two connections have: whose messages they are is unknown.
func (v *Traffic) unmix(b *Bus, session string) {
	for _, other := range v.buses {
		if other != b && other.models[session] != nil && b.models[session] != nil {
			other.models[session].off, b.models[session].off = true, true
		}
	}
}

// End implements obligation.Model.
func (v *Traffic) End() {
	for _, b := range v.buses {
		b.End()
	}
}

// Findings implements obligation.Model.
func (v *Traffic) Findings() []verdict.Finding {
	out := slices.Clone(v.ended)
	for _, b := range v.buses {
		out = append(out, b.Findings()...)
	}
	slices.SortStableFunc(out, func(a, b verdict.Finding) int { return a.At - b.At })
	return out
}

// Owing implements obligation.Model.
func (v *Traffic) Owing() (out []obligation.Entry) {
	for _, b := range v.buses {
		out = append(out, b.Owing()...)
	}
	slices.SortStableFunc(out, func(a, b obligation.Entry) int { return a.Record - b.Record })
	return out
}

// TrafficMonitors lists the monitor of foreign traffic.
func TrafficMonitors() []monitor.Monitor {
	return []monitor.Monitor{{Name: "life-cycles", Clauses: slices.Clone(observed), Passive: true, Of: session,
		Text: "turns and transactions follow sections 2 and 4, as far as the traffic alone shows it",
		Check: func(t []transcript.Record) []verdict.Finding {
			return obligation.Judge(New(obligation.Foreign), t)
		}}}
}

// observed lists the clauses that foreign traffic decides.
var observed = []string{
	"RT-001", "RT-002", "RT-003", "RT-004", "RT-005", "RT-006", "RT-007", "RT-008", "RT-009", "RT-010", "RT-011",
	"RT-013", "RT-014", "RT-015", "RT-016", "RT-017", "RT-018", "RT-019", "RT-020", "RT-025", "RT-031", "RT-032",
	"RT-033", "RT-034", "RT-035", "RT-036", "RT-038", "RT-039", "RT-040", "RT-042", "RT-043", "RT-044", "RT-045",
	"RT-046", "RT-048", "RT-049", "RT-050", "RT-052", "RT-053", "RT-055", "RT-056", "RT-060", "RT-061", "RT-063",
	"RT-064", "RT-065", "RT-066", "RT-067", "RT-068", "RT-069", "RT-072", "RT-074", "RT-075", "RT-076", "RT-077",
	"RT-079", "RT-080", "RT-083", "RT-084", "RT-085", "RT-086", "RT-087", "RT-088", "RT-089", "RT-090", "RT-091",
	"RT-092", "RT-093", "RT-094", "RT-095", "RT-097", "RT-098", "RT-099", "RT-100", "RT-102", "RT-103", "RT-104",
	"RT-105", "RT-106", "RT-108", "RT-109", "RT-110", "RT-111", "RT-112", "RT-113", "RT-115", "RT-116", "RT-117",
	"RT-119", "RT-120", "RT-121", "RT-122", "RT-124", "RT-126", "RT-127", "RT-128", "RT-130", "RT-131", "RT-132",
	"RT-133", "RT-134", "RT-135", "RT-136", "RT-137", "RT-139", "RT-140", "RT-141", "RT-142", "RT-145", "RT-146",
	"RT-148", "RT-149", "RT-150", "RT-151", "RT-152", "RT-153", "RT-154", "RT-155", "RT-160", "RT-161", "RT-162",
	"RT-163", "RT-164", "RT-165", "RT-166", "RT-167", "RT-168", "RT-169", "RT-170", "RT-171", "RT-172", "RT-173",
	"RT-176",
}
