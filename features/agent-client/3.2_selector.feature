@agent-client @client
Feature: 3.2 The selector

  Rule: The selector is on the right of the chat header, next to the new-session button (UI 位置: 聊天面板头部的右侧,紧挨着"新建会话"按钮)

    @AC-027 @AC-3.2-01
    Scenario: the selector is next to the new-session button
      Given a connected page
      Then the selector is on the right of the chat header, next to the new-session button

  Rule: The selector is a select element (下拉选择框(select 元素))

    @AC-011 @AC-028 @AC-029 @connect @AC-3.2-02
    Scenario: the selector is a select element with the id mainAgentSelect
      Given an open page
      Then the page has an agent selector
      And the selector is a select element
      And the selector has the id "mainAgentSelect"

  Rule: The selector is disabled from switch_agent until agent_switched or error (发送 switch_agent 后立即禁用下拉框,显示 loading 样式; 收到 agent_switched 或 error 后恢复可用)

    @AC-034 @AC-035 @AC-036 @AC-046 @AC-059 @AC-3.2-03
    Scenario: the selector is disabled and looks busy until agent_switched
      Given a page with a session
      And the server holds its HTTP responses
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      And the selector is disabled
      And the selector looks busy
      When the server sends the held responses
      Then the selector is still disabled
      And the selector still looks busy
      When the server switches to "Code Reviewer"
      Then the selector is enabled
      And the selector no longer looks busy
      And "Code Reviewer" is selected
      And the chat announces the switch from "General" to "Code Reviewer"

    @AC-034 @AC-036 @AC-3.2-04
    Scenario: agent_switched ends a switch even before the HTTP response
      Given a page with a session
      And the server holds its HTTP responses
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      And the selector is disabled
      When the server switches to "Debugger"
      Then the selector is enabled
      And "Debugger" is selected
      When the server sends the held responses
      Then "Debugger" is still selected
      And the selector is still enabled

    @AC-034 @AC-036 @AC-3.2-05
    Scenario: other events do not end a switch
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server sends undocumented events
      And the server sends the chat message "hello"
      Then the selector is still disabled
      When the server switches to "Debugger"
      Then the selector is enabled
      And "Debugger" is selected

    @AC-037 @AC-038 @AC-035 @AC-3.2-06
    Scenario Outline: an error ends the switch and restores the selection: <code>
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      And the selector is disabled
      When the server refuses with "<code>"
      Then the selector is enabled
      And the selector no longer looks busy
      And "General" is selected

      Examples:
        | code                    |
        | invalid_agent_id        |
        | invalid_agent_id_format |
        | agent_not_found         |
        | agent_busy              |
        | session_not_found       |

    @AC-037 @AC-038 @AC-3.2-11
    Scenario: an error ends a switch even before the HTTP response
      Given a page with a session
      And the server holds its HTTP responses
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "agent_busy"
      Then the selector is enabled
      And "General" is selected
      When the server sends the held responses
      Then "General" is still selected
      And the selector is still enabled

    @AC-036 @AC-037 @AC-038 @AC-3.2-12
    Scenario: the selector follows several switches in a row
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "agent_busy"
      Then "General" is selected
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      When the server switches to "Code Reviewer"
      Then "Code Reviewer" is selected
      When the user chooses "General"
      Then the page requests a switch to "General"
      When the server switches to "General"
      Then "General" is selected
      And the selector is enabled

  Rule: Without a session an agent can be preselected (未绑定会话时: 支持预选主代理)

    @AC-039 @AC-040 @AC-041 @AC-042 @AC-043 @AC-044 @AC-094 @AC-095 @AC-096 @AC-097 @AC-3.2-13
    Scenario: an agent is preselected for a new session
      Given a connected page
      Then the selector is enabled
      When the user chooses "Debugger"
      Then the page shows the prompt "已预选主代理: Debugger,新建会话时将自动使用该主代理"
      And the selector is enabled
      And "Debugger" is selected
      When the user asks for a new session
      Then the page requests a session with the initial agent "Debugger"
      And it has requested no switch

    @AC-041 @AC-043 @AC-044 @AC-3.2-14
    Scenario: the last preselection counts
      Given a connected page
      When the user chooses "Debugger"
      Then the page shows the prompt "已预选主代理: Debugger,新建会话时将自动使用该主代理"
      When the user chooses "Code Reviewer"
      Then the page shows the prompt "已预选主代理: Code Reviewer,新建会话时将自动使用该主代理"
      When the user asks for a new session
      Then the page requests a session with the initial agent "Code Reviewer"
      And it has requested no switch

    @AC-044 @AC-3.2-15
    Scenario: a preselected name with markup is shown as text
      Given a connected page without an agent list
      When the server lists these agents, with the first one current:
        | general | General                    |
        | image   | <img src=x onerror=PARLEY> |
      And the user chooses "<img src=x onerror=PARLEY>"
      Then the page shows the prompt "已预选主代理: <img src=x onerror=PARLEY>,新建会话时将自动使用该主代理"
      And no script in the server's texts has run

  Rule: Example 2, a successful switch (例 2 - 正常切换流程)

    @AC-008 @AC-009 @AC-013 @AC-045 @AC-046 @AC-047 @AC-3.2-16
    Scenario: a successful switch updates the selector and the chat
      Given a page with a session
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      And the selector is disabled
      And the selector looks busy
      When the server switches to "Code Reviewer"
      Then the selector is enabled
      And "Code Reviewer" is selected
      And the chat announces the switch from "General" to "Code Reviewer"

  Rule: Example 2b, a refused switch (例 2b - 切换失败回滚)

    @AC-009 @AC-014 @AC-048 @AC-049 @AC-3.2-17
    Scenario: a switch is refused because the session is busy
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "agent_busy"
      Then the page shows the prompt "当前会话有进行中的任务"
      And the selector is enabled
      And "General" is selected

  Rule: Only agent_switched and error end a switch (收到 agent_switched 或 error 后恢复可用)

    @AC-014 @AC-034 @AC-035 @AC-037 @AC-038 @AC-073 @AC-3.2-18
    Scenario: a list during a switch does not end it, and the switch is refused after that
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      And the selector looks busy
      When the server lists the agents, with "General" current
      Then the selector is still disabled
      And the selector still looks busy
      When the server refuses with "agent_busy"
      Then the page shows the prompt "当前会话有进行中的任务,请先终止对话后再切换主代理"
      And the selector is enabled
      And the selector no longer looks busy
      And "General" is selected

    @AC-034 @AC-036 @AC-059 @AC-060 @AC-3.2-19
    Scenario Outline: a list with <agent> current, before the HTTP response, does not end a switch
      Given a page with a session
      And the server holds its HTTP responses
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      And the selector is disabled during the switch
      When the server lists the agents, with "<agent>" current
      Then the selector is still disabled
      When the server sends the held responses
      Then the selector is still disabled
      When the server switches from "General" to "Debugger"
      Then the selector is enabled
      And "Debugger" is selected
      And the chat announces the switch from "General" to "Debugger"

      Examples:
        | agent    |
        | General  |
        | Debugger |

  Rule: Each preselection is prompted (提示:"已预选主代理: {name},新建会话时将自动使用该主代理")

    @AC-044 @AC-097 @AC-3.2-21
    Scenario: an agent that is preselected a second time is prompted again
      Given a connected page
      When the user chooses "Debugger"
      Then the page shows the prompt "已预选主代理: Debugger,新建会话时将自动使用该主代理"
      When the user chooses "Code Reviewer"
      Then the page shows the prompt "已预选主代理: Code Reviewer,新建会话时将自动使用该主代理"
      When the page has had time to remove the prompt "已预选主代理: Debugger,新建会话时将自动使用该主代理"
      And the user chooses "Debugger"
      Then the page again shows the prompt "已预选主代理: Debugger,新建会话时将自动使用该主代理"
