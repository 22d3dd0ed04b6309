@agent-select @server
Feature: 3.4 Several clients switch independently
  Clients A and B are connected at the same time, each with its own session
  (客户端 A 和客户端 B 同时连接到同一 SSE 服务端，各自使用不同的 session).

  Rule: Every session starts with the default agent (创建 session A，默认使用 general 主代理)

    @AS-055 @AS-056 @AS-128 @two-clients @AS-3.4-01
    Scenario: two concurrent sessions both start with the default agent
      Given client A has a session
      And client B has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"
      When client B switches to "debugger"
      Then client B is switched from the default agent to "debugger"

    @AS-055 @AS-056 @AS-128 @AS-3.4-02
    Scenario: two successive sessions both start with the default agent
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"
      Given client A has disconnected
      And client B has a session
      When client B switches to "requirement_analyzer"
      Then client B is switched from the default agent to "requirement_analyzer"

  Rule: A switch of client A affects the session of client A only (客户端 A 切换到 debugger 主代理（仅影响 session A）)

    @AS-057 @AS-058 @AS-059 @two-clients @AS-3.4-03
    Scenario: a switch of client A does not affect client B
      Given client A has a session
      And client B has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"
      And client B receives no "agent_switched"
      When client B switches to "requirement_analyzer"
      Then client B is switched from the default agent to "requirement_analyzer"

    @AS-057 @AS-058 @AS-059 @two-clients @AS-3.4-04
    Scenario: a switch of client B does not affect client A
      Given client A has a session
      And client B has a session
      When client B switches to "debugger"
      Then client B is switched from the default agent to "debugger"
      And client A receives no "agent_switched"
      When client A switches to "requirement_analyzer"
      Then client A is switched from the default agent to "requirement_analyzer"

    @AS-059 @AS-3.4-05
    Scenario: a switch that names its session is not announced to a client without a session
      Given client A has a session
      And client B is connected
      When client A switches its session to "debugger"
      Then client A is switched from the default agent to "debugger"
      And client B receives no "agent_switched"

    @AS-057 @AS-058 @AS-3.4-06
    Scenario: a switch does not affect a later session
      Given client A has switched to "debugger"
      And client A has disconnected
      And client B has a session
      When client B switches to "requirement_analyzer"
      Then client B is switched from the default agent to "requirement_analyzer"

    @AS-058 @AS-059 @two-clients @exclusive @AS-3.4-07
    Scenario: a refusal of client A does not affect client B
      Given client A has switched to "debugger"
      And client B has switched to "requirement_analyzer"
      When client A switches to "hacker"
      Then client A is refused
      And client B receives no "agent_switched"
      When client B switches to "debugger"
      Then client B is switched from "requirement_analyzer" to "debugger"

  Rule: The turns of two clients each use the agent of their own session (两个客户端后续对话使用各自独立的主代理配置)

    @AS-060 @model @two-clients @AS-3.4-08
    Scenario: concurrent turns of two clients each use their own agent
      Given the target has a custom agent
      And client A has a session
      And client B has a session
      And client A has switched to the custom agent
      When client A chats
      And client B chats
      Then client A is answered and its turn ends
      And client B is answered and its turn ends
      And the model of client A was given the prompt of the custom agent
      And the model of client B was not given the prompt of the custom agent

    @AS-060 @model @AS-3.4-09
    Scenario: successive turns of two clients each use their own agent
      Given the target has a custom agent
      And client A has switched to the custom agent
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was given the prompt of the custom agent
      Given client A has disconnected
      And client B has a session
      When client B chats
      Then client B is answered and its turn ends
      And the model of client B was not given the prompt of the custom agent
