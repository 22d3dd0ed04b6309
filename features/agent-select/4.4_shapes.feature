@agent-select @server
Feature: 4.4 Data structures
  Monitors judge the shapes in every transcript. The scenarios here make each of them occur.

  @AS-113 @AS-114 @AS-115 @AS-117 @AS-118 @connect @AS-4.4-01
  Scenario: agent_list and its entries have the documented shape
    Given the target has a custom agent
    When client A connects
    Then client A receives the list of agents

  @AS-116 @AS-4.4-02
  Scenario: switch_agent has the documented shape
    Given client A has a session
    When client A switches its session to "debugger"
    Then client A is switched from the default agent to "debugger"

  @AS-119 @AS-4.4-03
  Scenario: agent_switched has the documented shape
    Given client A has a session
    When client A switches to "debugger"
    Then client A is switched from the default agent to "debugger"

  @AS-120 @AS-121 @AS-122 @AS-4.4-04
  Scenario Outline: error has the documented shape: <id>
    Given client A has switched to "debugger"
    When client A switches to the agent id "<id>"
    Then client A is refused with "<code>"
    And the agents in the refusal of client A, if any, are those that it was offered

    Examples:
      | id      | code                    |
      |         | invalid_agent_id        |
      | A@      | invalid_agent_id_format |
      | hacker  | agent_not_found         |

  @AS-120 @AS-121 @AS-4.4-07
  Scenario: error for an unknown session has the documented shape
    Given client A has switched to "debugger"
    When client A switches the session "parley-no-such-session" to "general"
    Then client A is refused with "session_not_found"
