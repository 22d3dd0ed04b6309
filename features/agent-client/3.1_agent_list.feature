@agent-client @client
Feature: 3.1 agent_list

  Rule: agent_list fills the options and selects currentAgentId (接收到 agent_list 事件后,存储 agents 列表和 currentAgentId; 填充下拉选项; 设置当前选中项为 currentAgentId)

    @AC-022 @AC-024 @AC-3.1-01
    Scenario: the current agent is selected at any position in the list
      Given a connected page without an agent list
      When the server lists the agents, with "Debugger" current
      Then "Debugger" is selected
      When the server lists the agents, with "Code Reviewer" current
      Then "Code Reviewer" is selected
      When the server lists the agents, with "General" current
      Then "General" is selected

    @AC-021 @AC-023 @AC-024 @AC-3.1-02
    Scenario: a new list replaces the old one
      Given a connected page
      When the server lists "Debugger" and "Planner", with "Planner" current
      Then the options are "Debugger" and "Planner"
      And "Planner" is selected
      When the server lists "General", "Debugger" and "Code Reviewer", with "General" current
      Then the options are "General", "Debugger" and "Code Reviewer"
      And "General" is selected

    @AC-021 @AC-023 @AC-3.1-03
    Scenario: a new list renames an agent
      Given a connected page
      When the server lists these agents, with the first one current:
        | general  | Generalist |
        | debugger | Debugger   |
      Then the options are "Generalist" and "Debugger"
      And "Generalist" is selected

    @AC-024 @AC-3.1-04
    Scenario: a new list changes the current agent
      Given a page with a session
      When the server lists the agents, with "Debugger" current
      Then "Debugger" is selected

    @AC-020 @AC-023 @AC-103 @AC-104 @AC-119 @AC-3.1-05
    Scenario: a list without a current agent is not reported as an unknown agent
      Given a connected page without an agent list
      When the server lists the agents, with none current
      Then the options are the agents
      And the page reports no unknown agent

    @AC-006 @AC-019 @AC-023 @AC-030 @AC-3.1-06
    Scenario: a list of 60 agents is shown in full
      Given a connected page without an agent list
      When the server lists 60 agents
      Then the options are the agents

    @AC-023 @AC-030 @AC-3.1-07
    Scenario: names with markup are shown as text
      Given a connected page without an agent list
      When the server lists these agents, with the first one current:
        | general | General                                   |
        | image   | <img src=x onerror=PARLEY>                |
        | script  | </option></select><script>PARLEY</script> |
        | quotes  | &lt;b&gt; & "quoted" 'twice'              |
        | letters | Агент 主代理 🤖                           |
      Then the options are the agents
      And no script in the server's texts has run

    @AC-018 @AC-023 @AC-3.1-08
    Scenario: undocumented events and fields are ignored
      Given a connected page without an agent list
      When the server sends undocumented events
      And the server lists the agents with undocumented fields
      Then the options are the agents
      And "General" is selected

  Rule: Example 1, the first list after connecting (例 1: 点击"连接"按钮, 收到connected事件, 收到agent_list事件)

    @AC-010 @AC-018 @AC-019 @AC-021 @AC-022 @AC-023 @AC-024 @AC-025 @AC-026 @AC-3.1-09
    Scenario: the first list after connecting fills the selector
      Given an open page
      When the user connects
      Then the page requests the event stream
      When the server sends connected
      And the server lists "General" and "Debugger", with "General" current
      Then the options are "General" and "Debugger"
      And "General" is selected
      And the selector is enabled

  Rule: Texts of the server are shown as text; a script that runs is a security observation, which breaks no clause

    @AC-018 @AC-023 @AC-3.1-10
    Scenario: markup in other texts than names, errors and ids is shown as text
      Given a page with a session
      When the server sends markup in these texts:
        | an event's type             |
        | a timestamp                 |
        | an agent's description      |
        | a message of the assistant  |
        | a message in pieces         |
        | the role of a message       |
        | an undocumented error       |
        | the name of a tool          |
        | a question                  |
      Then no script in the server's texts has run
      When the server lists the agents
      Then the options are the agents
