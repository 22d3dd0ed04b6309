package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/bundled"
	"parley/reference-server/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// serveSessionRuntime makes the bundled orchestrator, to which buses connect.
func serveSessionRuntime(o serveOptions, log *slog.Logger) (bundled.Handler, error) {
	so, err := o.orchestrator(log)
	if err != nil {
		return nil, err
	}
	return sessionruntime.NewServer(so)
}

// speakSessionRuntime is the bundled orchestrator on the process's own streams, until they end, or ctx does. On stdout there are
// messages alone.
func speakSessionRuntime(ctx context.Context, o serveOptions, log *slog.Logger, s *streams) error {
	so, err := o.orchestrator(log)
	if err != nil {
		return err
	}
	log.Info("one JSON message per line, on stdin and stdout")
	err = sessionruntime.ServeStdio(ctx, s.In, s.Out, so)
	if ctx.Err() != nil {
		return nil // to be interrupted is its regular end
	}
	return err
}

// orchestrator makes the options of the bundled orchestrator.
func (o serveOptions) orchestrator(log *slog.Logger) (sessionruntime.Options, error) {
	for _, f := range []struct {
		name  string
		limit time.Duration
	}{{"--input-ack", o.inputAck}, {"--cancel-ack", o.cancelAck}} {
		if f.limit < 0 {
			return sessionruntime.Options{}, usagef("%s: %v is not more than nothing (write it like 500ms or 10s)", f.name, f.limit)
		}
	}
	return sessionruntime.Options{InputAck: o.inputAck, CancelAck: o.cancelAck, AllowOrigins: o.origins, Logger: log, Seams: toldBuses(log)}, nil
}

// toldBuses logs the buses that connect, the sessions that are set up on each, and what becomes of their turns; nothing that
// was said in them.
func toldBuses(log *slog.Logger) func() sessionruntime.Seams {
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

// tellPublished logs what the orchestrator decides, by what it publishes. It is called while the orchestrator works.
func tellPublished(log *slog.Logger, msg proto.Message) {
	body, _ := msg.Payload.(map[string]any)
	turn := []any{"turn", msg.Metadata[proto.TurnID]}
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
