@agent-client @client
Feature: 3.3 Sending switch_agent

  Rule: switch_agent names the session (sessionId 必填,目标会话ID(客户端已知时必须携带))

    @AC-051 @AC-055 @AC-116 @AC-3.3-01
    Scenario: every switch names the session
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger"
      Then "Debugger" is selected
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"

    @AC-051 @AC-055 @AC-3.3-02
    Scenario: a switch names the newest session
      Given a page with a session
      When the user asks for a new session
      Then the page requests a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"

    @AC-051 @AC-055 @session-list @AC-3.3-03
    Scenario: a switch names a loaded session
      Given a page with a session
      When the user asks for a new session
      Then the page requests a session
      When the user loads the first session
      Then the page requests that session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"

    @AC-045 @AC-050 @AC-3.3-04
    Scenario: ids are sent unchanged
      Given a page with a session
      When the server lists these agents, with the first one current:
        | general         | General         |
        | a-b_c-1         | Agent One       |
        | 0               | Agent Zero      |
        | true            | Agent True      |
        | my_custom_agent | My Custom Agent |
      And the user chooses "Agent One"
      Then the page requests a switch to "Agent One"
      When the server switches to "Agent One"
      And the user chooses "Agent Zero"
      Then the page requests a switch to "Agent Zero"
      When the server switches to "Agent Zero"
      And the user chooses "Agent True"
      Then the page requests a switch to "Agent True"
      When the server switches to "Agent True"
      And the user chooses "My Custom Agent"
      Then the page requests a switch to "My Custom Agent"

  Rule: The page sends switch_agent only when the user chooses another agent (用户从下拉菜单选择不同主代理时触发)

    @AC-052 @AC-3.3-05
    Scenario: choosing the selected agent again sends nothing
      Given a page with a session
      When the user chooses "General"
      And the server lists the agents, with "Debugger" current
      Then "Debugger" is selected
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      And it has requested no other switch

    @AC-052 @AC-3.3-06
    Scenario: a restored selection sends nothing
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "agent_busy"
      Then "General" is selected
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      And it has requested no other switch

    @AC-052 @AC-3.3-07
    Scenario: a switch by the server sends nothing
      Given a page with a session
      When the server switches to "Debugger"
      Then "Debugger" is selected
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      And it has requested no other switch

  Rule: Without a session a choice is recorded and nothing is sent (若 sessionId 为空,不发送切换消息,仅记录预选状态)

    @AC-054 @AC-056 @AC-3.3-08
    Scenario: a preselection sends no switch_agent
      Given a connected page
      When the user chooses "Debugger"
      And the user asks for a new session
      Then the page requests a session with the initial agent "Debugger"
      And it has requested no switch
      When the server lists the agents, with "Debugger" current
      Then "Debugger" is selected
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"

    @AC-056 @AC-3.3-09
    Scenario: a refused session leaves the page without a session
      Given a connected page
      And the server refuses to create sessions
      When the user asks for a new session
      Then the page requests a session
      When the user chooses "Debugger"
      And the server creates sessions again
      And the user asks for a new session
      Then the page requests a session with the initial agent "Debugger"
      And it has requested no switch

    @AC-117 @AC-3.3-10
    Scenario: the user can switch after the server has ignored the preselection
      Given a connected page
      When the user chooses "Debugger"
      And the user asks for a new session
      Then the page requests a session with the initial agent "Debugger"
      When the server lists the agents, with "General" current
      Then "General" is selected
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
