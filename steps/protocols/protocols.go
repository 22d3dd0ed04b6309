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

// Kinds are what they say of their targets: by them profiles are read.
func Kinds() target.Kinds { return All.Kinds() }

// Get is the protocol of an id. One that is not in the list is a mistake of the caller's, and panics.
func Get(name string) steps.Protocol {
	p, err := All.Find(name)
	if err != nil {
		panic(err)
	}
	return p
}
