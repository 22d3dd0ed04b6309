@external-agent
Feature: 3 The envelope
  `v`（string）：协议版本，固定 `mvp-0.2`；`type`（string）；`id`（string，可选）；`replyTo`（string，可选）；`payload`（object）

  Rule: v, type, id, replyTo and payload have their form in whatever is sent

    @host @relay @EA-019 @EA-021 @EA-022a @EA-023a @EA-024 @booking
    Scenario: what a host sends on the way to a ticket
      Given agent A has a session
      And what the host changes by itself is known to agent A
      Then agent A books a ticket from the first movie to the confirmation
      When agent A calls a tool that does not exist
      Then agent A is refused with "UNKNOWN_TOOL" or "NO_ACTIVE_SPEC"
      When agent A ends the session
      Then agent A is told that the session has ended

    @agent @EA-019 @EA-021 @EA-022a @EA-022b @EA-023a @EA-024
    Scenario: what an agent sends on the way to a ticket
      Given a host awaits the agent
      When the agent is started
      Then the agent comes to the end of the booking

  Rule: v：协议版本，固定 mvp-0.2

    @host @EA-020 @EA-041 @EA-077a
    Scenario Outline: another version is refused
      Given agent A has a session
      When agent A sends a snapshot.get with <fault>
      Then agent A's message is refused as invalid, or its connection closed
      And agent A can go on

      Examples:
        | fault                 |
        | no v                  |
        | v of an older version |
        | v of a newer version  |
        | v in capitals         |
        | v that is a number    |
        | v that is null        |
        | v under another name  |

    @host @relay @EA-020 @EA-041 @EA-077a
    Scenario Outline: nobody joins with another version
      Given agent A has joined
      And agent A loses its connection
      When agent A sends a relay.join with <fault>
      Then agent A's message is refused as invalid, or its connection closed
      And agent A can go on

      Examples:
        | fault                 |
        | no v                  |
        | v of an older version |
        | v that is a number    |

  Rule: type（string）：消息类型

    @host @EA-041 @EA-068 @EA-077a @EA-078
    Scenario Outline: a type that is missing or unknown is refused
      Given agent A has a session
      When agent A sends a snapshot.get with <fault>
      Then agent A's message is refused as invalid
      And agent A can go on

      Examples:
        | fault                 |
        | no type               |
        | an unknown type       |
        | an empty type         |
        | type that is a number |
        | type that is null     |
        | type that is a list   |
        | type in capitals      |

  Rule: payload（object）：类型对应的内容

    @host @EA-024a @EA-041 @EA-077a
    Scenario Outline: a payload that is no object is refused
      Given agent A has a session
      When agent A sends a snapshot.get with <fault>
      Then agent A's message is refused as invalid, or its connection closed
      And agent A can go on

      Examples:
        | fault                    |
        | no payload               |
        | payload that is null     |
        | payload that is a list   |
        | payload that is a text   |
        | payload that is a number |
        | payload that is true     |

    @host @relay @EA-024a @EA-041 @EA-077a
    Scenario Outline: nobody joins without a payload
      Given agent A has joined
      And agent A loses its connection
      When agent A sends a relay.join with <fault>
      Then agent A's message is refused as invalid, or its connection closed
      And agent A can go on

      Examples:
        | fault                  |
        | no payload             |
        | payload that is null   |
        | payload that is a list |

  Rule: id, replyTo（string，可选）

    @host @relay @EA-022 @EA-023 @EA-041 @EA-077a
    Scenario Outline: what is optional, and what no sentence speaks of
      Given agent A has a session
      When agent A sends a snapshot.get with <fault>
      Then what comes of agent A's message is noted
      And agent A can go on

      Examples:
        | fault                          |
        | no id                          |
        | id that is a number            |
        | id that is null                |
        | replyTo that is a list         |
        | extra members                  |
        | an extra member in its payload |
        | a deeply nested member         |
        | a member of 200 KB             |
        | members given twice            |
        | a binary frame                 |
        | a type that hosts send         |

    @host @relay @EA-041 @EA-077a
    Scenario: a call without a reason, which is only shown by example
      Given agent A has a session
      When agent A sends a tool.call with no reason
      Then what comes of agent A's message is noted
      And agent A can go on

    @host @relay @EA-023a
    Scenario: answers name their requests, whichever are under way
      Given agent A has a session
      Then agent A sends 12 requests of all kinds without waiting, and each is answered
