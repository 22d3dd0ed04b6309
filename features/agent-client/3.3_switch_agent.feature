@agent-client @client
Feature: 3.3 Sending switch_agent

  Rule: sessionId 必填,目标会话ID(客户端已知时必须携带)

    @AC-051 @AC-055 @AC-116
    Scenario: the session is named each time
      Given a page with a session
      And the page has switched to "Debugger"
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"

    @AC-051 @AC-055
    Scenario: after another session was created, that one is named
      Given a page with a session
      When the user asks for a new session
      Then the page has another session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"

    @AC-051 @AC-055 @session-list
    Scenario: a session that was loaded is named
      Given a page with a session
      When the user asks for a new session
      Then the page has another session
      When the user loads the first session
      Then the page asks to load it
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"

    @AC-045 @AC-050
    Scenario: ids are sent as they are
      Given a page with a session
      When the server lists "general" and agents of the ids "my_custom_agent", "a-b_c-1", "0" and "true"
      And the user chooses the agent "a-b_c-1"
      Then the page asks to switch to it
      When the server switches to it
      And the user chooses the agent "0"
      Then the page asks to switch to it
      When the server switches to it
      And the user chooses the agent "true"
      Then the page asks to switch to it
      When the server switches to it
      And the user chooses the agent "my_custom_agent"
      Then the page asks to switch to it

  Rule: 用户从下拉菜单选择不同主代理时触发

    @AC-052
    Scenario: looking at the selector is no choice
      Given a page with a session
      When the user looks through the selector and leaves "General"
      And the server lists the agents, and "Debugger" is current
      Then "Debugger" is selected
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      And it has asked for no other switch

    @AC-052
    Scenario: a selection that goes back is no choice
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_busy"
      Then "General" is selected
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      And it has asked for no other switch

    @AC-052
    Scenario: a switch that the server tells of is no choice
      Given a page with a session
      When the server switches to "Debugger"
      Then "Debugger" is selected
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      And it has asked for no other switch

  Rule: 若 sessionId 为空,不发送切换消息,仅记录预选状态

    @AC-054 @AC-056
    Scenario: without a session there is no message
      Given a page that is connected
      When the user chooses "Debugger"
      And the user asks for a new session
      Then the page asks for a session that begins with "Debugger"
      And it has asked for no switch
      When the server lists the agents, and "Debugger" is current
      Then "Debugger" is selected
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"

    @AC-056
    Scenario: a session that was refused is none
      Given a page that is connected
      And the server refuses sessions
      When the user asks for a new session
      Then the page asks for a session
      When the user chooses "Debugger"
      And the server grants sessions
      And the user asks for a new session
      Then the page asks for a session that begins with "Debugger"
      And it has asked for no switch

    @AC-117
    Scenario: a server that does not go by the preselection
      Given a page that is connected
      When the user chooses "Debugger"
      And the user asks for a new session
      Then the page asks for a session that begins with "Debugger"
      When the server lists the agents, and "General" is current
      Then "General" is selected
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
