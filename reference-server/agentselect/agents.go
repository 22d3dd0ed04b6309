package agentselect

import (
	proto "parley/protocol/agentselect"
)

// Agent is a main agent: its list entry and its configuration for conversations.
type Agent struct {
	ID          string
	Name        string
	Description string
	Prompt      string
	Tools       []string
}

// Info returns the agent's list entry.
func (a Agent) Info() proto.AgentInfo {
	return proto.AgentInfo{ID: a.ID, Name: a.Name, Description: a.Description}
}

// Config returns the agent's configuration for a conversation.
func (a Agent) Config() Config { return Config{AgentID: a.ID, Prompt: a.Prompt, Tools: a.Tools} }

// The tools that make a turn wait for the user. All others return at once; none is ever executed.
const (
	confirmedTool = "run_command"
	questionTool  = "ask_user"
)

// Builtins returns the three built-in agents (AS-001, AS-035 to AS-037).
func Builtins() []Agent {
	return []Agent{{
		ID:          proto.General,
		Name:        "General",
		Description: "通用主代理",
		Prompt:      "You are General, the main agent for everyday work. Be brief and helpful.",
		Tools:       []string{"read_file", "write_file", confirmedTool, questionTool},
	}, {
		ID:          proto.RequirementAnalyzer,
		Name:        "Requirement Analyzer",
		Description: "需求分析代理",
		Prompt:      "You are Requirement Analyzer. Turn wishes into requirements; ask where they are unclear.",
		Tools:       []string{"read_file", "search_docs", confirmedTool, questionTool},
	}, {
		ID:          proto.Debugger,
		Name:        "Debugger",
		Description: "调试代理",
		Prompt:      "You are Debugger. Reproduce the failure first, then find its cause.",
		Tools:       []string{"read_file", "inspect_process", "read_log", confirmedTool, questionTool},
	}}
}

func findAgent(agents []Agent, id string) (Agent, bool) {
	for _, a := range agents {
		if a.ID == id {
			return a, true
		}
	}
	return Agent{}, false
}
