@agent-client @client
Feature: 3.4 agent_switched

  Rule: agent_switched sets the current agent and the selection (更新本地存储的 currentAgentId, 更新下拉选择器的选中项)

    @AC-037 @AC-038 @AC-057 @AC-058 @AC-059 @AC-3.4-01
    Scenario: agent_switched sets the current agent
      Given a page with a session
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      When the server switches to "Code Reviewer"
      Then "Code Reviewer" is selected
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "agent_busy"
      Then "Code Reviewer" is selected
      And the selector is enabled

    @AC-058 @AC-059 @AC-3.4-02
    Scenario: the page shows the agent in agent_switched even if another was requested
      Given a page with a session
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      When the server switches to "Debugger"
      Then "Debugger" is selected
      And the selector is enabled
      When the user chooses "General"
      Then the page requests a switch to "General"
      When the server refuses with "agent_busy"
      Then "Debugger" is selected

    @AC-057 @AC-059 @AC-060 @AC-119 @AC-3.4-03
    Scenario: undocumented fields of agent_switched are ignored
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger" with undocumented fields
      Then "Debugger" is selected
      And the chat announces the switch from "General" to "Debugger"

  Rule: The chat shows a system message about the switch (在聊天框添加一条系统消息,格式: "主代理已切换: {previousAgentName} → {agentName}")

    @AC-060 @AC-063 @AC-120 @AC-3.4-04
    Scenario: the chat announces each switch
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger"
      Then the chat announces the switch from "General" to "Debugger"
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      When the server switches to "Code Reviewer"
      Then the chat announces the switch from "Debugger" to "Code Reviewer"

    @AC-060 @AC-3.4-05
    Scenario: the chat uses the name in the event
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger" under the name "Debugger II"
      Then the chat announces the switch from "General" to "Debugger II"

    @AC-060 @AC-3.4-06
    Scenario: a name with markup is shown as text
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger" under the name "<img src=x onerror=PARLEY>"
      Then the chat announces the switch from "General" to "<img src=x onerror=PARLEY>"
      And no script in the server's texts has run

  Rule: The previous agent's name comes from the latest list, and otherwise is previousAgentId (优先从本地 agents 缓存中根据 previousAgentId 查找 name 字段; 若找不到匹配项,使用 previousAgentId)

    @AC-063 @AC-3.4-07
    Scenario: the previous agent is taken from the event
      Given a page with a session
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      When the server switches from "Debugger" to "Code Reviewer"
      Then the chat announces the switch from "Debugger" to "Code Reviewer"

    @AC-064 @AC-3.4-08
    Scenario: a previous agent that is in no list is announced by its id
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches from the id "my_old_agent" to "Debugger"
      Then the chat announces the switch from "my_old_agent" to "Debugger"

    @AC-063 @AC-064 @AC-3.4-09
    Scenario: the previous name comes from the latest list
      Given a page with a session
      When the server lists these agents, with the first one current:
        | general  | Generalist |
        | debugger | Debugger   |
      Then "Generalist" is selected
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger"
      Then the chat announces the switch from "Generalist" to "Debugger"

  Rule: The log shows the time of the event, or the local time if the event has none (记录事件到事件日志(包含服务端返回的 timestamp,若缺失则使用本地接收时间))

    @AC-062 @AC-3.4-10
    Scenario: an event without a timestamp is logged with the local time
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger" without a timestamp
      Then the log shows the switch from "General" to "Debugger", with the local time

  Rule: Example 3, the feedback after a switch (例 3 - 切换成功后 UI 反馈)

    @AC-065 @AC-3.4-11
    Scenario: a switch updates the selector, the chat and the log
      Given a page with a session
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      When the server switches to "Code Reviewer"
      Then "Code Reviewer" is selected
      And the chat announces the switch from "General" to "Code Reviewer"
      And the log shows an entry "agent_switched"

  Rule: Every agent_switched is announced (在聊天框添加一条系统消息)

    @AC-059 @AC-060 @AC-063 @AC-3.4-12
    Scenario: two switches in a row are both announced
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger" and at once to "Code Reviewer"
      Then the chat announces the switch from "General" to "Debugger"
      And the chat announces the switch from "Debugger" to "Code Reviewer"
      And "Code Reviewer" is selected

    @AC-057 @AC-058 @AC-059 @AC-060 @AC-3.4-13
    Scenario: agent_switched counts even if the page has requested no switch
      Given a page with a session
      When the server switches to "Debugger"
      Then "Debugger" is selected
      And the chat announces the switch from "General" to "Debugger"
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      When the server refuses with "agent_busy"
      Then "Debugger" is selected

    @AC-059 @AC-060 @AC-063 @AC-3.4-14
    Scenario: the same switch is announced a second time
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger"
      Then the chat announces the switch from "General" to "Debugger"
      When the user chooses "General"
      Then the page requests a switch to "General"
      When the server switches to "General"
      Then the chat announces the switch from "Debugger" to "General"
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger"
      Then the chat announces the switch from "General" to "Debugger"
