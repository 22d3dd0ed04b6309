@agent-client @client
Feature: 5.4 No agents
  接收到的 agent_list 为空

  @AC-032 @AC-100 @AC-101 @AC-102 @AC-121
  Scenario: no agent
    Given a page that is connected, and has no list
    When the server lists no agents
    Then the only option is "(暂无可用主代理)", and disabled
    And the page tells "暂无可用的主代理,请检查服务端配置"
    And the selector is still disabled

  @AC-100 @AC-101 @AC-102
  Scenario: the list has become empty
    Given a page that is connected
    When the server lists no agents
    Then the selector is disabled
    And the only option is "(暂无可用主代理)", and disabled
    And the page tells "暂无可用的主代理,请检查服务端配置"

  @AC-101 @AC-121
  Scenario: agents come after all
    Given a page that is connected
    When the server lists no agents
    Then the selector is disabled
    When the server lists the agents
    Then the selector is enabled
    And the options are the agents
