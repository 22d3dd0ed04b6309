package bundle

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent"
	party "parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/launch"
)

var hostService = launch.Service{
	Long: "a relay with a host that books cinema tickets. The first URL\nis a page that shows a booking, " +
		"and on which you speak as\nthe participant",
	Examples: []string{"--logs logs"},
	Paths:    []string{proto.Path},
	Announce: []launch.Endpoint{{Method: launch.Socket, Path: proto.Path}},
	Page:     true,
	Flags: func(f *pflag.FlagSet) launch.Serving {
		logs := f.String("logs", "", "`DIR` of the study logs, made if it is missing (default a temporary one)")
		catalogue := f.String("catalogue", "", "YAML `FILE` with the programme of the cinema (default built in)")
		return launch.Serving{Make: func(at launch.Place) (launch.Handler, error) {
			return served(externalagent.Options{
				Logs: *logs, Catalogue: *catalogue, AllowOrigins: at.AllowOrigins, Logger: at.Log,
				Relay: relay.Options{Policy: logged(at.Log)}, Host: told(at.Log),
			})
		}}
	},
}

// telling is a host that prints its log folder.
type telling struct {
	*externalagent.Server
	dir       string
	temporary bool
}

// Tell implements launch.Teller.
func (l *telling) Tell() []string { return []string{"logs in " + l.dir} }

// Close implements launch.Handler.
func (l *telling) Close(ctx context.Context) error {
	err := l.Server.Close(ctx)
	l.forget()
	return err
}

// forget removes a temporary folder without logs; logs are the user's data.
func (l *telling) forget() {
	if !l.temporary {
		return
	}
	below, _ := filepath.Glob(filepath.Join(l.dir, "*"))
	for _, empty := range append(below, l.dir) {
		_ = os.Remove(empty) // fails if the folder contains a file
	}
}

// served makes the relay and host for `parley serve`, by default with a temporary log folder.
func served(o externalagent.Options) (launch.Handler, error) {
	l := &telling{dir: o.Logs}
	if l.dir == "" {
		dir, err := os.MkdirTemp("", "parley-logs-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for the logs: %w", err)
		}
		l.dir, l.temporary, o.Logs = dir, true, dir
	}
	var err error
	if o.Catalogue != "" {
		if _, err = os.Stat(o.Catalogue); err != nil {
			err = launch.Usagef("--catalogue: %v", err)
		}
	}
	if err == nil {
		if l.Server, err = externalagent.New(o); err != nil {
			err = launch.Usagef("--catalogue, --logs: %v", err)
		}
	}
	if err != nil {
		l.forget()
		return nil, err
	}
	return l, nil
}

// told logs when each host starts and ends a study session, and each refusal. It runs under the host's lock.
func told(log *slog.Logger) func(string, party.Options) party.Options {
	return func(session string, o party.Options) party.Options {
		o.Outbound = func(_ party.View, msg party.Message, send func(party.Message)) {
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
