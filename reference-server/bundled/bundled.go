// Package bundled launches the bundled servers as targets: within this process, over real sockets on loopback, each
// with a folder of its own, or as a process of their own where a scenario restarts its target. `parley run` without
// --target judges these.
package bundled

import (
	"time"

	"parley/model"
	"parley/protocol/agentclient"
	"parley/protocol/agentselect"
	"parley/protocol/externalagent"
	"parley/protocol/sessionchat"
	"parley/protocol/sessionruntime"
	"parley/runner"
	"parley/target"
)

// unhurried is what a bundled server waits for the harness and for the machine, where its limit is no clause: they are as slow
// as each other, and what a slow machine costs a target is no fault that a verdict may be about.
const unhurried = 5 * time.Minute

// Unhurry makes limits what the harness waits for a server that is known to answer within milliseconds: they only tell apart a slow
// machine and a missing answer. Longer ones stay.
func Unhurry(l *target.Limits) {
	for _, d := range []*target.Duration{&l.Open, &l.Event, &l.Turn, &l.HTTP, &l.Hook, &l.Reload} {
		d.Duration = max(d.Duration, time.Minute)
	}
	l.Scenario.Duration = max(l.Scenario.Duration, unhurried)
}

// Target is a bundled target, ready to be run.
type Target struct {
	Profile  *target.Profile
	Launcher target.Launcher
	Brain    *model.Brain // answers its conversations
}

// Protocols lists the protocols that have a bundled target, in the order in which they are run.
func Protocols() []string {
	return []string{agentselect.Protocol, agentclient.Protocol, sessionchat.Protocol, sessionruntime.Protocol, externalagent.Protocol}
}

// For makes the bundled target of a protocol in a role ("": the protocol's first), with a brain of its own where it has a
// model; nil where there is none.
func For(protocol, role string) *Target {
	brain := model.New()
	if role == "" {
		role = target.Roles(protocol)[0]
	}
	switch protocol {
	case agentselect.Protocol:
		return &Target{Profile: agentSelectProfile(), Launcher: &Launcher{Brain: brain}, Brain: brain}
	case agentclient.Protocol:
		return &Target{Profile: agentClientProfile(), Launcher: &PageLauncher{}}
	case sessionchat.Protocol:
		return &Target{Profile: sessionChatProfile(), Launcher: &ChatLauncher{Brain: brain}, Brain: brain}
	case sessionruntime.Protocol:
		return &Target{Profile: sessionRuntimeProfile(), Launcher: &RuntimeLauncher{}}
	case externalagent.Protocol:
		return &Target{Profile: externalAgentProfile(role), Launcher: &BookingLauncher{Role: role}}
	}
	return nil
}

// MutantProfile describes the target of which the mutants of a protocol's role are made; nil where there is none.
func MutantProfile(protocol, role string) *target.Profile {
	t := For(protocol, role)
	if t == nil {
		return nil
	}
	t.Profile.Limits.Event.Duration = runner.MutantLimit
	if protocol == agentclient.Protocol {
		faultyPage(t.Profile)
	}
	if protocol == sessionchat.Protocol {
		t.Profile.SessionChat.Idle.Duration = mutantIdle
	}
	if protocol == externalagent.Protocol { // a fault may well be that nothing more is said
		t.Profile.ExternalAgent.Agent.Pace.Duration, t.Profile.ExternalAgent.Agent.Join.Duration = runner.MutantLimit, 2*runner.MutantLimit
	}
	return t.Profile
}

// Mutants are the mutants of the bundled target of a protocol's role, ready to be run; none where there is no such target.
func Mutants(protocol, role string) []runner.Mutant {
	switch protocol {
	case agentselect.Protocol:
		return agentSelectMutants()
	case agentclient.Protocol:
		return agentClientMutants()
	case sessionchat.Protocol:
		return sessionChatMutants()
	case sessionruntime.Protocol:
		return sessionRuntimeMutants()
	case externalagent.Protocol:
		return externalAgentMutants(role)
	}
	return nil
}
