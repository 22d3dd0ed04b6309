// Command tickets holds servers to docs/ticket-desk.md. It has all that parley has:
//
//	tickets run                             judge the reference server
//	tickets run --target my.yaml            judge yours
//	tickets doctor --target my.yaml         see what of a profile works
//	tickets mutants                         prove that the suite bites
//	tickets explain TD-014                  what a clause says, and what judges it
//	tickets list, report, serve, version    see tickets help
package main

import (
	"example.org/tickets/desk"
	"example.org/tickets/server"
	"parley/cmd"
	"parley/reference-server/launch"
	"parley/steps"
)

var parts = cmd.Parts{
	Name:      "tickets",
	Protocols: steps.NewProtocols("1.0.0", desk.Protocol{}),
	Targets:   launch.Targets{server.Target},
}

func main() { cmd.Main(parts) }
