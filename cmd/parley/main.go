// Command parley certifies implementations of agent-session protocols.
package main

import (
	"parley/cmd"
	_ "parley/internal/startup"
	"parley/reference-server/bundled"
	"parley/steps/protocols"
)

func main() {
	cmd.Main(cmd.Parts{Protocols: protocols.All, Targets: bundled.All, Kills: bundled.Kills, Released: protocols.Released})
}
