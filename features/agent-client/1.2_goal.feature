@agent-client @client
Feature: 1.2 Goal
  为 SSE 客户端示例增加主代理支持

  Rule: 查看当前会话可用主代理列表, 了解当前会话正在使用的主代理

    @preflight-1 @AC-025
    Scenario: the page connects
      Given a page
      When the user connects
      Then the page asks for the events

    @preflight-2 @AC-006 @AC-010 @AC-023
    Scenario: the agents are there to see
      Given a page
      When the user connects
      And the server says that the page is connected
      And the server lists the agents
      Then the options are the agents

    @preflight-3 @AC-008 @AC-012 @AC-033 @AC-045 @AC-050 @AC-051 @AC-053 @AC-055 @AC-116
    Scenario: an agent is asked for
      Given a page with a session
      When the user chooses "Debugger"
      Then the page asks to switch to "Debugger"

    @AC-006 @AC-007 @AC-030 @AC-031
    Scenario: the agents, and the one in use
      Given a page with a session
      Then the options are the agents
      And "General" is selected
