@external-agent
Feature: 3 The envelope
  The members of every message: v, type, id, replyTo and payload.
  `v`（string）：协议版本，固定 `mvp-0.2`；`type`（string）；`id`（string，可选）；`replyTo`（string，可选）；`payload`（object）

  Rule: v, type, id, replyTo and payload have the documented form in every message

    @host @relay @EA-019 @EA-021 @EA-022a @EA-023a @EA-024 @booking @EA-3-01
    Scenario: the host's messages during a booking have the documented form
      Given agent A has a session
      And agent A knows what the host changes on its own
      Then agent A books a ticket from the first movie to the confirmation
      When agent A calls a tool that does not exist
      Then agent A is refused with "UNKNOWN_TOOL" or "NO_ACTIVE_SPEC"
      When agent A ends the session
      Then agent A is told that the session has ended

    @agent @EA-019 @EA-021 @EA-022a @EA-022b @EA-023a @EA-024 @EA-3-02
    Scenario: the agent's messages during a booking have the documented form
      Given a host awaits the agent
      When the agent is started
      Then the agent completes the booking

  Rule: v is the protocol version, always mvp-0.2 (`v`（string）：协议版本，固定 `mvp-0.2`)

    @host @EA-020 @EA-041 @EA-068 @EA-077a @EA-3-03
    Scenario Outline: a message without the right version is refused: <fault>
      Given agent A has a session
      When agent A sends a snapshot.get with <fault>
      Then agent A's message is refused as invalid, or its connection is closed
      And agent A is still served

      Examples:
        | fault                 |
        | no v                  |
        | v of an older version |
        | v of a newer version  |
        | v in capitals         |
        | v that is a number    |
        | v that is null        |
        | v under another name  |

    @host @relay @EA-020 @EA-041 @EA-068 @EA-077a @EA-3-10
    Scenario Outline: a join without the right version is refused: <fault>
      Given agent A has joined
      And agent A loses its connection
      When agent A sends a relay.join with <fault>
      Then agent A's message is refused as invalid, or its connection is closed
      And agent A is still served

      Examples:
        | fault                 |
        | no v                  |
        | v of an older version |
        | v that is a number    |

  Rule: type is the message type, a string (`type`（string）：消息类型)

    @host @EA-041 @EA-068 @EA-077a @EA-078 @EA-3-13
    Scenario Outline: a type that is missing or unknown is refused: <fault>
      Given agent A has a session
      When agent A sends a snapshot.get with <fault>
      Then agent A's message is refused as invalid
      And agent A is still served

      Examples:
        | fault                 |
        | no type               |
        | an unknown type       |
        | an empty type         |
        | type that is a number |
        | type that is null     |
        | type that is a list   |
        | type in capitals      |

    @relay @EA-041 @EA-077a @EA-078 @EA-3-20
    Scenario Outline: an envelope whose type is not a string is refused: <fault>
      Given agent A has a session
      When agent A sends a snapshot.get with <fault>
      Then agent A's message is refused as invalid
      And agent A is still served

      Examples:
        | fault                 |
        | no type               |
        | type that is a number |
        | type that is null     |
        | type that is a list   |

  Rule: payload is an object with the content of the type (`payload`（object）：类型对应的内容)

    @host @EA-024a @EA-041 @EA-068 @EA-077a @EA-3-24
    Scenario Outline: a payload that is not an object is refused: <fault>
      Given agent A has a session
      When agent A sends a snapshot.get with <fault>
      Then agent A's message is refused as invalid, or its connection is closed
      And agent A is still served

      Examples:
        | fault                    |
        | no payload               |
        | payload that is null     |
        | payload that is a list   |
        | payload that is a text   |
        | payload that is a number |
        | payload that is true     |

    @host @relay @EA-024a @EA-041 @EA-068 @EA-077a @EA-3-30
    Scenario Outline: a join without a payload object is refused: <fault>
      Given agent A has joined
      And agent A loses its connection
      When agent A sends a relay.join with <fault>
      Then agent A's message is refused as invalid, or its connection is closed
      And agent A is still served

      Examples:
        | fault                  |
        | no payload             |
        | payload that is null   |
        | payload that is a list |

  Rule: id and replyTo are optional strings (`id`（string，可选）；`replyTo`（string，可选）)

    @host @relay @EA-022 @EA-023 @EA-041 @EA-077a @EA-3-33
    Scenario Outline: an agent is still served after a message with <fault>
      Given agent A has a session
      When agent A sends a snapshot.get with <fault>
      Then the answer to agent A's message is recorded
      And agent A is still served

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

    @host @relay @EA-041 @EA-077a @EA-3-44
    Scenario: an agent is still served after a call without reason
      Given agent A has a session
      When agent A sends a tool.call with no reason
      Then the answer to agent A's message is recorded
      And agent A is still served

    @host @relay @EA-023a @EA-3-45
    Scenario: each answer names its request when several requests are pending
      Given agent A has a session
      Then agent A sends 12 requests of different kinds without waiting, and each is answered

  Rule: An answer names the id of its own request even if another call is pending (`replyTo`（string，可选）：响应对应的请求 id)

    @host @EA-023a @EA-046 @EA-047 @EA-049 @EA-104 @EA-3-46
    Scenario: each of two pending calls is answered under its own id
      Given agent A has a session
      Then agent A makes 2 calls of announced tools without waiting, and each is answered under its own id
