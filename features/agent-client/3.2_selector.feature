@agent-client @client
Feature: 3.2 The selector

  Rule: UI 位置: 聊天面板头部的右侧,紧挨着"新建会话"按钮

    @AC-027
    Scenario: where it is
      Given a page that is connected
      Then the selector is at the right of the chat's header, next to the button for a new session

  Rule: 下拉选择框(select 元素)

    @AC-011 @AC-028 @AC-029 @connect
    Scenario: what it is
      Given a page
      Then there is a selector
      And the selector is a select element
      And the selector has the id of the document

  Rule: 发送 switch_agent 后立即禁用下拉框,显示 loading 样式; 收到 agent_switched 或 error 后恢复可用

    @AC-034 @AC-035 @AC-036 @AC-046 @AC-059
    Scenario: while it switches, until it has
      Given a page with a session
      And the server leaves requests without an answer
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      And the selector is disabled
      And the selector looks busy
      When the server answers the request
      Then the selector is still disabled
      And the selector still looks busy
      When the server switches to "Code Reviewer"
      Then the selector is enabled
      And the selector looks busy no more
      And "Code Reviewer" is selected
      And the chat tells of a switch from "General" to "Code Reviewer"

    @AC-034 @AC-036
    Scenario: the event comes before the answer to the request
      Given a page with a session
      And the server leaves requests without an answer
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      And the selector is disabled
      When the server switches to "Debugger"
      Then the selector is enabled
      And "Debugger" is selected
      When the server answers the request
      Then "Debugger" is still selected

    @AC-034 @AC-036
    Scenario: other events end no switch
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server says what no document knows
      And the server says "hello" in the chat
      Then the selector is still disabled
      When the server switches to "Debugger"
      Then the selector is enabled
      And "Debugger" is selected

    @AC-037 @AC-038 @AC-035
    Scenario Outline: an error ends it, and the selection is that of before
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      And the selector is disabled
      When the server refuses with "<code>"
      Then the selector is enabled
      And the selector looks busy no more
      And "General" is selected

      Examples:
        | code                    |
        | invalid_agent_id        |
        | invalid_agent_id_format |
        | agent_not_found         |
        | agent_busy              |
        | session_not_found       |

    @AC-037 @AC-038
    Scenario: an error that comes before the answer to the request
      Given a page with a session
      And the server leaves requests without an answer
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_busy"
      Then the selector is enabled
      And "General" is selected
      When the server answers the request
      Then "General" is still selected

    @AC-036 @AC-037 @AC-038
    Scenario: again and again
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_busy"
      Then "General" is selected
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      When the server switches to "Code Reviewer"
      Then "Code Reviewer" is selected
      When the user chooses "General"
      Then the page asks to switch to "General"
      When the server switches to "General"
      Then "General" is selected
      And the selector is enabled

  Rule: 未绑定会话时: 支持预选主代理

    @AC-039 @AC-040 @AC-041 @AC-042 @AC-043 @AC-044 @AC-094 @AC-095 @AC-096 @AC-097
    Scenario: an agent for the session to come
      Given a page that is connected
      Then the selector is enabled
      When the user chooses "Debugger"
      Then the page tells "已预选主代理: Debugger,新建会话时将自动使用该主代理"
      And the selector is enabled
      And "Debugger" is selected
      When the user asks for a new session
      Then the page asks for a session that begins with "Debugger"
      And it has asked for no switch

    @AC-041 @AC-043 @AC-044
    Scenario: the last choice counts
      Given a page that is connected
      When the user chooses "Debugger"
      Then the page tells "已预选主代理: Debugger,新建会话时将自动使用该主代理"
      When the user chooses "Code Reviewer"
      Then the page tells "已预选主代理: Code Reviewer,新建会话时将自动使用该主代理"
      When the user asks for a new session
      Then the page asks for a session that begins with "Code Reviewer"
      And it has asked for no switch

    @AC-044
    Scenario: a name that is text
      Given a page that is connected, and has no list
      When the server lists an agent named "<img src=x onerror=PARLEY>"
      And the user chooses it
      Then the page tells of its preselection
      And nothing that the server said was carried out

  Rule: 例 2 - 正常切换流程

    @AC-008 @AC-009 @AC-013 @AC-045 @AC-046 @AC-047
    Scenario: from General to Code Reviewer
      Given a page with a session
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      And the selector is disabled
      And the selector looks busy
      When the server switches to "Code Reviewer"
      Then the selector is enabled
      And "Code Reviewer" is selected
      And the chat tells of a switch from "General" to "Code Reviewer"

  Rule: 例 2b - 切换失败回滚

    @AC-009 @AC-014 @AC-048 @AC-049
    Scenario: the session is busy
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_busy"
      Then the page tells "当前会话有进行中的任务"
      And the selector is enabled
      And "General" is selected
