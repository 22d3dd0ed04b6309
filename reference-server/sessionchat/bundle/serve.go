package bundle

import (
	"log/slog"
	"net/url"
	"os"

	"github.com/spf13/pflag"

	"parley/internal/llm/openai"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/launch"
	"parley/reference-server/sessionchat"
)

// modelKey is the environment variable with the API key for --model-url. It is specific to this program, so that no
// other service's key is sent there.
const modelKey = "PARLEY_MODEL_KEY"

var service = launch.Service{
	Long: `The bundled session-chat server at the WebSocket /chat/ws. With --model-url a model behind an OpenAI-compatible
API answers conversations; its API key, if it needs one, is read from ` + modelKey + `.`,
	Examples: []string{"--db sessions.db --model-url http://localhost:11434/v1 --model llama3.2"},
	About:    "A server of chats: sessions with an agent, kept in a database, over a WebSocket.",
	Endpoints: []launch.Endpoint{
		{Method: launch.Socket, Path: proto.Path, About: "all messages, in and out"}, launch.Health,
	},
	Paths:    []string{proto.Path},
	Announce: []launch.Endpoint{{Method: launch.Socket, Path: proto.Path}},
	Model:    true,
	Flags: func(f *pflag.FlagSet) launch.Serving {
		var o sessionchat.Options
		f.StringVar(&o.DB, "db", "", "store the sessions in the SQLite `FILE`, created if missing (default in memory)")
		f.BoolVar(&o.Unsynced, "no-sync", false,
			"do not wait for the disk: saved sessions survive a restart of the server, but not a power failure")
		f.DurationVar(&o.Idle, "idle", 0,
			"remove a session from memory after it was unused for `DURATION` (default 10m)")
		f.StringVar(&o.Model, "model", "", "`NAME` of the model for chats that name none (default default)")
		at := f.String("model-url", "",
			"base `URL` of the OpenAI-compatible API that answers (default the model of the suite)")
		return launch.Serving{Make: func(p launch.Place) (launch.Handler, error) { return makeServed(o, *at, p) }}
	},
}

// makeServed makes the server for `parley serve`.
func makeServed(o sessionchat.Options, modelURL string, at launch.Place) (launch.Handler, error) {
	if o.Idle < 0 {
		return nil, launch.Usagef("--idle: %v is not positive (write it like 30s or 10m)", o.Idle)
	}
	if modelURL != "" {
		u, err := url.Parse(modelURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, launch.Usagef("--model-url: %q is not an http URL (write it like http://localhost:11434/v1)", modelURL)
		}
		o.Backend = openai.New(modelURL, os.Getenv(modelKey))
	}
	if o.Backend == nil {
		o.Inbound = logDirective(at.Log)
	}
	o.AllowOrigins, o.Logger, o.Policy, o.Outbound = at.AllowOrigins, at.Log, loggingPolicy(at.Log), logTurn(at.Log)
	h, err := sessionchat.New(o)
	if err != nil {
		return nil, launch.Usagef("--db: %v", err)
	}
	return h, nil
}

// loggingPolicy is the correct policy with logging of connections. It runs under the server's lock.
func loggingPolicy(log *slog.Logger) sessionchat.Policy {
	return sessionchat.Policy{OnConnect: func(_ sessionchat.Manager, c sessionchat.ConnInfo) []sessionchat.Message {
		log.Info("connected", "conn", c.ID, "transport", "ws")
		return nil
	}}
}

// logDirective logs what a client has probably meant as a directive to the suite's model.
func logDirective(log *slog.Logger) sessionchat.Inbound {
	return func(_ sessionchat.Manager, from sessionchat.ConnInfo, msg sessionchat.Message) []sessionchat.Message {
		content, _ := msg["content"].(string)
		launch.LogMalformed(log, from.ID, content)
		return []sessionchat.Message{msg}
	}
}

// logTurn logs the beginning and end of turns, but no contents. It runs under the server's lock.
func logTurn(log *slog.Logger) sessionchat.Outbound {
	type sender = func(connID string, msg sessionchat.Message)
	return func(_ sessionchat.Manager, to sessionchat.ConnInfo, msg sessionchat.Message, send sender) {
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
