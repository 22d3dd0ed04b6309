@agent-client @client
Feature: 5.5 An agent that is not in the list
  currentAgentId 不在 agents 列表中

  @AC-103 @AC-104 @AC-122
  Scenario: the current agent is not in the list
    Given a page that is connected, and has no list
    When the server lists the agents, and "my_old_agent" is current
    Then the first option is "未知/已失效 (my_old_agent)"
    And the page tells "当前主代理已失效,请重新选择可用主代理"
    And the options are the agents, behind it

  @AC-103 @AC-104 @AC-053
  Scenario: another one is chosen
    Given a page with a session
    When the server lists the agents, and "my_old_agent" is current
    Then the first option is "未知/已失效 (my_old_agent)"
    And the page tells "当前主代理已失效,请重新选择可用主代理"
    When the user chooses "Debugger"
    Then the page asks to switch to "Debugger"
    When the server switches from the agent "my_old_agent" to "Debugger"
    Then "Debugger" is selected
    And the chat tells of a switch from "my_old_agent" to "Debugger"

  @AC-103
  Scenario: an id that is text
    Given a page that is connected, and has no list
    When the server lists the agents, and "<img src=x onerror=PARLEY>" is current
    Then the first option is "未知/已失效 (<img src=x onerror=PARLEY>)"
    And nothing that the server said was carried out
