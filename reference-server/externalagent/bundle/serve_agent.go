package bundle

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"parley/internal/words"
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/launch"
)

var agentService = launch.Service{
	Long: "an agent, not a server: it books a ticket at --url, logs its\nsteps to stderr and prints the result. " +
		"Exit 0 if it has\nbooked, 1 if not",
	Paths:     []string{proto.Path},
	Examples:  []string{"--url ws://127.0.0.1:8124/agent/ws"},
	NotServer: "an agent is not a server (leave it out; a token goes into --url, as its parameter token)",
	Flags: func(f *pflag.FlagSet) launch.Serving {
		at := f.String("url", "", "`URL` of the relay and host that the agent books at")
		session := f.String("session", "", "`NAME` of the relay session that the agent joins (default default)")
		return launch.Serving{Run: func(ctx context.Context, p launch.Place) error { return book(ctx, *at, *session, p) }}
	},
}

// book runs the bundled agent once and prints the result.
func book(ctx context.Context, at, session string, p launch.Place) error {
	at, err := relayURL(at)
	if err != nil {
		return err
	}
	out, err := agent.Run(ctx, agent.Options{URL: at, Session: session, Log: p.Log})
	if ctx.Err() != nil {
		return context.Canceled
	}
	if err != nil {
		fmt.Fprintf(p.Err, "parley: %v\n", err)
	}
	fmt.Fprintln(p.Out, resultOf(out))
	if !out.Booked || err != nil {
		return launch.ErrInVain
	}
	return nil
}

// relayURL returns the URL of a relay's WebSocket; a URL without a path gets the default one.
func relayURL(text string) (string, error) {
	const mend = "write it like ws://127.0.0.1:8124/agent/ws"
	if text == "" {
		return "", launch.Usagef("--url is missing: name the relay of the host at which the agent books (%s)", mend)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" && u.Scheme != "http" && u.Scheme != "https" {
		return "", launch.Usagef("--url: %q is not the URL of a WebSocket (%s)", text, mend)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = proto.Path
	}
	return u.String(), nil
}

// resultOf formats the outcome of an agent's run as one line.
func resultOf(out agent.Outcome) string {
	text := "not booked"
	if out.Booked {
		text = "booked"
	}
	calls, connections := words.Counted(out.Calls, "call"), words.Counted(out.Connections, "connection")
	text += fmt.Sprintf(": %s, %d of them failed, over %s", calls, out.Failed, connections)
	if out.Session != "" {
		text += "; session " + out.Session
	}
	if !out.Ended {
		text += "; the session has not ended"
	}
	if out.LogFile != "" {
		text += ", log " + out.LogFile
	}
	return strings.Join(strings.Fields(text), " ") // as one line
}
