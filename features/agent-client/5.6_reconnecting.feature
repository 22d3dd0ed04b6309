@agent-client @client
Feature: 5.6 Losing the connection
  断线重连处理

  @AC-105 @AC-106 @AC-108
  Scenario Outline: the stream <ends>
    Given a page with a session
    When the server's stream <ends>
    Then the selector is disabled
    And the only option is "(未连接)", and disabled

    Examples:
      | ends         |
      | ends         |
      | breaks       |
      | is not there |

  @AC-105 @AC-106 @AC-108
  Scenario: the user disconnects
    Given a page with a session
    When the user disconnects
    Then the page has closed the stream
    And the selector is disabled
    And the only option is "(未连接)", and disabled

  @AC-105 @AC-108 @AC-111
  Scenario: in the middle of a switch
    Given a page with a session
    When the user chooses "Debugger"
    Then the page asks to switch to "Debugger"
    When the server's stream breaks
    Then the selector is disabled
    And the only option is "(未连接)", and disabled
    When the page is connected again
    And the server lists the agents, and "General" is current
    Then the selector is enabled
    And the selector looks busy no more
    And "General" is selected

  @AC-105 @AC-108 @AC-111
  Scenario: a switch that nobody answers
    Given a page with a session
    And the server leaves requests without an answer
    When the user chooses "Debugger"
    Then the page asks to switch to "Debugger"
    And the selector is disabled
    When the user disconnects
    Then the page has closed the stream
    And the only option is "(未连接)", and disabled
    When the user connects
    Then the page asks for the events
    When the server says that the page is connected
    And the server lists the agents, and "General" is current
    Then the selector is enabled
    And "General" is selected

  @AC-109 @AC-111
  Scenario: the list is waited for
    Given a page that is connected
    When the server's stream ends
    Then the only option is "(未连接)", and disabled
    When the page is connected again
    Then the selector is still disabled
    When the server lists "Debugger" and "Planner", and "Planner" is current
    Then the selector is enabled
    And the options are "Debugger" and "Planner"
    And "Planner" is selected

  @AC-106
  Scenario: the current agent is forgotten
    Given a page that is connected
    When the server's stream ends
    Then the only option is "(未连接)", and disabled
    When the page is connected again
    And the server lists "Debugger" and "Planner", and none is current
    Then the options are "Debugger" and "Planner"
    And no agent is said to be unknown

  @AC-106
  Scenario: the agents of before are forgotten
    Given a page with a session
    When the server's stream ends
    Then the only option is "(未连接)", and disabled
    When the page is connected again
    And the server lists "Debugger" and "Planner", and "Planner" is current
    Then the options are "Debugger" and "Planner"
    When the page has got a session
    And the server switches from the agent "general" to "Debugger"
    Then the chat tells of a switch from "general" to "Debugger"

  @AC-051 @AC-055
  Scenario Outline: the session of before is not the one that is switched, where the stream <ends>
    Given a page with a session
    When the server's stream <ends>
    Then the selector is disabled
    When the page is connected again
    And the server lists the agents
    Then the selector is enabled
    When the user asks for a new session
    Then the page has another session
    When the server lists the agents
    And the user chooses "Debugger"
    Then the page asks to switch to "Debugger"

    Examples:
      | ends   |
      | ends   |
      | breaks |

  @AC-107
  Scenario: the preselection is kept
    Given a page that is connected
    When the user chooses "Debugger"
    Then the page tells "已预选主代理: Debugger,新建会话时将自动使用该主代理"
    When the server's stream ends
    Then the only option is "(未连接)", and disabled
    When the page is connected again
    And the server lists the agents, and none is current
    Then the selector is enabled
    When the user asks for a new session
    Then the page asks for a session that begins with "Debugger"
    And it has asked for no switch

  @AC-107
  Scenario: the preselection is kept when the user disconnects
    Given a page that is connected
    When the user chooses "Debugger"
    And the user disconnects
    Then the page has closed the stream
    And the only option is "(未连接)", and disabled
    When the user connects
    Then the page asks for the events
    When the server says that the page is connected
    And the server lists the agents, and none is current
    Then the selector is enabled
    When the user asks for a new session
    Then the page asks for a session that begins with "Debugger"
    And it has asked for no switch

  @AC-105 @AC-108 @AC-109 @AC-111
  Scenario: twice in a row
    Given a page that is connected
    When the server's stream ends
    Then the only option is "(未连接)", and disabled
    When the page is connected again
    And the server lists the agents
    Then the selector is enabled
    When the server's stream breaks
    Then the selector is disabled
    And the only option is "(未连接)", and disabled
    When the page is connected again
    And the server lists the agents
    Then the selector is enabled
    And the options are the agents
