@agent-select @server
Feature: 3.2 Switching the agent
  A switch that succeeds is announced by agent_switched (服务端切换成功，推送 agent_switched 事件).

  Rule: agent_switched names the previous and the current agent (服务端切换成功，推送 agent_switched 事件)

    @preflight-3 @AS-011 @AS-017 @AS-018 @AS-042 @AS-044 @AS-084 @AS-3.2-01
    Scenario: a switch is confirmed
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched to "debugger"

    @interop @AS-041 @AS-042 @AS-043 @AS-044 @AS-045 @AS-3.2-02
    Scenario: a session switches to another agent and back
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"
      When client A switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"
      When client A switches to "debugger"
      Then client A is switched from "requirement_analyzer" to "debugger"

    @AS-042 @AS-043 @AS-044 @AS-045 @AS-3.2-03
    Scenario: a switch that names its session is confirmed
      Given client A has a session
      When client A switches its session to "debugger"
      Then client A is switched from the default agent to "debugger"
      When client A switches its session to "general"
      Then client A is switched from "debugger" to "general"

    @AS-042 @AS-3.2-04
    Scenario: a switch to the current agent leaves it unchanged
      Given client A has switched to "debugger"
      When client A switches to "debugger"
      Then the answer to client A is recorded
      When client A switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"

    @AS-042 @AS-043 @AS-3.2-05
    Scenario: the second of two concurrent switches starts from the agent of the first
      Given client A has switched to "debugger"
      When client A switches to "requirement_analyzer" and to "general" at once
      Then each switch of client A starts where the previous one ended

  Rule: A client switches to a custom agent (客户端想从 `general` 切换到用户自定义的 `code_reviewer` 主代理)

    @AS-046 @AS-3.2-06
    Scenario: a session switches to a custom agent and back
      Given the target has a custom agent
      And client A has a session
      When client A switches to the custom agent
      Then client A is switched from the default agent to the custom agent
      When client A switches to "debugger"
      Then client A is switched from the custom agent to "debugger"
      When client A switches to the custom agent
      Then client A is switched from "debugger" to the custom agent

  Rule: Later turns use the prompt and the tools of the new agent (后续对话使用 code_reviewer 主代理的配置（自定义的系统提示词、工具权限等）)

    @AS-047 @AS-048 @model @AS-3.2-07
    Scenario: the model gets the prompt and the tools of the new agent
      Given the target has a custom agent
      And client A has a session
      And client A has chatted
      And client A has switched to "debugger"
      And client A has chatted
      And client A has switched to the custom agent
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was given the prompt of the custom agent
      And the model of client A was given the tools of the custom agent

    @AS-047 @AS-048 @model @AS-3.2-08
    Scenario: after a switch back, the model no longer gets the prompt and the tools of the custom agent
      Given the target has a custom agent
      And client A has a session
      And client A has chatted
      And client A has switched to the custom agent
      And client A has chatted
      And client A has switched to "general"
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was not given the prompt of the custom agent
      And the model of client A was not given the tools of the custom agent

    @AS-006 @AS-047 @AS-069 @model @AS-3.2-09
    Scenario: each turn uses the current agent of its session
      Given client A has chatted
      And client A has switched to the custom agent
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was given the prompt of the custom agent
      When client A, once idle, switches to "general"
      Then client A is switched from the custom agent to "general"
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was not given the prompt of the custom agent

    @AS-006 @AS-047 @AS-069 @model @AS-3.2-10
    Scenario: the turn after a second switch to the same agent uses it again
      Given client A has switched to the custom agent
      And client A has chatted
      And client A has switched to "general"
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was not given the prompt of the custom agent
      When client A, once idle, switches to the custom agent
      Then client A is switched from "general" to the custom agent
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was given the prompt of the custom agent

  Rule: A client that has the server to itself is answered (支持客户端通过消息切换当前会话的主代理)

    @preflight-3 @AS-006 @AS-011 @AS-013 @AS-041 @AS-042 @AS-043 @AS-044 @AS-084 @AS-085 @AS-119 @AS-3.2-11
    Scenario: one client alone is switched and refused
      Given client A has a session
      Then client A, alone, can switch to each built-in agent and is refused invalid switches

  Rule: Every later turn uses the new agent, however soon it comes (后续对话使用 code_reviewer 主代理的配置)

    @AS-047 @AS-069 @model @AS-3.2-12
    Scenario: chats right behind the turns before them use the agent to which the session was switched
      Given the target has a custom agent
      And client A has switched to the custom agent
      Then client A is answered in each of 8 chats, each sent right after the previous turn
      And every turn of client A had the prompt of the custom agent

  Rule: agentName is the name that the agent has in agent_list (agentName: "Code Reviewer")

    @AS-045 @exclusive @AS-3.2-13
    Scenario: an agent that is renamed after its first use is announced by its new name
      Given the agent "parley_renamed" has been added to the configuration
      And client A has switched to "parley_renamed"
      And client A has switched to "debugger"
      When the agent "parley_renamed" is renamed in the configuration
      Then a new client is offered "parley_renamed" under its new name
      When client A reconnects
      Then client A is offered "parley_renamed"
      Given client A has a session
      When client A switches to "parley_renamed"
      Then client A is switched from the default agent to "parley_renamed"
