@external-agent
Feature: 2 Transport
  A single WebSocket connection at /agent/ws; every message is a JSON envelope.
  单一 WebSocket 连接；端点：`/agent/ws`；全部报文为 JSON envelope

  Rule: The endpoint is /agent/ws (端点：`/agent/ws`)

    @host @relay @EA-017 @preflight-1 @EA-2-01
    Scenario: the endpoint accepts a WebSocket
      When agent A connects
      Then agent A is connected

    @agent @EA-016 @EA-017 @EA-106 @preflight-1 @EA-2-02
    Scenario: an agent connects
      Given a host awaits the agent
      When the agent is started
      Then the agent connects

  Rule: There is a single WebSocket connection (单一 WebSocket 连接)

    @host @relay @EA-016 @EA-025 @EA-106 @booking @EA-2-03
    Scenario: one connection carries every kind of message
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot
      When agent A makes the first call of the booking
      Then agent A is told that the call succeeded
      When agent A sends the participant a message
      Then agent A's message is not refused
      When agent A ends the session
      Then agent A is told that the session has ended

    @agent @EA-016 @EA-106 @EA-2-04
    Scenario: an agent books over one connection
      Given a host awaits the agent
      When the agent is started
      Then the agent completes the booking

  Rule: Every message is a JSON envelope (全部报文为 JSON envelope)

    @host @relay @EA-018 @EA-2-05
    Scenario: the answers to an agent are envelopes
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot

    @agent @EA-018 @EA-2-06
    Scenario: the messages of an agent are envelopes
      Given a host awaits the agent
      When the agent is started
      Then the agent makes 2 calls

    @agent @EA-018a @EA-2-07
    Scenario Outline: an agent continues after an unexpected message: <junk>
      Given a host awaits the agent
      And the host sends <junk> before the first state
      When the agent is started
      Then the agent continues with the messages that follow

      Examples:
        | junk                        |
        | malformed JSON              |
        | an empty text               |
        | a JSON array                |
        | a JSON null                 |
        | a JSON number               |
        | a JSON string               |
        | a binary frame              |
        | an unknown type             |
        | an envelope without payload |
        | an envelope without type    |
        | a presence message          |
        | an answer to nobody         |

      @EA-060
      Examples:
        | junk                      |
        | what the participant says |

      Examples:
        | junk                       |
        | a state with extra members |
        | a long state               |

    @agent @EA-018a @EA-2-22
    Scenario Outline: an agent that waits for a result continues after an unexpected message: <junk>
      Given a host awaits the agent
      And the host sends <junk> before the result of call 1
      When the agent is started
      Then the agent continues with the messages that follow

      Examples:
        | junk                      |
        | malformed JSON            |
        | a JSON null               |
        | an unknown type           |
        | an answer to nobody       |

      @EA-060
      Examples:
        | junk                      |
        | what the participant says |

  Rule: A message that is not a JSON envelope is invalid (全部报文为 JSON envelope)

    @host @relay @EA-041 @EA-077a @EA-078 @EA-2-27
    Scenario Outline: a message that is not a JSON object is refused: <junk>
      Given agent A has a session
      When agent A sends <junk>
      Then agent A's message is refused as invalid
      And agent A is still served

      Examples:
        | junk             |
        | malformed JSON   |
        | an empty text    |
        | a JSON array     |
        | a JSON string    |
        | a JSON number    |
        | a JSON null      |
        | two JSON values  |
        | half an envelope |
