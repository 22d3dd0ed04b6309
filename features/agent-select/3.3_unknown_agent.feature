@agent-select @server
Feature: 3.3 Switching to an agent that does not exist
  A switch to an unknown agent fails, and the session keeps its agent
  (服务端发现 `hacker` 不是合法主代理ID …… 当前会话保持原有主代理不变).

  Background:
    Given client A has switched to "debugger"

  Rule: The refusal names the requested agent and lists the available agents (errorCode: "agent_not_found", message: "Invalid agent ID: hacker", availableAgents)

    @AS-049 @AS-050 @AS-051 @AS-052 @AS-129 @AC-081 @AC-083 @AC-115 @AS-3.3-01
    Scenario: a switch to an unknown agent is refused
      When client A switches to "hacker"
      Then client A is refused with "agent_not_found"
      And the refusal of client A contains "hacker"
      And the refusal of client A lists the agents that it was offered
      And the time of the refusal of client A is recorded

    @AS-049 @AS-050 @AS-3.3-02
    Scenario Outline: a legal id that names no agent is refused: <id>
      When client A switches to "<id>"
      Then client A is refused with "agent_not_found"
      And the refusal of client A contains "<id>"

      Examples:
        | id               |
        | generals         |
        | gener            |
        | debugger-2       |
        | 0                |
        | _                |
        | -                |
        | null             |
        | requirement-analyzer |

  Rule: The session keeps its agent (当前会话保持原有主代理不变)

    @AS-053 @AS-054 @AS-3.3-10
    Scenario: the session keeps its agent
      When client A switches to "hacker"
      Then client A is refused
      And client A receives no "agent_switched"
      When client A switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-053 @AS-3.3-11
    Scenario: the session keeps its agent after several refusals
      When client A switches to "hacker"
      Then client A is refused
      When client A switches to the agent id ""
      Then client A is refused
      When client A switches to the agent id "Agent@123"
      Then client A is refused
      When client A switches to "general"
      Then client A is switched from "debugger" to "general"

    @AS-053 @AS-3.3-12
    Scenario Outline: a session keeps <agent> after a refused switch to "<id>"
      Given client A has switched to "<agent>"
      When client A switches to the agent id "<id>"
      Then client A is refused
      When client A switches to "<other>"
      Then client A is switched from "<agent>" to "<other>"

      Examples:
        | agent                | id        | other                |
        | requirement_analyzer | hacker    | debugger             |
        | requirement_analyzer |           | debugger             |
        | requirement_analyzer | Agent@123 | debugger             |
        | general              | hacker    | requirement_analyzer |
        | general              |           | requirement_analyzer |
        | general              | Agent@123 | requirement_analyzer |

    @AS-053 @AS-3.3-18
    Scenario: a refused switch of an unknown session does not change the client's own session
      Given client A has switched to "requirement_analyzer"
      When client A switches the session "parley-no-such-session" to "general"
      Then client A is refused
      When client A switches to "debugger"
      Then client A is switched from "requirement_analyzer" to "debugger"

  Rule: The server uses its current configuration (可切换到任意可用主代理)

    @AC-080 @AC-082 @AS-052 @exclusive @AS-3.3-19
    Scenario: a switch to an agent that was deleted after the client connected is refused
      Given the agent "parley_deleted" has been added to the configuration
      And client A has disconnected
      And client B has switched to "parley_deleted"
      And client B has switched to "debugger"
      When client B switches to "hacker"
      Then client B is refused with "agent_not_found"
      When the agent "parley_deleted" is removed from the configuration
      Then a new client is not offered "parley_deleted"
      When client B switches to "parley_deleted"
      Then client B is refused with "agent_not_found"
      And the refusal of client B does not list "parley_deleted"
      When client B switches to "general"
      Then client B is switched from "debugger" to "general"

    @AS-012 @AS-052 @exclusive @AS-3.3-20
    Scenario: a switch to an agent that was added later works without reconnecting
      When client A switches to "hacker"
      Then client A is refused with "agent_not_found"
      When the agent "parley_later" is added to the configuration
      Then a new client is offered "parley_later"
      When client A switches to "hacker"
      Then client A is refused with "agent_not_found"
      And the refusal of client A lists "parley_later"
      When client A switches to "parley_later"
      Then client A is switched from "debugger" to "parley_later"

  Rule: Later turns use the agent that the session keeps (当前会话保持原有主代理不变)

    @AS-053 @model @AS-3.3-21
    Scenario Outline: a turn after a refused switch to "<id>" uses the agent that the session keeps
      Given the target has a custom agent
      And client A has switched to the custom agent
      When client A switches to the agent id "<id>"
      Then client A is refused
      When client A chats
      Then client A is answered and its turn ends
      And the model of client A was given the prompt of the custom agent

      Examples:
        | id        |
        | hacker    |
        | Agent@123 |

  Rule: An agent exists only if it is in the list (服务端发现 `hacker` 不是合法主代理ID)

    @AS-049 @AS-050 @AS-3.3-23
    Scenario Outline: a legal id that objects of the server's language may have as a member is refused: <id>
      When client A switches to "<id>"
      Then client A is refused with "agent_not_found"
      And the refusal of client A contains "<id>"

      Examples:
        | id          |
        | constructor |
        | __proto__   |
