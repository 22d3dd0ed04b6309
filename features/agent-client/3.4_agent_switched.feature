@agent-client @client
Feature: 3.4 agent_switched

  Rule: 更新本地存储的 currentAgentId, 更新下拉选择器的选中项

    @AC-037 @AC-038 @AC-057 @AC-058 @AC-059
    Scenario: the new agent is the current one
      Given a page with a session
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      When the server switches to "Code Reviewer"
      Then "Code Reviewer" is selected
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_busy"
      Then "Code Reviewer" is selected
      And the selector is enabled

    @AC-058 @AC-059
    Scenario: the server has the last word
      Given a page with a session
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      When the server switches to "Debugger"
      Then "Debugger" is selected
      And the selector is enabled
      When the user chooses "General"
      Then the page asks to switch to "General"
      When the server refuses with "agent_busy"
      Then "Debugger" is selected

    @AC-057 @AC-059 @AC-060 @AC-119
    Scenario: with more in it than the document has
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server switches to "Debugger" with more in it than the document has
      Then "Debugger" is selected
      And the chat tells of a switch from "General" to "Debugger"

  Rule: 在聊天框添加一条系统消息,格式: "主代理已切换: {previousAgentName} → {agentName}"

    @AC-060 @AC-063 @AC-120
    Scenario: each switch is told
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server switches to "Debugger"
      Then the chat tells of a switch from "General" to "Debugger"
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      When the server switches to "Code Reviewer"
      Then the chat tells of a switch from "Debugger" to "Code Reviewer"

    @AC-060
    Scenario: the name is that of the event
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server switches to "Debugger" by the name "Debugger II"
      Then the chat tells of a switch from "General" to "Debugger II"

    @AC-060
    Scenario: a name that is text
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server switches to "Debugger" by the name "<img src=x onerror=PARLEY>"
      Then the chat tells of a switch from "General" to "<img src=x onerror=PARLEY>"
      And nothing that the server said was carried out

  Rule: 优先从本地 agents 缓存中根据 previousAgentId 查找 name 字段; 若找不到匹配项,使用 previousAgentId

    @AC-063
    Scenario: the former agent is that of the event
      Given a page with a session
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      When the server switches from "Debugger" to "Code Reviewer"
      Then the chat tells of a switch from "Debugger" to "Code Reviewer"

    @AC-064
    Scenario: the former agent is in no list
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server switches from the agent "my_old_agent" to "Debugger"
      Then the chat tells of a switch from "my_old_agent" to "Debugger"

    @AC-063 @AC-064
    Scenario: names are those of the latest list
      Given a page with a session
      When the server lists "general" under the name "Generalist" and "Debugger", and "general" is current
      Then "Generalist" is selected
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server switches to "Debugger"
      Then the chat tells of a switch from "Generalist" to "Debugger"

  Rule: 记录事件到事件日志(包含服务端返回的 timestamp,若缺失则使用本地接收时间)

    @AC-062
    Scenario: the log has the local time
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server switches to "Debugger", and gives no time
      Then the log has the switch from "General" to "Debugger", with the local time

  Rule: 例 3 - 切换成功后 UI 反馈

    @AC-065
    Scenario: everything that a switch changes
      Given a page with a session
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      When the server switches to "Code Reviewer"
      Then "Code Reviewer" is selected
      And the chat tells of a switch from "General" to "Code Reviewer"
      And the log has an entry "agent_switched"
