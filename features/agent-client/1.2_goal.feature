@agent-client @client
Feature: 1.2 Goal
  The SSE client supports main agents (为 SSE 客户端示例增加主代理支持).

  Rule: The user sees the available agents and the current one (查看当前会话可用主代理列表, 了解当前会话正在使用的主代理)

    @preflight-1 @AC-025 @AC-1.2-01
    Scenario: the page connects
      Given an open page
      When the user connects
      Then the page requests the event stream

    @preflight-2 @AC-006 @AC-010 @AC-023 @AC-1.2-02
    Scenario: the page shows the agents
      Given an open page
      When the user connects
      And the server sends connected
      And the server lists the agents
      Then the options are the agents

    @preflight-3 @AC-008 @AC-012 @AC-033 @AC-045 @AC-050 @AC-051 @AC-053 @AC-055 @AC-116 @AC-1.2-03
    Scenario: the page requests a switch
      Given a page with a session
      When the user chooses "Debugger"
      Then the page requests a switch to "Debugger"

    @AC-006 @AC-007 @AC-030 @AC-031 @AC-1.2-04
    Scenario: the page shows the agents and the current one
      Given a page with a session
      Then the options are the agents
      And "General" is selected
