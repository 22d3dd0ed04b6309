package bundle

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/launch"
	"parley/reference-server/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

var service = launch.Service{
	Long: `The bundled orchestrator at the WebSocket /bus/ws, whose URL is the second line on stdout. The client plays the
message bus and all who are on it, agents included: there is no model. It first sets up each session, by a frame such as

  {"parley":"setup","session_id":"s1","agents":["agent-a"],"active_agent_id":"agent-a"}

and {"parley":"ready","session_id":"s1"} is the answer. With --stdio it does not listen; the
client is the process that started it, each line on stdin and
stdout is one JSON message, and it exits at the end of its stdin.`,
	Examples: []string{"--input-ack 2s --cancel-ack 2s", "--stdio"},
	About: "An orchestrator of sessions with several agents; whoever connects plays the message bus and all who are " +
		"on it.",
	Endpoints: []launch.Endpoint{
		{Method: launch.Socket, Path: proto.Path, About: "all messages of the bus, in and out"}, launch.Health,
	},
	Paths:    []string{proto.Path},
	Announce: []launch.Endpoint{{Method: launch.Socket, Path: proto.Path}},
	First:    `{"parley":"setup","session_id":"s1","agents":["agent-a","agent-b"],"active_agent_id":"agent-a"}`,
	Flags: func(f *pflag.FlagSet) launch.Serving {
		var o sessionruntime.Options
		stdio := f.Bool("stdio", false, "do not listen: speak on stdin and stdout, a JSON message per line")
		f.DurationVar(&o.InputAck, "input-ack", 0,
			"wait `DURATION` for an INPUT_ACK, unless the set-up frame gives a limit (default 10s)")
		f.DurationVar(&o.CancelAck, "cancel-ack", 0,
			"wait `DURATION` for a CANCEL_ACK, unless the set-up frame gives a limit (default 10s)")
		return launch.Serving{
			Make: func(at launch.Place) (launch.Handler, error) {
				o, err := servedOptions(o, at)
				if err != nil {
					return nil, err
				}
				return sessionruntime.NewServer(o)
			},
			Run:    func(ctx context.Context, at launch.Place) error { return runOnStdio(ctx, o, at) },
			Speaks: func() bool { return *stdio },
		}
	},
}

// runOnStdio runs the orchestrator on the process's stdin and stdout until they or ctx end. stdout carries only
// messages.
func runOnStdio(ctx context.Context, o sessionruntime.Options, at launch.Place) error {
	o, err := servedOptions(o, at)
	if err != nil {
		return err
	}
	at.Log.Info("one JSON message per line, on stdin and stdout")
	err = sessionruntime.ServeStdio(ctx, at.In, at.Out, o)
	if ctx.Err() != nil {
		return nil // an interrupt is the normal end
	}
	return err
}

// servedOptions returns the options of the orchestrator for `parley serve`.
func servedOptions(o sessionruntime.Options, at launch.Place) (sessionruntime.Options, error) {
	for _, f := range []struct {
		name  string
		limit time.Duration
	}{{"--input-ack", o.InputAck}, {"--cancel-ack", o.CancelAck}} {
		if f.limit < 0 {
			return o, launch.Usagef("%s: %v is not positive (write it like 500ms or 10s)", f.name, f.limit)
		}
	}
	o.AllowOrigins, o.Logger, o.Seams = at.AllowOrigins, at.Log, logPublished(at.Log)
	return o, nil
}

// logPublished logs connected buses, the sessions set up on each, and the results of their turns, but no contents.
func logPublished(log *slog.Logger) func() sessionruntime.Seams {
	var buses atomic.Int64
	return func() sessionruntime.Seams {
		log := log.With("bus", buses.Add(1))
		log.Info("connected")
		return sessionruntime.Seams{Runtime: func(o *orchestrator.Options) {
			log := log.With("session", o.SessionID)
			log.Info("set up", "agents", o.Agents, "active", o.Active, "input_ack", o.InputAck, "cancel_ack", o.CancelAck)
			o.Outbound = func(_ orchestrator.View, msg proto.Message, send func(proto.Message)) {
				tellPublished(log, msg)
				send(msg)
			}
		}}
	}
}

// tellPublished logs the orchestrator's decisions from what it publishes. It is called while the orchestrator works.
func tellPublished(log *slog.Logger, msg proto.Message) {
	body, _ := msg.Payload.(map[string]any)
	var turn []any // an error need not be about one
	if id := msg.Metadata[proto.TurnID]; id != nil {
		turn = []any{"turn", id}
	}
	switch {
	case msg.Event == proto.UserInput && msg.Target == proto.ToAgent:
		log.Info("routed", append(turn, "agent", msg.TargetID)...)
	case msg.Event == proto.Control && msg.Subtype == proto.SwitchAgent:
		log.Info("switched", "from", body["from"], "to", body["to"], "trigger", body["trigger"])
	case msg.Event == proto.Event && msg.Subtype == proto.Canceled:
		log.Info("cancelled", turn...)
	case msg.Event == proto.Error:
		log.Info("error", append(turn, "code", msg.Subtype, "message", body["message"])...)
	}
}
