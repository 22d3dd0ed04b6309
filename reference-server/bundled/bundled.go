// Package bundled launches the bundled servers as targets: within this process, over real sockets on loopback, each
// with a folder of its own, or as a process of their own where a scenario restarts its target. `parley run` without
// --target judges these.
package bundled

import (
	"parley/model"
	"parley/protocol/agentselect"
	"parley/protocol/sessionchat"
	"parley/runner"
	"parley/target"
)

// Target is a bundled target, ready to be run.
type Target struct {
	Profile  *target.Profile
	Launcher target.Launcher
	Brain    *model.Brain // answers its conversations
}

// Protocols lists the protocols that have a bundled target, in the order in which they are run.
func Protocols() []string { return []string{agentselect.Protocol, sessionchat.Protocol} }

// For makes the bundled target of a protocol, with a brain of its own; nil where there is none.
func For(protocol string) *Target {
	brain := model.New()
	switch protocol {
	case agentselect.Protocol:
		return &Target{Profile: agentSelectProfile(), Launcher: &Launcher{Brain: brain}, Brain: brain}
	case sessionchat.Protocol:
		return &Target{Profile: sessionChatProfile(), Launcher: &ChatLauncher{Brain: brain}, Brain: brain}
	}
	return nil
}

// MutantProfile describes the target of which the mutants of a protocol are made; nil where there is none.
func MutantProfile(protocol string) *target.Profile {
	t := For(protocol)
	if t == nil {
		return nil
	}
	if protocol == sessionchat.Protocol {
		t.Profile.SessionChat.Idle.Duration = mutantIdle
	}
	return t.Profile
}

// Mutants are the mutants of a protocol's bundled target, ready to be run; none where there is no such target.
func Mutants(protocol string) []runner.Mutant {
	switch protocol {
	case agentselect.Protocol:
		return agentSelectMutants()
	case sessionchat.Protocol:
		return sessionChatMutants()
	}
	return nil
}
