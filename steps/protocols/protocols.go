// Package protocols is the list of the protocols that Parley judges. It is one of two places that know them by name;
// the other is the list of bundled targets, parley/reference-server/bundled.
package protocols

import (
	"parley/features"
	"parley/steps"
	"parley/steps/agentclient"
	"parley/steps/agentselect"
	"parley/steps/externalagent"
	"parley/steps/sessionchat"
	"parley/steps/sessionruntime"
	"parley/target"
)

// All are the protocols.
var All = steps.NewProtocols(features.Version,
	agentselect.Protocol{},
	agentclient.Protocol{},
	sessionchat.Protocol{},
	sessionruntime.Protocol{},
	externalagent.Protocol{},
)

// Kinds are the kinds of their targets, by which profiles are read.
func Kinds() target.Kinds { return All.Kinds() }

// Get returns the protocol with an id. It panics if the id is not in the list, which is a mistake of the caller.
func Get(name string) steps.Protocol {
	p, err := All.Find(name)
	if err != nil {
		panic(err)
	}
	return p
}
