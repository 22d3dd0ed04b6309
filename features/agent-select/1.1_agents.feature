@agent-select @server
Feature: 1.1 The agents of a server
  A server has three built-in agents, `general`, `requirement_analyzer` and `debugger`, and those that its users add
  (本地已实现主代理系统，支持 `general`/`requirement_analyzer`/`debugger` 三种内置主代理).

  @AS-001 @connect @AS-1.1-01
  Scenario: the list has the three built-in agents
    When client A connects
    Then client A is offered the built-in agents

  @AS-002 @connect @AS-1.1-02
  Scenario: the list has the custom agents
    Given the target has a custom agent
    When client A connects
    Then client A is offered the custom agent
