package main

import (
	"log/slog"
	"net/url"
	"os"

	"parley/model/openai"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/bundled"
	"parley/reference-server/sessionchat"
)

// modelKey is the environment variable of the key that --model-url may want. It has a name of its own, so that no key meant
// for somebody else is sent there.
const modelKey = "PARLEY_MODEL_KEY"

// serveSessionChat makes the bundled session-chat server.
func serveSessionChat(o serveOptions, log *slog.Logger) (bundled.Handler, error) {
	if o.idle < 0 {
		return nil, usagef("--idle: %v is not more than nothing (write it like 30s or 10m)", o.idle)
	}
	so := sessionchat.Options{DB: o.db, Idle: o.idle, Model: o.model, AllowOrigins: o.origins, Logger: log,
		Policy: doorkeeper{log: log}, Outbound: toldChat(log)}
	if o.modelURL != "" {
		u, err := url.Parse(o.modelURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, usagef("--model-url: %q is no http URL (write it like http://localhost:11434/v1)", o.modelURL)
		}
		so.Backend = openai.New(o.modelURL, os.Getenv(modelKey))
	}
	h, err := sessionchat.New(so)
	if err != nil {
		return nil, usagef("--db: %v", err)
	}
	return h, nil
}

// doorkeeper is the correct policy, and logs connections. It runs under the server's lock.
type doorkeeper struct {
	sessionchat.Correct
	log *slog.Logger
}

// OnConnect implements sessionchat.Policy.
func (d doorkeeper) OnConnect(m sessionchat.Manager, c sessionchat.ConnInfo) []sessionchat.Message {
	d.log.Info("connected", "conn", c.ID, "transport", "ws")
	return d.Correct.OnConnect(m, c)
}

// toldChat logs the turns that connections are told of: their beginning and their end, and nothing that was said in them.
// It runs under the server's lock.
func toldChat(log *slog.Logger) sessionchat.Outbound {
	return func(_ sessionchat.Manager, to sessionchat.ConnInfo, msg sessionchat.Message, send func(string, sessionchat.Message)) {
		session := []any{"conn", to.ID}
		for _, name := range []string{"agent_id", "session_id"} {
			if msg[name] != nil {
				session = append(session, name, msg[name])
			}
		}
		body := msg.Body()
		switch msg.Type() {
		case proto.SystemMessage:
			log.Info("turn begun", append(session, "model", body["model"], "resumed", body["resumed"])...)
		case proto.ResultMessage:
			log.Info("turn ended", append(session, "how", body["subtype"])...)
		case proto.ErrorMessage:
			log.Info("refused", append(session, "code", body["code"], "message", body["text"])...)
		}
		send(to.ID, msg)
	}
}
