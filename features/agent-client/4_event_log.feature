@agent-client @client
Feature: 4 The event log

  Rule: agent_list | info | 显示接收到的 agents 数量和 currentAgentId,包含服务端 timestamp(若缺失则使用本地时间)

    @AC-087 @AC-088
    Scenario: a list
      Given a page that is connected, and has no list
      When the server lists "General", "Debugger" and "Code Reviewer", and "Debugger" is current
      Then the log has the list of 3 agents and "debugger", with the server's time

    @AC-087
    Scenario: another list
      Given a page that is connected
      When the server lists 7 agents
      Then the log has the list of 7 agents, with the server's time

    @AC-087 @AC-088
    Scenario: a list without a time
      Given a page that is connected, and has no list
      When the server lists the agents, and gives no time
      Then the log has the list of 3 agents, with the local time

  Rule: agent_switched | info | 显示切换前后的主代理名称,包含服务端 timestamp

    @AC-061 @AC-089 @AC-090
    Scenario: a switch
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server switches to "Debugger"
      Then the log has the switch from "General" to "Debugger", with the server's time

  Rule: error(主代理相关) | error | 显示错误码、提示信息和 timestamp

    @AC-091
    Scenario: errors
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "invalid_agent_id"
      Then the log has the error "invalid_agent_id" with "主代理 ID 不能为空", and the server's time
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "invalid_agent_id_format"
      Then the log has the error "invalid_agent_id_format" with "主代理 ID 格式错误,只能包含小写字母、数字、下划线和连字符", and the server's time
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_not_found"
      Then the log has the error "agent_not_found" with "Agent not found: debugger", and the server's time
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "agent_busy"
      Then the log has the error "agent_busy" with "当前会话有进行中的任务,请先终止对话后再切换主代理", and the server's time
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server refuses with "session_not_found"
      Then the log has the error "session_not_found" with "会话不存在,请先创建或加载会话", and the server's time
