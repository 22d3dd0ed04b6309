@agent-client @client
Feature: 3.5 Errors

  Rule: 支持的错误码及提示策略

    @AC-014 @AC-066 @AC-067 @AC-068 @AC-069 @AC-073 @AC-074 @AC-075 @AC-076
    Scenario: each code has its prompt, whatever the server's message is
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "invalid_agent_id" and the message "Something else (E4711)"
      Then the page tells "主代理 ID 不能为空"
      And it is observed whether the page tells "有效的主代理"
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "invalid_agent_id_format" and the message "Something else (E4711)"
      Then the page tells "主代理 ID 格式错误,只能包含小写字母、数字、下划线和连字符"
      And it is observed whether the page tells "检查主代理"
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_busy" and the message "Something else (E4711)"
      Then the page tells "当前会话有进行中的任务,请先终止对话后再切换主代理"
      And it is observed whether the page tells "重试"
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "session_not_found" and the message "Something else (E4711)"
      Then the page tells "会话不存在,请先创建或加载会话"
      And it is observed whether the page tells "新建会话"

    @AC-014 @AC-070 @AC-115
    Scenario: agent_not_found has the server's own words
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_not_found" and the message "Agent not found: debugger"
      Then the page tells "Agent not found: debugger"
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_not_found" and the message "Invalid agent ID: debugger"
      Then the page tells "Invalid agent ID: debugger"
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_not_found" and the message "找不到主代理 debugger"
      Then the page tells "找不到主代理 debugger"
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_not_found" and the message "No <img src=x onerror=PARLEY> such debugger"
      Then the page tells "No <img src=x onerror=PARLEY> such debugger"
      And nothing that the server said was carried out

  Rule: 列出 availableAgents 中的可用主代理, 客户端自动刷新 agent_list

    @AC-071 @AC-072 @AC-085 @AC-086 @AC-118 @AC-123
    Scenario: the agents that there are
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_not_found", and has "General" and "Planner"
      Then the agents "General" and "Planner" are told
      And the options are "General" and "Planner"
      And "General" is selected

    @AC-085
    Scenario: the names of before are gone
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_not_found", and has "General" and "Planner"
      Then the options are "General" and "Planner"
      When the user chooses "Planner"
      Then the page asks to switch to "Planner"
      When the server switches from the agent "code_reviewer" to "Planner"
      Then the chat tells of a switch from "code_reviewer" to "Planner"

    @AC-085 @AC-053
    Scenario: what is new can be chosen
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_not_found", and has "General" and "Planner"
      Then the options are "General" and "Planner"
      When the user chooses "Planner"
      Then the page asks to switch to "Planner"
      When the server switches to "Planner"
      Then "Planner" is selected
      And the chat tells of a switch from "General" to "Planner"

    @AC-037 @AC-070 @AC-072 @AC-085 @AC-086
    Scenario: there are none any more
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_not_found", and has no agents
      Then the page tells of it
      And none of the options is an agent
      When the server lists the agents
      Then the selector is enabled
      And the options are the agents

    @AC-037 @AC-070
    Scenario: without a list
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_not_found", and gives no list
      Then the selector is enabled
      And the page tells of it

  Rule: 例 4 - agent_busy 错误处理

    @AC-079 @AC-124
    Scenario Outline: 终止, and once more, where the answer comes <how>
      Given a page with a session
      And the user has sent "帮我写个排序算法"
      And the server has begun to answer, <how>
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_busy"
      Then "General" is selected
      When the user aborts
      Then the page asks to abort
      When the server has ended the turn, <ended>
      And the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server switches to "Debugger"
      Then "Debugger" is selected
      And the chat tells of a switch from "General" to "Debugger"

      Examples:
        | how                                               | ended                |
        | in pieces                                         | and says how         |
        | in pieces, behind what the user has said          | and does not say how |
        | in a whole message, behind what the user has said | and says how         |

    @AC-079 @AC-124
    Scenario: busy for a moment longer
      Given a page with a session
      And the user has sent "帮我写个排序算法"
      And the server has begun to answer, in pieces, behind what the user has said
      When the user aborts
      Then the page asks to abort
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_busy"
      Then "General" is selected
      When the server has ended the turn, and says how
      And the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server switches to "Debugger"
      Then "Debugger" is selected

  Rule: 例 5 - agent_not_found 错误处理

    @AC-083 @AC-084 @AC-085 @AC-086
    Scenario: an agent that was deleted
      Given a page that is connected, and has no list
      When the server lists "General", "Debugger" and "My Custom Agent", and "General" is current
      And the page has got a session
      And the user chooses "My Custom Agent"
      Then the page asks to switch to "My Custom Agent"
      When the server refuses with "agent_not_found", and has "General" and "Debugger"
      Then the page tells "Agent not found: my_custom_agent"
      And the options are "General" and "Debugger"
      And "General" is selected
