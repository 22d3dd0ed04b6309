@agent-client @client
Feature: 5.4 No agents
  When the list is empty (接收到的 agent_list 为空).

  @AC-032 @AC-100 @AC-101 @AC-102 @AC-121 @AC-5.4-01
  Scenario: an empty list disables the selector
    Given a connected page without an agent list
    When the server lists no agents
    Then the only option is "(暂无可用主代理)", and it is disabled
    And the page shows the prompt "暂无可用的主代理,请检查服务端配置"
    And the selector is still disabled

  @AC-100 @AC-101 @AC-102 @AC-5.4-02
  Scenario: a list that becomes empty disables the selector
    Given a connected page
    When the server lists no agents
    Then the selector is disabled
    And the only option is "(暂无可用主代理)", and it is disabled
    And the page shows the prompt "暂无可用的主代理,请检查服务端配置"

  @AC-101 @AC-121 @AC-5.4-03
  Scenario: agents that arrive after an empty list enable the selector
    Given a connected page
    When the server lists no agents
    Then the selector is disabled
    When the server lists the agents
    Then the selector is enabled
    And the options are the agents

  @AC-102 @AC-5.4-04
  Scenario: a list that becomes empty a second time is prompted again
    Given a connected page
    When the server lists no agents
    Then the page shows the prompt "暂无可用的主代理,请检查服务端配置"
    When the server lists the agents
    Then the selector is enabled
    When the page has had time to remove the prompt "暂无可用的主代理,请检查服务端配置"
    And the server lists no agents
    Then the page again shows the prompt "暂无可用的主代理,请检查服务端配置"
