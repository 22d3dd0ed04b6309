package bundled

import (
	"fmt"

	"parley/reference-server/sessionchat"
	"parley/runner"
)

func sessionChatMutants() []runner.Mutant { return nil }

func faultyChat(fault string, _ sessionchat.Options) (Handler, error) {
	return nil, fmt.Errorf("unknown mutant %q", fault)
}
