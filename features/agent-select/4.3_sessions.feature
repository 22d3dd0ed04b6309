@agent-select @server
Feature: 4.3 Sessions and connections
  Each sessionId is isolated from all others (采用 **sessionId 级隔离** 模型).

  Rule: Each sessionId has its own agent (每个 `sessionId` 拥有独立的主代理状态)

    @AS-093 @two-clients @AS-4.3-01
    Scenario: each session keeps its own agent
      Given client A has switched to "debugger"
      And client B has a session
      When client B switches to "requirement_analyzer"
      Then client B is switched from the default agent to "requirement_analyzer"
      When client A switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-093 @AS-4.3-02
    Scenario: a second session on one connection has its own agent
      Given client A has switched to "debugger"
      And client A has another session
      When client A switches to "requirement_analyzer"
      Then client A is switched from the default agent to "requirement_analyzer"
      And whether the first session of client A can still be switched is recorded

  Rule: A switch affects the connection of its session only (切换主代理只影响该 `sessionId` 对应的连接)

    @AS-095 @two-clients @AS-4.3-03
    Scenario: the switch is announced on the connection of the session only
      Given client A has a session
      And client B has a session
      When client A switches its session to "debugger"
      Then client A is switched from the default agent to "debugger"
      And client B receives no "agent_switched"

    @AS-095 @two-clients @AS-4.3-04
    Scenario: a switch of another client's session is announced on that session's connection
      Given client A has switched to "debugger"
      And client B has a session
      When client B switches the session of client A to "requirement_analyzer"
      Then the switch is announced to client A, or client B is refused and nothing changes

    @AS-095 @exclusive @AS-4.3-05
    Scenario: a message without sessionId from a client without a session changes no session
      Given client A has switched to "debugger"
      And client B is connected
      When client B switches to "requirement_analyzer"
      Then client A receives no answer to the message of client B
      When client A switches its session to "general"
      Then client A is switched from "debugger" to "general"

    @AS-094 @AS-095 @AS-005 @AS-007 @AS-015 @AS-057 @AS-058 @exclusive @two-clients @AS-4.3-06
    Scenario: two sessions on an otherwise idle server each keep their connection and their agent
      Given client A has a session
      And client B has a session
      When client A switches to "debugger"
      Then client B receives no answer to the message of client A
      And client A is switched from the default agent to "debugger"
      When client B switches to "requirement_analyzer"
      Then client A receives no answer to the message of client B
      And client B is switched from the default agent to "requirement_analyzer"

  Rule: Without sessionId a switch acts on the default session of the connection (如果未提供 `sessionId`，切换操作作用于连接关联的默认 session)

    @AS-096 @AS-081 @two-clients @AS-4.3-07
    Scenario: each message without sessionId acts on the session of its connection
      Given client A has a session
      And client B has a session
      When client B switches to "debugger"
      And client A switches to "requirement_analyzer"
      Then client B is switched from the default agent to "debugger"
      And client A is switched from the default agent to "requirement_analyzer"

    @AS-096 @AS-103 @AS-4.3-08
    Scenario: the newer of two sessions is the default
      Given client A has switched to "debugger"
      And client A has another session
      When client A switches to "requirement_analyzer"
      Then client A is switched from the default agent to "requirement_analyzer"

  Rule: A client creates or loads a session by /session/create or /session/load (客户端通过 `/session/create` 或 `/session/load` 端点创建/加载 session)

    @preflight-2 @AS-098 @sse @AS-4.3-09
    Scenario: a session is created
      Given client A is connected
      When client A creates a session
      Then client A has its session

    @preflight-2 @AS-100 @ws @AS-4.3-10
    Scenario: a session is created by a message
      Given client A is connected
      When client A creates a session
      Then client A has its session

    @AS-099 @sse @AS-4.3-11
    Scenario: a session is loaded
      Given client A has a session
      And client A has disconnected
      And client B is connected
      When client B loads the session of client A
      Then client B has its session

    @AS-099 @sse @AS-4.3-12
    Scenario: a session that exists is loaded, and one that does not is refused
      Given client A has a session
      And client A has disconnected
      And client B is connected
      When client B loads the session of client A
      Then client B has its session
      When client B loads the session "parley-no-such-session"
      Then client B is refused the session

  Rule: A new connection is bound to no session (SSE 连接建立时（`connected` 事件），连接尚未绑定任何 session)

    @AS-097 @AS-104 @AS-4.3-13
    Scenario: a fresh connection is bound to no session
      Given client B has switched to "debugger"
      And client B has disconnected
      And client A is connected
      When client A switches to "debugger"
      Then client A is refused with "session_not_found"
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"

  Rule: A session that was created or loaded is bound to the connection (session 创建/加载成功后，自动绑定到当前连接)

    @AS-100 @AS-102 @AS-103 @AS-4.3-14
    Scenario: a created session is bound to its connection
      Given client A is connected
      When client A creates a session
      Then client A has its session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"
      When client A switches its session to "general"
      Then client A is switched from "debugger" to "general"

    @AS-100 @model @AS-4.3-15
    Scenario: the answer in a created session arrives on its connection
      Given client A is connected
      When client A creates a session
      Then client A has its session
      When client A chats
      Then client A is answered and its turn ends

    @AS-101 @AS-102 @AS-103 @AS-4.3-16
    Scenario: a loaded session is bound to the connection that loads it
      Given client A has a session
      And client A has disconnected
      And client B is connected
      When client B loads the session of client A
      Then client B has its session
      When client B switches to "debugger"
      Then client B is switched to "debugger"
      When client B switches to "requirement_analyzer"
      Then client B is switched from "debugger" to "requirement_analyzer"

    @AS-101 @AS-4.3-17
    Scenario: a loaded session replaces the session that was bound to the connection
      Given client A has switched to "debugger"
      And client A has disconnected
      And client B has switched to "requirement_analyzer"
      When client B loads the session of client A
      Then client B has its session
      When client B switches to "general"
      Then client B is switched to "general"

  Rule: A session belongs to one connection (一个 `sessionId` 只对应一个 SSE 连接)

    @AS-094 @AS-095 @AS-101 @AS-4.3-18
    Scenario: a session that a second connection loads is bound to only one connection
      Given client A has switched to "debugger"
      And client B is connected
      When client B tries to load the session of client A
      Then the session of client A answers on one connection only

    @AC-117 @AS-4.3-19
    Scenario: a session starts with the initial agent given at its creation
      Given the target declares "initial-agent-id"
      And client A is connected
      When client A creates a session with the initial agent "debugger"
      Then client A has its session
      When client A switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"

  Rule: A connection accepts no client message before agent_list (`agent_list` 发送前，连接不接受任何客户端消息（除了心跳）)

    @AS-106 @race @AS-4.3-20
    Scenario: a message that arrives before the list is sent is answered after it
      Given client B has switched to "debugger"
      And client B has disconnected
      When client A connects and switches to "debugger" as early as possible
      Then client A receives the list of agents
      And client A receives no "agent_switched"

  Rule: A running turn or a pending request makes a session busy (以下任一条件成立即判定为"忙")

    @AS-109 @AS-111 @model @AS-4.3-21
    Scenario: a running turn alone makes a session busy
      Given client A has switched to "debugger"
      And client A has a turn running
      When client A switches to "general"
      Then client A is refused with "agent_busy"
      When the model lets the turn of client A continue
      Then the turn of client A ends
      When client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-110 @AS-111 @model @AS-4.3-22
    Scenario: a pending confirmation alone makes a session busy
      Given client A has switched to "debugger"
      And client A is asked to confirm a tool
      When client A switches to "general"
      Then client A is refused with "agent_busy"
      When client A confirms
      Then the turn of client A ends
      When client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-110 @AS-111 @model @AS-4.3-23
    Scenario: a pending question alone makes a session busy
      Given client A has switched to "debugger"
      And client A is asked a question
      When client A switches to "general"
      Then client A is refused with "agent_busy"
      When client A answers
      Then the turn of client A ends
      When client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-111 @model @AS-4.3-24
    Scenario: a session can switch after its turn has ended
      Given client A has a session
      When client A chats
      Then client A is answered and its turn ends
      When client A, once idle, switches to "debugger"
      Then client A is switched from the default agent to "debugger"

    @AS-043 @AS-064 @AS-111 @model @AS-4.3-25
    Scenario: a session can switch after its turn has failed
      Given client A has switched to "debugger"
      When client A chats and the model fails
      And client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-064 @AS-109 @model @AS-4.3-26
    Scenario: an aborted turn that ends late does not end the next one
      Given client A has switched to "debugger"
      And client A has a turn running
      When client A aborts
      And client A, once idle, switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"
      Given client A has a turn running
      When the model answers the aborted turn of client A late
      And client A switches to "general"
      Then client A is refused with "agent_busy"
      When the model lets the turn of client A continue
      Then the turn of client A ends
      When client A, once idle, switches to "general"
      Then client A is switched from "requirement_analyzer" to "general"

    @AS-109 @model @AS-4.3-27
    Scenario: a second message does not end the running turn
      Given client A has switched to "debugger"
      And client A has a turn running that will answer
      When client A sends another message during its turn
      Then client A is busy until its first turn ends

    @AS-110 @model @AS-4.3-28
    Scenario: a second message does not end the pending request
      Given client A has switched to "debugger"
      And client A is asked to confirm a tool
      When client A sends another message during its turn
      Then client A is busy until its first turn ends

    @AS-112 @model @two-clients @AS-4.3-29
    Scenario: a busy session does not block a session on another connection
      Given client A has switched to "debugger"
      And client B has a session
      And client A has a turn running
      When client B switches to "requirement_analyzer"
      Then client B is switched from the default agent to "requirement_analyzer"
      When client A switches to "general"
      Then client A is refused with "agent_busy"

    @AS-112 @model @AS-4.3-30
    Scenario: a busy session does not block another session on the same connection
      Given client A has switched to "debugger"
      And client A has a turn running
      And client A has another session
      When client A switches to "requirement_analyzer"
      Then client A is switched from the default agent to "requirement_analyzer"

    @AS-112 @model @two-clients @AS-4.3-31
    Scenario: a session that waits for its user does not block another session
      Given client A has switched to "debugger"
      And client B has a session
      And client A is asked to confirm a tool
      When client B switches to "requirement_analyzer"
      Then client B is switched from the default agent to "requirement_analyzer"
      When client A switches to "general"
      Then client A is refused with "agent_busy"

  Rule: A session keeps to itself whatever happens to others (每个 `sessionId` 拥有独立的主代理状态)

    @AS-093 @model @AS-4.3-32
    Scenario: a turn in a second session on one connection uses that session's own agent
      Given the target has a custom agent
      And client A has switched to the custom agent
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was given the prompt of the custom agent
      Given client A has another session
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was not given the prompt of the custom agent

    @AS-043 @AS-093 @model @AS-4.3-33
    Scenario: the turns of a loaded session use the agent from which it is switched
      Given the target has a custom agent
      And client A has switched to the custom agent
      And client A has chatted
      And client A has disconnected
      And client B is connected
      When client B loads the session of client A
      Then client B has its session
      When client B chats
      Then client B is answered and its turn ends
      When client B, once idle, switches to "debugger"
      Then client B is switched to "debugger"
      And the turn of client B used the agent from which it was switched

    @AC-117 @model @AS-4.3-34
    Scenario: the turns of a session use the initial agent given at its creation
      Given the target declares "initial-agent-id"
      And the target has a custom agent
      And client A is connected
      When client A creates a session with the initial agent the custom agent
      Then client A has its session
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was given the prompt of the custom agent

    @AS-094 @AS-095 @AS-101 @AS-4.3-35
    Scenario: a session that its first connection loads back is bound to only one connection
      Given client A has switched to "debugger"
      And client B is connected
      When client B tries to load the session of client A
      And client A tries to load the session of client A
      Then the session of client A answers on one connection only

    @AS-103 @AS-4.3-36
    Scenario: a connection keeps its session when it may not load another
      Given client A has switched to "debugger"
      When client A loads the session "parley-no-such-session"
      And client A switches to "general"
      Then client A is switched from "debugger" to "general"

  Rule: A request that was answered is pending no more (`pendingInteractions` 中存在该 sessionId 对应的待处理交互请求)

    @AS-110 @AS-111 @model @AS-4.3-37
    Scenario: a confirmation that a later turn got is no longer pending
      Given client A has switched to "debugger"
      And client A has chatted
      And client A is asked to confirm a tool
      When client A confirms
      Then the turn of client A ends
      When client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-110 @AS-112 @model @two-clients @AS-4.3-38
    Scenario: a client that confirms its own tool leaves another client's request pending
      Given client A has switched to "debugger"
      And client B has switched to "debugger"
      And client A is asked to confirm a tool
      And client B is asked to confirm a tool
      When client B confirms
      Then the turn of client B ends
      When client A switches to "general"
      Then client A is refused with "agent_busy"
      When client A confirms
      Then the turn of client A ends
      When client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-081 @AS-093 @AS-4.3-39
    Scenario: a switch that names an older session leaves the newer one the session of its connection
      Given client A has switched to "debugger"
      And client A has another session
      When client A switches to "requirement_analyzer"
      Then client A is switched from the default agent to "requirement_analyzer"
      And whether the first session of client A can still be switched is recorded
      When client A switches to "debugger"
      Then client A is switched from "requirement_analyzer" to "debugger"

    @AS-125 @model @two-clients @AS-4.3-40
    Scenario: a busy session keeps its agent when a switch on an idle connection names it
      Given client A has switched to "debugger"
      And client B has a session
      And client A has a turn running
      When client B switches the session of client A to "requirement_analyzer"
      Then client A receives no "agent_switched"
      When the model lets the turn of client A continue
      Then the turn of client A ends
      When client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

  Rule: A session is busy until its turn has ended, whatever becomes of its connection (`sessionControllers` 中存在该 sessionId 对应的未完成的 `AbortController`)

    @AS-109 @model @AS-4.3-41
    Scenario: a session that is loaded back while its turn runs is still busy
      Given client A has switched to "debugger"
      And client A has a turn running that will answer
      And client A has another session
      When client A loads its first session again
      Then client A is busy until the turn in its session ends

    @AS-109 @model @two-clients @AS-4.3-42
    Scenario: a session that another connection loads while its turn runs is still busy
      Given client A has switched to "debugger"
      And client A has a turn running that will answer
      And client B is connected
      When client B tries to load the session of client A
      Then client B is busy until the turn in its session ends

    @AS-109 @model @AS-4.3-43
    Scenario: a session whose connection ends while its turn runs is still busy
      Given client A has switched to "debugger"
      And client A has a turn running that will answer
      And client A has disconnected
      And client B is connected
      When client B tries to load the session of client A
      Then client B is busy until the turn in its session ends

    @AS-068 @model @AS-4.3-44
    Scenario: a session can switch after each of two aborted turns
      Given client A has switched to "debugger"
      And client A has a turn running
      When client A aborts
      And client A, once idle, switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"
      Given client A has a turn running
      When client A aborts
      And client A, once idle, switches to "general"
      Then client A is switched from "requirement_analyzer" to "general"

    @AS-062 @AS-064 @model @AS-4.3-45
    Scenario: the end of a connection does not end a later turn of its session
      Given client A has switched to "debugger"
      And client A has a turn running
      And client A has disconnected
      And client B is connected
      When client B tries to load the session of client A
      And client B aborts
      And client B, once idle, switches to "requirement_analyzer"
      Then client B is switched to "requirement_analyzer"
      Given client B has a turn running
      When the model answers the aborted turn of client A late
      Then the turn of client B still runs
      When client B switches to "general"
      Then client B is refused with "agent_busy"

  Rule: The end of a connection concerns its own session only (不同 sessionId 之间互不干扰)

    @AS-043 @AS-093 @AS-101 @AS-103 @two-clients @AS-4.3-46
    Scenario: a session that another connection has loaded stays there when its first connection ends
      Given client A has switched to "debugger"
      And client B is connected
      When client B tries to load the session of client A
      And client B switches to "requirement_analyzer"
      Then client B is switched to "requirement_analyzer"
      Given client A has disconnected
      When client B switches to "general"
      Then client B is switched from "requirement_analyzer" to "general"

    @AS-093 @AS-096 @AS-103 @two-clients @AS-4.3-47
    Scenario: a session keeps its connection and its agent when another connection ends
      Given client A has switched to "debugger"
      And client B has switched to "requirement_analyzer"
      And client A has disconnected
      When client B switches to "general"
      Then client B is switched from "requirement_analyzer" to "general"
