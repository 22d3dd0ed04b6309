@agent-client @client
Feature: 3.1 agent_list

  Rule: 接收到 agent_list 事件后,存储 agents 列表和 currentAgentId; 填充下拉选项; 设置当前选中项为 currentAgentId

    @AC-022 @AC-024
    Scenario: the current agent is selected, wherever it stands in the list
      Given a page that is connected, and has no list
      When the server lists the agents, and "Debugger" is current
      Then "Debugger" is selected
      When the server lists the agents, and "Code Reviewer" is current
      Then "Code Reviewer" is selected
      When the server lists the agents, and "General" is current
      Then "General" is selected

    @AC-021 @AC-023 @AC-024
    Scenario: a list that comes again takes the place of the last one
      Given a page that is connected
      When the server lists "Debugger" and "Planner", and "Planner" is current
      Then the options are "Debugger" and "Planner"
      And "Planner" is selected
      When the server lists "General", "Debugger" and "Code Reviewer", and "General" is current
      Then the options are "General", "Debugger" and "Code Reviewer"
      And "General" is selected

    @AC-021 @AC-023
    Scenario: an agent has another name by now
      Given a page that is connected
      When the server lists "general" under the name "Generalist", and it is current
      Then the options are "Generalist"
      And "Generalist" is selected

    @AC-024
    Scenario: another agent is current by now
      Given a page with a session
      When the server lists the agents, and "Debugger" is current
      Then "Debugger" is selected

    @AC-020 @AC-023 @AC-103 @AC-104 @AC-119
    Scenario: no agent is current
      Given a page that is connected, and has no list
      When the server lists the agents, and none is current
      Then the options are the agents
      And no agent is said to be unknown

    @AC-006 @AC-019 @AC-023 @AC-030
    Scenario: many agents
      Given a page that is connected, and has no list
      When the server lists 60 agents
      Then the options are the agents

    @AC-023 @AC-030
    Scenario: names are text, whatever they contain
      Given a page that is connected, and has no list
      When the server lists agents of these names:
        | <img src=x onerror=PARLEY>                |
        | </option></select><script>PARLEY</script> |
        | &lt;b&gt; & "quoted" 'twice'              |
        | Агент 主代理 🤖                           |
      Then the options are the agents
      And nothing that the server said was carried out

    @AC-018 @AC-023
    Scenario: what the document does not know is no obstacle
      Given a page that is connected, and has no list
      When the server says what no document knows
      And the server lists the agents with more in it than the document has
      Then the options are the agents
      And "General" is selected

  Rule: 例 1: 点击"连接"按钮, 收到connected事件, 收到agent_list事件

    @AC-010 @AC-018 @AC-019 @AC-021 @AC-022 @AC-023 @AC-024 @AC-025 @AC-026
    Scenario: first connected, then the list
      Given a page
      When the user connects
      Then the page asks for the events
      When the server says that the page is connected
      And the server lists "General" and "Debugger", and "General" is current
      Then the options are "General" and "Debugger"
      And "General" is selected
      And the selector is enabled
