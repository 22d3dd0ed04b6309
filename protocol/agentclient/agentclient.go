// Package agentclient is the vocabulary of the agent-client protocol: the texts that a page shows and the elements by
// which it is used. It does no I/O and judges nothing, so that the bundled page and the harness share words but no
// misunderstandings. The messages between the page and its server use the vocabulary of agentselect.
//
// Source: agent-client.zh.md, sections 3.2 to 5.6; names that the source leaves open are those of the default binding.
package agentclient

// Protocol is the id of this protocol on the command line, in profiles and in results.
const Protocol = "agent-client"

// Client is the role of a target: a page in a browser. The harness is its server.
const Client = "client"

// Texts that the page shows, as in the source. Those with %s are formats of fmt.
const (
	ConnectFirst    = "请先连接服务器"                         // a hint, section 5.1: not connected
	NoAgents        = "(暂无可用主代理)"                       // an option, sections 3.2 and 5.4: the list is empty
	NoAgentsPrompt  = "暂无可用的主代理,请检查服务端配置"               // a prompt, section 5.4: the same
	Disconnected    = "(未连接)"                           // an option, section 5.6: the connection was lost
	StalePrefix     = "未知/已失效"                          // begins an option, section 5.5: the current agent is unlisted
	StaleFormat     = "未知/已失效 (%s)"                     // the whole option: the agent's id
	StalePrompt     = "当前主代理已失效,请重新选择可用主代理"             // a prompt, section 5.5: the same
	Preselected     = "已预选主代理: %s,新建会话时将自动使用该主代理"       // a prompt, sections 3.2 and 5.2: the agent's name
	Switched        = "主代理已切换: %s → %s"                 // a chat message, section 3.4: the names of both agents
	EmptyIDPrompt   = "主代理 ID 不能为空"                     // section 3.5, invalid_agent_id
	FormatIDPrompt  = "主代理 ID 格式错误,只能包含小写字母、数字、下划线和连字符" // section 3.5, invalid_agent_id_format
	BusyPrompt      = "当前会话有进行中的任务,请先终止对话后再切换主代理"       // section 3.5, agent_busy
	NoSessionPrompt = "会话不存在,请先创建或加载会话"                 // section 3.5, session_not_found
)

// Levels of an event log entry, section 4. In the default binding the level is a class of the entry, or its
// data-level.
const (
	Info  = "info"
	Error = "error"
)

// The ids of the page's elements. SelectorID is section 3.2's; the others are the default binding's.
const (
	SelectorID   = "mainAgentSelect" // the select element of the agents
	ServerURLID  = "serverUrl"       // the field for the server's address
	ConnectID    = "connectBtn"
	DisconnectID = "disconnectBtn"
	NewSessionID = "newSessionBtn"
	MessageID    = "messageInput" // the field for the user's message
	SendID       = "sendBtn"
	AbortID      = "abortBtn"
	ChatID       = "chatBox"
	LogID        = "eventLog"
	SessionsID   = "sessionList" // one element per session; a click loads it
)
