package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	proto "parley/protocol/externalagent"
	"parley/reference-server/bundled"
	"parley/reference-server/externalagent"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
	"parley/verdict"
)

// serveHost makes the bundled relay and host.
func serveHost(o serveOptions, log *slog.Logger) (bundled.Handler, error) {
	if o.catalogue != "" {
		if _, err := os.Stat(o.catalogue); err != nil {
			return nil, usagef("--catalogue: %v", err)
		}
	}
	h, err := externalagent.New(externalagent.Options{Logs: o.logs, Catalogue: o.catalogue, AllowOrigins: o.origins, Logger: log,
		Relay: relay.Options{Policy: usher{log: log}}, Host: toldBookings(log)})
	if err != nil {
		return nil, usagef("--catalogue, --logs: %v", err)
	}
	return h, nil
}

// serveRelay makes the bundled relay, to which a host has to come.
func serveRelay(o serveOptions, log *slog.Logger) (bundled.Handler, error) {
	return relay.New(relay.Options{Origins: o.origins, Policy: usher{log: log}})
}

// withLogs settles the folder of a host's logs. The returned function takes away a temporary one in which no log has come
// to be: others are somebody's data.
func (o serveOptions) withLogs() (serveOptions, func(), error) {
	if o.protocol != proto.Protocol || o.role != proto.Host || o.logs != "" {
		return o, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "parley-logs-")
	if err != nil {
		return o, nil, fmt.Errorf("make a folder for the logs: %w", err)
	}
	o.logs = dir
	return o, func() {
		below, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, empty := range append(below, dir) {
			_ = os.Remove(empty) // which fails where anything is in it
		}
	}, nil
}

// runAgent runs the bundled agent once, and says what came of it.
func runAgent(ctx context.Context, o serveOptions, log *slog.Logger, s *streams) error {
	at, err := relayURL(o.url)
	if err != nil {
		return err
	}
	out, err := agent.Run(ctx, agent.Options{URL: at, Session: o.session, Log: log})
	if ctx.Err() != nil {
		return context.Canceled
	}
	if err != nil {
		fmt.Fprintf(s.Err, "parley: %v\n", err)
	}
	fmt.Fprintln(s.Out, cameOf(out))
	if !out.Booked || err != nil {
		return exitError{verdict.ExitNonConformant}
	}
	return nil
}

// relayURL is the WebSocket of a relay: at the usual path, where a URL names none.
func relayURL(text string) (string, error) {
	const mend = "write it like ws://127.0.0.1:8124/agent/ws"
	if text == "" {
		return "", usagef("--url is missing: at which relay is the agent to book? (%s)", mend)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" && u.Scheme != "http" && u.Scheme != "https" {
		return "", usagef("--url: %q is no URL of a WebSocket (%s)", text, mend)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = proto.Path
	}
	return u.String(), nil
}

// cameOf tells in one line what came of an agent's run.
func cameOf(out agent.Outcome) string {
	text := "not booked"
	if out.Booked {
		text = "booked"
	}
	text += fmt.Sprintf(": %s, %d of them failed, over %s", counted(out.Calls, "call"), out.Failed, counted(out.Connections, "connection"))
	if out.Session != "" {
		text += "; session " + out.Session
	}
	if !out.Ended {
		text += ", which has not ended"
	}
	if out.LogFile != "" {
		text += ", log " + out.LogFile
	}
	return oneLine(text)
}

// usher is the correct policy of a relay, and logs who joins and what is refused. It runs under the relay's lock.
type usher struct {
	relay.Correct
	log *slog.Logger
}

// Joined implements relay.Policy.
func (u usher) Joined(r relay.Relay, to relay.Party, e *relay.Envelope, j proto.Join) relay.Message {
	u.log.Info("joined", "conn", to.Conn, "role", j.Role, "session", j.SessionID)
	return u.Correct.Joined(r, to, e, j)
}

// Error implements relay.Policy.
func (u usher) Error(r relay.Relay, to relay.Party, about relay.Request, why relay.Refusal) relay.Message {
	u.log.Info("refused", "conn", to.Conn, "type", about.Type, "code", why.Code, "message", why.Text)
	return u.Correct.Error(r, to, about, why)
}

// toldBookings logs what each host tells its agents of the beginning and the end of study sessions, and what it refuses. It
// runs under the host's lock.
func toldBookings(log *slog.Logger) func(string, host.Options) host.Options {
	return func(session string, o host.Options) host.Options {
		o.Outbound = func(_ host.View, msg host.Message, send func(host.Message)) {
			body := msg.Payload()
			switch msg.Type() {
			case proto.SessionStarted:
				log.Info("session started", "session", session, "study", body["sessionId"])
			case proto.SessionEnded:
				log.Info("session ended", "session", session, "study", body["sessionId"], "log", body["logFile"])
			case proto.ErrorMessage:
				log.Info("refused", "session", session, "code", body["code"], "message", body["message"])
			}
			send(msg)
		}
		return o
	}
}
