@agent-client @client
Feature: 3.5 Errors

  Rule: Each error code has its prompt (支持的错误码及提示策略)

    @AC-014 @AC-3.5-01
    Scenario Outline: <code> has its own prompt, whatever the server's message
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "<code>" and the message "Something else (E4711)"
      Then the page shows the prompt "<prompt>"
      And whether the page suggests "<suggestion>" is recorded

      @AC-066 @AC-067
      Examples:
        | code             | prompt             | suggestion   |
        | invalid_agent_id | 主代理 ID 不能为空 | 有效的主代理 |

      @AC-068 @AC-069
      Examples:
        | code                    | prompt                                                    | suggestion |
        | invalid_agent_id_format | 主代理 ID 格式错误,只能包含小写字母、数字、下划线和连字符 | 检查主代理 |

      @AC-073 @AC-074
      Examples:
        | code       | prompt                                            | suggestion |
        | agent_busy | 当前会话有进行中的任务,请先终止对话后再切换主代理 | 重试       |

      @AC-075 @AC-076
      Examples:
        | code              | prompt                        | suggestion |
        | session_not_found | 会话不存在,请先创建或加载会话 | 新建会话   |

    @AC-014 @AC-070 @AC-115 @AC-3.5-05
    Scenario Outline: agent_not_found shows the server's message
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "agent_not_found" and the message "<message>"
      Then the page shows the prompt "<message>"
      And no script in the server's texts has run

      Examples:
        | message                                     |
        | Agent not found: debugger                   |
        | Invalid agent ID: debugger                  |
        | 找不到主代理 debugger                       |
        | No <img src=x onerror=PARLEY> such debugger |

  Rule: agent_not_found names the available agents and refreshes the list (列出 availableAgents 中的可用主代理, 客户端自动刷新 agent_list)

    @AC-071 @AC-072 @AC-085 @AC-086 @AC-118 @AC-123 @AC-3.5-09
    Scenario: the available agents are named, and replace the list
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "agent_not_found" and availableAgents "General" and "Planner"
      Then the page names the agents "General" and "Planner"
      And the options are "General" and "Planner"
      And "General" is selected

    @AC-085 @AC-3.5-10
    Scenario: the names in the old list are not used any more
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "agent_not_found" and availableAgents "General" and "Planner"
      Then the options are "General" and "Planner"
      When the user chooses "Planner"
      Then the page requests a switch to "Planner"
      When the server switches from the id "code_reviewer" to "Planner"
      Then the chat announces the switch from "code_reviewer" to "Planner"

    @AC-085 @AC-053 @AC-3.5-11
    Scenario: an agent in availableAgents can be chosen
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "agent_not_found" and availableAgents "General" and "Planner"
      Then the options are "General" and "Planner"
      When the user chooses "Planner"
      Then the page requests a switch to "Planner"
      When the server switches to "Planner"
      Then "Planner" is selected
      And the chat announces the switch from "General" to "Planner"

    @AC-035 @AC-037 @AC-070 @AC-072 @AC-085 @AC-086 @AC-3.5-12
    Scenario: empty availableAgents leave no agent to choose
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      And the selector looks busy
      When the server refuses with "agent_not_found" and empty availableAgents
      Then the page shows the server's message
      And none of the options is an agent
      And the selector no longer looks busy
      When the server lists the agents
      Then the selector is enabled
      And the options are the agents

    @AC-035 @AC-037 @AC-070 @AC-3.5-13
    Scenario: agent_not_found without availableAgents ends the switch
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      And the selector looks busy
      When the server refuses with "agent_not_found" and no availableAgents
      Then the selector is enabled
      And the selector no longer looks busy
      And the page shows the server's message

  Rule: Example 4, agent_busy (例 4 - agent_busy 错误处理)

    @AC-079 @AC-124 @AC-3.5-14
    Scenario Outline: the user can switch after aborting an answer <how>
      Given a page with a session
      And the user has sent "帮我写个排序算法"
      And the server has begun to answer, <how>
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "agent_busy"
      Then "General" is selected
      When the user aborts
      Then the page requests an abort
      When the server ends the turn <ended> cancelled
      And the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger"
      Then "Debugger" is selected
      And the chat announces the switch from "General" to "Debugger"

      Examples:
        | how                                          | ended   |
        | in pieces                                    | with    |
        | in pieces, after an echo of the message      | without |
        | in one message, after an echo of the message | with    |

    @AC-079 @AC-124 @AC-3.5-17
    Scenario: the user can switch once the session is no longer busy after an abort
      Given a page with a session
      And the user has sent "帮我写个排序算法"
      And the server has begun to answer, in pieces, after an echo of the message
      When the user aborts
      Then the page requests an abort
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "agent_busy"
      Then "General" is selected
      When the server ends the turn with cancelled
      And the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger"
      Then "Debugger" is selected

  Rule: Example 5, agent_not_found (例 5 - agent_not_found 错误处理)

    @AC-083 @AC-084 @AC-085 @AC-086 @AC-3.5-18
    Scenario: a refused switch to a deleted agent refreshes the list
      Given a connected page without an agent list
      When the server lists "General", "Debugger" and "My Custom Agent", with "General" current
      And the page gets a session
      And the user chooses "My Custom Agent"
      Then the page requests a switch to "My Custom Agent"
      When the server refuses with "agent_not_found" and availableAgents "General" and "Debugger"
      Then the page shows the prompt "Agent not found: my_custom_agent"
      And the options are "General" and "Debugger"
      And "General" is selected

  Rule: Each error is prompted, also one that came before (针对主代理相关错误码给出明确提示)

    @AC-014 @AC-3.5-19
    Scenario Outline: <code> is prompted a second time
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "<code>"
      Then the page shows the prompt "<prompt>"
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the page has had time to remove the prompt "<prompt>"
      And the server refuses with "<code>"
      Then the page again shows the prompt "<prompt>"

      @AC-066
      Examples:
        | code             | prompt             |
        | invalid_agent_id | 主代理 ID 不能为空 |

      @AC-068
      Examples:
        | code                    | prompt                                                    |
        | invalid_agent_id_format | 主代理 ID 格式错误,只能包含小写字母、数字、下划线和连字符 |

      @AC-070
      Examples:
        | code            | prompt                    |
        | agent_not_found | Agent not found: debugger |

      @AC-073
      Examples:
        | code       | prompt                                            |
        | agent_busy | 当前会话有进行中的任务,请先终止对话后再切换主代理 |

      @AC-075
      Examples:
        | code              | prompt                        |
        | session_not_found | 会话不存在,请先创建或加载会话 |
