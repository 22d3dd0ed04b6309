@agent-client @client
Feature: 4 The event log

  Rule: agent_list is logged as info, with the number of agents and the current one (agent_list | info | 显示接收到的 agents 数量和 currentAgentId,包含服务端 timestamp(若缺失则使用本地时间))

    @AC-087 @AC-088 @AC-4-01
    Scenario: the list is logged
      Given a connected page without an agent list
      When the server lists "General", "Debugger" and "Code Reviewer", with "Debugger" current
      Then the log shows the list of 3 agents with "debugger" current, with the server's time

    @AC-087 @AC-4-02
    Scenario: the list of 7 agents is logged
      Given a connected page
      When the server lists 7 agents
      Then the log shows the list of 7 agents, with the server's time

    @AC-087 @AC-088 @AC-4-03
    Scenario: a list without a timestamp is logged with the local time
      Given a connected page without an agent list
      When the server lists the agents without a timestamp
      Then the log shows the list of 3 agents, with the local time

  Rule: agent_switched is logged as info, with both names and the time (agent_switched | info | 显示切换前后的主代理名称,包含服务端 timestamp)

    @AC-061 @AC-089 @AC-090 @AC-4-04
    Scenario: a switch is logged
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger"
      Then the log shows the switch from "General" to "Debugger", with the server's time

  Rule: error is logged as error, with its code, its prompt and the time (error(主代理相关) | error | 显示错误码、提示信息和 timestamp)

    @AC-091 @AC-4-05
    Scenario Outline: the error <code> is logged
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server refuses with "<code>"
      Then the log shows the error "<code>" with "<prompt>", with the server's time

      Examples:
        | code                    | prompt                                                    |
        | invalid_agent_id        | 主代理 ID 不能为空                                        |
        | invalid_agent_id_format | 主代理 ID 格式错误,只能包含小写字母、数字、下划线和连字符 |
        | agent_not_found         | Agent not found: debugger                                 |
        | agent_busy              | 当前会话有进行中的任务,请先终止对话后再切换主代理         |
        | session_not_found       | 会话不存在,请先创建或加载会话                             |
