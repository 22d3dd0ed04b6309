@agent-client @client
Feature: 5.6 Losing the connection
  Losing the connection, and reconnecting (断线重连处理).

  @AC-105 @AC-106 @AC-108 @AC-5.6-01
  Scenario Outline: the selector is disabled after the server <loses the connection>
    Given a page with a session
    When the server <loses the connection>
    Then the selector is disabled
    And the only option is "(未连接)", and it is disabled

    Examples:
      | loses the connection |
      | ends the stream      |
      | resets the stream    |
      | goes away            |

  @AC-105 @AC-106 @AC-108 @AC-5.6-04
  Scenario: the selector is disabled after the user disconnects
    Given a page with a session
    When the user disconnects
    Then the page closes the stream
    And the selector is disabled
    And the only option is "(未连接)", and it is disabled

  @AC-105 @AC-108 @AC-111 @AC-5.6-05
  Scenario: the selector works after the connection is lost during a switch
    Given a page with a session
    When the user chooses "Debugger"
    Then the page requests a switch to "Debugger"
    When the server resets the stream
    Then the selector is disabled
    And the only option is "(未连接)", and it is disabled
    When the page reconnects
    And the server lists the agents, with "General" current
    Then the selector is enabled
    And the selector no longer looks busy
    And "General" is selected

  @AC-034 @AC-105 @AC-108 @AC-111 @AC-5.6-06
  Scenario: the selector works after the user disconnects during a switch
    Given a page with a session
    And the server holds its HTTP responses
    When the user chooses "Debugger"
    Then the page requests a switch to "Debugger"
    And the selector is disabled during the switch
    When the user disconnects
    Then the page closes the stream
    And the only option is "(未连接)", and it is disabled
    When the user connects
    Then the page requests the event stream
    When the server sends connected
    And the server lists the agents, with "General" current
    Then the selector is enabled
    And "General" is selected

  @AC-109 @AC-111 @AC-5.6-07
  Scenario: the selector stays disabled until the new list arrives
    Given a connected page
    When the server ends the stream
    Then the only option is "(未连接)", and it is disabled
    When the page reconnects
    Then the selector is still disabled
    When the server lists "Debugger" and "Planner", with "Planner" current
    Then the selector is enabled
    And the options are "Debugger" and "Planner"
    And "Planner" is selected

  @AC-106 @AC-5.6-08
  Scenario: the current agent is forgotten when the connection is lost
    Given a connected page
    When the server ends the stream
    Then the only option is "(未连接)", and it is disabled
    When the page reconnects
    And the server lists "Debugger" and "Planner", with none current
    Then the options are "Debugger" and "Planner"
    And the page reports no unknown agent

  @AC-106 @AC-111 @AC-5.6-09
  Scenario: the old agents are forgotten when the connection is lost
    Given a page with a session
    When the server ends the stream
    Then the only option is "(未连接)", and it is disabled
    When the page reconnects
    And the server lists "Debugger" and "Planner", with "Planner" current
    Then the options are "Debugger" and "Planner"
    When the page gets a session
    And the server switches from the id "general" to "Debugger"
    Then the chat announces the switch from "general" to "Debugger"
    When the user chooses "Planner"
    Then the page requests a switch to "Planner"

  @AC-051 @AC-055 @AC-5.6-10
  Scenario Outline: a switch names the new session after the server <loses the connection>
    Given a page with a session
    When the server <loses the connection>
    Then the selector is disabled
    When the page reconnects
    And the server lists the agents
    Then the selector is enabled
    When the user asks for a new session
    Then the page requests a session
    When the server lists the agents
    And the user chooses "Debugger"
    Then the page requests a switch to "Debugger"

    Examples:
      | loses the connection |
      | ends the stream      |
      | resets the stream    |

  @AC-060 @AC-5.6-12
  Scenario: a switch after a lost connection is announced once
    Given a page with a session
    When the server ends the stream
    Then the selector is disabled
    When the page reconnects
    And the server lists the agents
    Then the selector is enabled
    When the user asks for a new session
    Then the page requests a session
    When the server lists the agents, with "General" current
    And the user chooses "Debugger"
    Then the page requests a switch to "Debugger"
    When the server switches to "Debugger"
    Then the chat announces the switch from "General" to "Debugger"

  @AC-107 @AC-5.6-13
  Scenario: the preselection survives a lost connection
    Given a connected page
    When the user chooses "Debugger"
    Then the page shows the prompt "已预选主代理: Debugger,新建会话时将自动使用该主代理"
    When the server ends the stream
    Then the only option is "(未连接)", and it is disabled
    When the page reconnects
    And the server lists the agents, with none current
    Then the selector is enabled
    When the user asks for a new session
    Then the page requests a session with the initial agent "Debugger"
    And it has requested no switch

  @AC-107 @AC-5.6-14
  Scenario: the preselection survives a disconnect by the user
    Given a connected page
    When the user chooses "Debugger"
    And the user disconnects
    Then the page closes the stream
    And the only option is "(未连接)", and it is disabled
    When the user connects
    Then the page requests the event stream
    When the server sends connected
    And the server lists the agents, with none current
    Then the selector is enabled
    When the user asks for a new session
    Then the page requests a session with the initial agent "Debugger"
    And it has requested no switch

  @AC-105 @AC-108 @AC-109 @AC-111 @AC-5.6-15
  Scenario: the page recovers when the connection is lost twice
    Given a connected page
    When the server ends the stream
    Then the only option is "(未连接)", and it is disabled
    When the page reconnects
    And the server lists the agents
    Then the selector is enabled
    When the server resets the stream
    Then the selector is disabled
    And the only option is "(未连接)", and it is disabled
    When the page reconnects
    And the server lists the agents
    Then the selector is enabled
    And the options are the agents

  @AC-060 @long @AC-5.6-16
  Scenario: a page that reconnects, as its browser does by itself, announces a switch once
    Given a page with a session
    When the server ends the stream
    Then the selector is disabled
    When the page reconnects
    And the server lists the agents
    And the server sends each event on all streams of the page, once a second one had time to open
    Then the selector is enabled
    When the user asks for a new session
    Then the page requests a session
    When the server lists the agents, with "General" current
    And the user chooses "Debugger"
    Then the page requests a switch to "Debugger"
    When the server switches to "Debugger"
    Then the chat announces the switch from "General" to "Debugger"
