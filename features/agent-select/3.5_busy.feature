@agent-select @server
Feature: 3.5 Switching during a conversation
  While a session has a task in progress, a switch is refused with `agent_busy`
  (如果 session 存在进行中的任务（如等待工具确认、API 调用中），`switch_agent` 请求应返回错误，错误码为 `agent_busy`).

  Rule: A running turn makes the session busy (如果 session 存在进行中的任务（如……API 调用中）)

    @AS-064 @AS-066 @AS-125 @AC-077 @AC-078 @model @AS-3.5-01
    Scenario: a switch is refused while the model is being called
      Given client A has switched to "debugger"
      And client A has a turn running
      When client A switches to "general"
      Then client A is refused with "agent_busy"
      And the text of the refusal of client A is recorded
      And client A receives no "agent_switched"
      When the model lets the turn of client A continue
      Then the turn of client A ends
      When client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-064 @AS-066 @AS-109 @model @AS-3.5-02
    Scenario: a switch is refused while the model is being called again after a tool
      Given client A has switched to "debugger"
      And client A is asked to confirm a tool before the model waits
      When client A confirms
      And the model is called again for client A
      And client A switches to "general"
      Then client A is refused with "agent_busy"
      When the model lets the turn of client A continue
      Then the turn of client A ends
      When client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

  Rule: Waiting for the user makes the session busy (如果 session 存在进行中的任务（如等待工具确认……）)

    @AS-064 @AS-065 @AS-125 @model @AS-3.5-03
    Scenario: a switch is refused while a tool waits for confirmation
      Given client A has switched to "debugger"
      And client A is asked to confirm a tool
      When client A switches to "general"
      Then client A is refused with "agent_busy"
      And client A receives no "agent_switched"
      When client A confirms
      Then the turn of client A ends
      When client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-064 @model @AS-3.5-04
    Scenario: a switch is refused while a question waits for its answer
      Given client A has switched to "debugger"
      And client A is asked a question
      When client A switches to "general"
      Then client A is refused with "agent_busy"
      And client A receives no "agent_switched"
      When client A answers
      Then the turn of client A ends
      When client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

  Rule: A client that was refused with agent_busy aborts the task and switches again (客户端收到 `agent_busy` 错误后，应先发送 `abort` 消息中断当前任务，然后再尝试切换)

    @AS-064 @AS-068 @AC-079 @model @AS-3.5-05
    Scenario: a client can switch after it has aborted a running turn
      Given client A has switched to "debugger"
      And client A has a turn running
      When client A switches to "general"
      Then client A is refused with "agent_busy"
      When client A aborts
      And client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-064 @AS-068 @model @AS-3.5-06
    Scenario: a client can switch after it has aborted a pending confirmation
      Given client A has switched to "debugger"
      And client A is asked to confirm a tool
      When client A switches to "general"
      Then client A is refused with "agent_busy"
      When client A aborts
      And client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-064 @AS-068 @model @AS-3.5-07
    Scenario: a client can switch after it has aborted a pending question
      Given client A has switched to "debugger"
      And client A is asked a question
      When client A switches to "general"
      Then client A is refused with "agent_busy"
      When client A aborts
      And client A, once idle, switches to "general"
      Then client A is switched from "debugger" to "general"

  Rule: A running turn finishes with the agent that started it (当前正在进行的对话继续使用切换前的主代理配置完成)

    @AS-061 @AS-062 @AS-125 @model @AS-3.5-08
    Scenario: a running turn finishes with the agent that started it
      Given the target has a custom agent
      And client A has switched to the custom agent
      And client A has a turn running that will ask to confirm a tool
      When client A switches to "general"
      Then client A is refused with "agent_busy"
      And the turn of client A still runs
      When the model lets the turn of client A continue
      And client A confirms
      Then the turn of client A ends
      And every call of that turn of client A had the prompt of the custom agent

    @AS-061 @AS-125 @model @AS-3.5-09
    Scenario: a refused switch does not take effect in the next turn
      Given the target has a custom agent
      And client A has switched to "debugger"
      And client A has a turn running
      When client A switches to the custom agent
      Then client A is refused with "agent_busy"
      When the model lets the turn of client A continue
      Then the turn of client A ends
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was not given the prompt of the custom agent
      When client A, once idle, switches to the custom agent
      Then client A is switched from "debugger" to the custom agent
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was given the prompt of the custom agent

    @AS-062 @model @AS-3.5-10
    Scenario: a switch that is refused while the server waits for the user does not affect the turn
      Given the target has a custom agent
      And client A has switched to the custom agent
      And client A is asked to confirm a tool
      When client A switches to "general"
      Then client A is refused with "agent_busy"
      And the turn of client A still runs
      When client A confirms
      Then the turn of client A ends
      And every call of that turn of client A had the prompt of the custom agent

  Rule: The turn after a switch uses the new agent (切换成功后，新对话立即使用新主代理配置)

    @AS-061 @AS-069 @model @AS-3.5-11
    Scenario: the turn after a switch uses the new agent, and the turn before it does not
      Given the target has a custom agent
      And client A has a session
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was not given the prompt of the custom agent
      When client A, once idle, switches to the custom agent
      Then client A is switched from the default agent to the custom agent
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was given the prompt of the custom agent

    @AS-064 @AS-069 @model @AS-3.5-12
    Scenario: the turn after an abort uses the new agent
      Given the target has a custom agent
      And client A has a session
      And client A has a turn running
      When client A aborts
      And client A, once idle, switches to the custom agent
      Then client A is switched from the default agent to the custom agent
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was given the prompt of the custom agent
