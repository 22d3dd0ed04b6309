// Package bundle has the bundled target of agent-select (a server with one custom agent), its mutants, and how to
// launch and serve them.
package bundle

import (
	_ "embed"

	"parley/internal/llm"
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/mutants"
	"parley/reference-server/launch"
	"parley/target"
)

//go:embed profile.yaml
var profile string

// Target has the bundled target of the protocol.
var Target = launch.Target{
	Protocol: proto.Protocol,
	Short:    "the event stream /events with its requests, and the WebSocket /agents/ws",
	Roles:    []launch.Role{serverRole(makeServer)},
	Demo: &launch.Demo{
		Title: "A client and a server, and the server has one fault. Can you see it?",
		Fault: "name-of-previous",
		Scenes: []launch.Scene{
			{Says: "The client connects and makes a session. Below each step is what it put on the wire.",
				Steps: []string{"client A has a session"}},
			{Says: "It chats. Every message that comes is judged.", Steps: []string{"client A has chatted"}},
			{Says: "It switches to another agent, and the server says which one it has now.",
				Steps: []string{`client A switches its session to "debugger"`,
					`client A is switched from the default agent to "debugger"`}},
		},
	},
}

// serverRole is the only role. make makes the server with the fault; "" means none.
func serverRole(make func(fault string, o agentselect.Options) (launch.Handler, error)) launch.Role {
	return launch.Role{
		Name:        target.Server,
		Profile:     profile,
		Mutants:     mutants.All,
		LoadMutants: mutants.Load,
		Models:      true,
		Files:       true,
		Renews:      true,
		Make: func(o launch.Options) (launch.Handler, error) {
			file := agentsFile(o.Dir)
			if err := replaceFile(file, configured()); err != nil {
				return nil, err
			}
			limits := agentselect.Limits{Write: launch.Unhurried, Connections: o.Connections, Sessions: 2 * o.Connections}
			return make(o.Fault, agentselect.Options{AgentsFile: file, Brain: o.Brain, Limits: limits})
		},
		Extend: func(s *launch.Server) target.Running {
			return &editable{Server: s, file: agentsFile(s.Dir()), agents: configured()}
		},
		Serve: service,
	}
}

// makeServer makes the correct server, or one with a fault.
func makeServer(fault string, o agentselect.Options) (launch.Handler, error) {
	if fault == "" {
		return agentselect.New(o)
	}
	return mutants.Handler(fault, o)
}

// Launcher launches servers made by another function, within this process.
func Launcher(brain *llm.Brain, make func(agentselect.Options) (launch.Handler, error)) target.Launcher {
	role := serverRole(func(_ string, o agentselect.Options) (launch.Handler, error) { return make(o) })
	return role.InProcess(launch.Options{Brain: brain})
}

// Delayed launches a server that is correct except that it answers each message with the answer to the previous one.
func Delayed(brain *llm.Brain) target.Launcher {
	return Launcher(brain, func(o agentselect.Options) (launch.Handler, error) { return mutants.Delayed(o) })
}
