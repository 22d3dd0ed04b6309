@agent-select @server
Feature: 2.1 What the server offers
  Each session keeps its own agent, and clients do not disturb each other (每个会话独立维护主代理状态，多客户端互不干扰).

  Rule: The server sends the list of agents when a connection opens (SSE 连接建立时，服务端自动向客户端推送可用主代理列表（包含内置和用户自定义主代理）)

    @AS-008 @AS-016 @connect @AS-2.1-01
    Scenario: the list arrives without a request
      When client A connects
      Then client A receives the list of agents

    @AS-009 @connect @AS-2.1-02
    Scenario: the list has every built-in agent
      When client A connects
      Then client A is offered the built-in agents

    @AS-010 @connect @AS-2.1-03
    Scenario: the list has the custom agents
      Given the target has a custom agent
      When client A connects
      Then client A is offered the custom agent

  Rule: A client switches the agent of its session with a message (支持客户端通过消息切换当前会话的主代理（可切换到任意可用主代理）)

    @AS-011 @AS-017 @AS-018 @AS-2.1-04
    Scenario: a message switches the agent
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"

    @AS-012 @AS-2.1-05
    Scenario: a client can switch to every listed agent
      Given client A has a session
      Then client A can switch to every agent that it was offered

  Rule: A failed switch causes an error event with the list of agents (切换失败时返回错误事件，并附带合法主代理列表)

    @AS-013 @AS-014 @AS-2.1-06
    Scenario: a failed switch causes an error event with the list
      Given client A has switched to "debugger"
      When client A switches to "hacker"
      Then client A is refused with "agent_not_found"
      And the refusal of client A lists the agents that it was offered

  Rule: Each session keeps its own agent (每个会话独立维护主代理状态，多客户端互不干扰)

    @AS-015 @two-clients @AS-2.1-07
    Scenario: concurrent clients each keep their own agent
      Given client A has switched to "debugger"
      And client B has switched to "requirement_analyzer"
      And client C has a session
      When client B switches to "general"
      Then client B is switched from "requirement_analyzer" to "general"
      And client A receives no "agent_switched"
      And client C receives no "agent_switched"
      When client A switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"
      When client C switches to "debugger"
      Then client C is switched from the default agent to "debugger"

    @AS-015 @AS-2.1-08
    Scenario: successive clients each have their own agent
      Given client A has switched to "debugger"
      And client A has disconnected
      And client B has a session
      When client B switches to "requirement_analyzer"
      Then client B is switched from the default agent to "requirement_analyzer"

  Rule: The extension is backward compatible (扩展需保持向后兼容，老客户端遇到未知事件应静默忽略)

    @interop @AS-019 @AS-2.1-09
    Scenario: a client that never switches can chat
      Given client A has a session
      When client A chats
      Then client A is answered and its turn ends

    @AS-019 @AS-100 @model @AS-2.1-10
    Scenario: each of several chats runs in the session that it names
      Given client A has a session
      When client A chats
      Then client A is answered and its turn ends
      And client A is answered in each of 8 chats, each sent right after the previous turn
