@agent-select @server
Feature: 1.2 Every session chooses its own agent
  Each session chooses and switches its agent independently of all others
  (使每个 SSE 会话（sessionId）可以独立选择和切换主代理，不同 sessionId 之间互不干扰).

  Rule: Each session can choose and switch its agent independently of other sessions (使每个 SSE 会话（sessionId）可以独立选择和切换主代理)

    @AS-005 @two-clients @AS-1.2-01
    Scenario: two sessions choose different agents
      Given client A has a session
      And client B has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"
      When client B switches to "requirement_analyzer"
      Then client B is switched from the default agent to "requirement_analyzer"

    @AS-005 @AS-1.2-02
    Scenario: two sessions choose different agents, one after the other
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"
      Given client A has disconnected
      And client B has a session
      When client B switches to "requirement_analyzer"
      Then client B is switched from the default agent to "requirement_analyzer"

    @AS-006 @AS-1.2-03
    Scenario: a session can switch repeatedly
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"
      When client A switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"
      When client A switches to "general"
      Then client A is switched from "requirement_analyzer" to "general"
      When client A switches to "debugger"
      Then client A is switched from "general" to "debugger"

  Rule: Sessions do not interfere with each other (不同 sessionId 之间互不干扰)

    @AS-007 @two-clients @AS-1.2-04
    Scenario: interleaved switches of two sessions do not mix
      Given client A has switched to "debugger"
      And client B has switched to "requirement_analyzer"
      When client A switches to "general"
      And client B switches to "general"
      Then client A is switched from "debugger" to "general"
      And client B is switched from "requirement_analyzer" to "general"

    @AS-007 @AS-1.2-05
    Scenario: a session that is created later starts with the default agent
      Given client A has switched to "debugger"
      And client A has disconnected
      And client B has a session
      When client B switches to "requirement_analyzer"
      Then client B is switched from the default agent to "requirement_analyzer"

    @AS-005 @AS-007 @AS-059 @model @two-clients @AS-1.2-06
    Scenario: chats of several sessions at once stay in their own conversations
      Given client A has a session
      And client B has a session
      And client C has a session
      And client A has a turn running that will answer
      And client B has a turn running that will answer
      And client C has a turn running that will answer
      When the model lets the turn of client B continue
      Then the turn of client B ends
      When the model lets the turn of client A continue
      Then the turn of client A ends
      When the model lets the turn of client C continue
      Then the turn of client C ends
      When client A chats
      And client C chats
      And client B chats
      Then client A is answered and its turn ends
      And client B is answered and its turn ends
      And client C is answered and its turn ends
      And the model of client A was given the conversation of its session only
      And the model of client B was given the conversation of its session only
      And the model of client C was given the conversation of its session only

  Rule: A session can be switched as often as its client likes (使每个 SSE 会话（sessionId）可以独立选择和切换主代理)

    @AS-006 @AS-042 @AS-1.2-07
    Scenario: a session can switch many times on one connection
      Given client A has switched to "debugger"
      Then client A is switched 30 times in a row
