package target

import (
	_ "embed"

	"parley/protocol/agentclient"
	"parley/protocol/agentselect"
	"parley/protocol/externalagent"
	"parley/protocol/sessionchat"
	"parley/protocol/sessionruntime"
)

//go:embed example.yaml
var example string

//go:embed example-agent-client.yaml
var exampleAgentClient string

//go:embed example-session-chat.yaml
var exampleSessionChat string

//go:embed example-external-agent.yaml
var exampleExternalAgent string

//go:embed example-session-runtime.yaml
var exampleSessionRuntime string

// Example is ExampleFor agent-select.
func Example() string { return ExampleFor(agentselect.Protocol) }

// ExampleFor is a commented profile with every key that is of use for a protocol. Keys that are not commented out
// stand at their defaults, apart from url; a line with a # right before its key shows one that has no default. It is
// "" for a protocol that Protocols does not list.
func ExampleFor(protocol string) string {
	switch protocol {
	case agentselect.Protocol:
		return example
	case agentclient.Protocol:
		return exampleAgentClient
	case sessionchat.Protocol:
		return exampleSessionChat
	case externalagent.Protocol:
		return exampleExternalAgent
	case sessionruntime.Protocol:
		return exampleSessionRuntime
	}
	return ""
}
