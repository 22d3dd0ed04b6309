@agent-client @client
Feature: 5.5 An agent that is not in the list
  When currentAgentId is not in the list (currentAgentId 不在 agents 列表中).

  @AC-103 @AC-104 @AC-122 @AC-5.5-01
  Scenario: a current agent that is not in the list is shown as unknown
    Given a connected page without an agent list
    When the server lists the agents, with "my_old_agent" current
    Then the first option is "未知/已失效 (my_old_agent)"
    And the page shows the prompt "当前主代理已失效,请重新选择可用主代理"
    And the options after it are the agents

  @AC-103 @AC-104 @AC-053 @AC-5.5-02
  Scenario: the user can choose another agent instead of the unknown one
    Given a page with a session
    When the server lists the agents, with "my_old_agent" current
    Then the first option is "未知/已失效 (my_old_agent)"
    And the page shows the prompt "当前主代理已失效,请重新选择可用主代理"
    When the user chooses "Debugger"
    Then the page requests a switch to "Debugger"
    When the server switches from the id "my_old_agent" to "Debugger"
    Then "Debugger" is selected
    And the chat announces the switch from "my_old_agent" to "Debugger"

  @AC-103 @AC-5.5-03
  Scenario: an id with markup is shown as text
    Given a connected page without an agent list
    When the server lists the agents, with "<img src=x onerror=PARLEY>" current
    Then the first option is "未知/已失效 (<img src=x onerror=PARLEY>)"
    And no script in the server's texts has run

  @AC-104 @AC-5.5-04
  Scenario: an agent that becomes unknown a second time is prompted again
    Given a connected page
    When the server lists the agents, with "my_old_agent" current
    Then the page shows the prompt "当前主代理已失效,请重新选择可用主代理"
    When the server lists the agents
    Then "General" is selected
    When the page has had time to remove the prompt "当前主代理已失效,请重新选择可用主代理"
    And the server lists the agents, with "my_old_agent" current
    Then the page again shows the prompt "当前主代理已失效,请重新选择可用主代理"
