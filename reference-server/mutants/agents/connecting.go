package agents

import (
	"context"
	"strings"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
)

// connectingFaults connect elsewhere, or more than once.
var connectingFaults = map[string]fault{
	"endpoint-elsewhere": elsewhere("/ws"),
}

// elsewhere connects to another path.
func elsewhere(path string) fault {
	return dialling(func() agent.Dialer {
		return func(ctx context.Context, url string) (agent.Socket, error) {
			return agent.DialWebSocket(ctx, strings.TrimSuffix(url, proto.Path)+path)
		}
	})
}
