@agent-select @server
Feature: 2.1 What the server offers
  每个会话独立维护主代理状态，多客户端互不干扰

  Rule: SSE 连接建立时，服务端自动向客户端推送可用主代理列表（包含内置和用户自定义主代理）

    @AS-008 @AS-016 @connect
    Scenario: the list comes without being asked for
      When client A connects
      Then client A is told the agents

    @AS-009 @connect
    Scenario: the list has every built-in agent
      When client A connects
      Then client A is offered the built-in agents

    @AS-010 @connect
    Scenario: the list has the users' own agents
      Given the target has a custom agent
      When client A connects
      Then client A is offered the custom agent

  Rule: 支持客户端通过消息切换当前会话的主代理（可切换到任意可用主代理）

    @AS-011 @AS-017 @AS-018
    Scenario: a message switches the agent
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"

    @AS-012
    Scenario: every agent of the list can be switched to
      Given client A has a session
      Then client A can switch to every agent that it was offered

  Rule: 切换失败时返回错误事件，并附带合法主代理列表

    @AS-013 @AS-014
    Scenario: a failed switch is an error event with the list
      Given client A has switched to "debugger"
      When client A switches to "hacker"
      Then client A is refused with "agent_not_found"
      And the refusal of client A lists the agents that it was offered

  Rule: 每个会话独立维护主代理状态，多客户端互不干扰

    @AS-015 @two-clients
    Scenario: many clients at once, each with its own agent
      Given client A has switched to "debugger"
      And client B has switched to "requirement_analyzer"
      And client C has a session
      When client B switches to "general"
      Then client B is switched from "requirement_analyzer" to "general"
      And client A hears of no switch
      And client C hears of no switch
      When client A switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"
      When client C switches to "debugger"
      Then client C is switched from the default agent to "debugger"

    @AS-015
    Scenario: clients one after the other, each with its own agent
      Given client A has switched to "debugger"
      And client A has disconnected
      And client B has a session
      When client B switches to "requirement_analyzer"
      Then client B is switched from the default agent to "requirement_analyzer"

  Rule: 扩展需保持向后兼容，老客户端遇到未知事件应静默忽略

    @interop @AS-019
    Scenario: a client that knows nothing of agents still chats
      Given client A has a session
      When client A chats
      Then client A is answered and its turn ends

    @AS-019 @AS-100 @model
    Scenario: chat after chat stays in the session that it names
      Given client A has a session
      When client A chats
      Then client A is answered and its turn ends
      When client A chats
      Then client A is answered and its turn ends
      When client A chats
      Then client A is answered and its turn ends
