@external-agent
Feature: 2 Transport
  单一 WebSocket 连接；端点：`/agent/ws`；全部报文为 JSON envelope

  Rule: 端点：/agent/ws

    @host @relay @EA-017 @preflight-1
    Scenario: the endpoint takes a WebSocket
      When agent A connects
      Then agent A is connected

    @agent @EA-016 @EA-017 @EA-106 @preflight-1
    Scenario: an agent connects
      Given a host awaits the agent
      When the agent is started
      Then the agent connects

  Rule: 单一 WebSocket 连接

    @host @relay @EA-016 @EA-025 @EA-106 @booking
    Scenario: one connection carries everything
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot
      When agent A makes the first call of the booking
      Then agent A is told that the call went well
      When agent A says something
      Then agent A is not refused
      When agent A ends the session
      Then agent A is told that the session has ended

    @agent @EA-016 @EA-106
    Scenario: an agent books over one connection
      Given a host awaits the agent
      When the agent is started
      Then the agent comes to the end of the booking

  Rule: 全部报文为 JSON envelope

    @host @relay @EA-018
    Scenario: what answers an agent is an envelope
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot

    @agent @EA-018
    Scenario: what an agent says is an envelope
      Given a host awaits the agent
      When the agent is started
      Then the agent makes 2 calls

    @agent @EA-018a
    Scenario Outline: an agent goes on behind what it cannot understand
      Given a host awaits the agent
      And the host sends <junk> in front of the first state
      When the agent is started
      Then the agent reads on

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
        | what the participant says   |
        | a state with extra members  |
        | a long state                |

    @agent @EA-018a
    Scenario Outline: an agent that waits for a result goes on behind what it cannot understand
      Given a host awaits the agent
      And the host sends <junk> in front of the result of call 1
      When the agent is started
      Then the agent reads on

      Examples:
        | junk                      |
        | malformed JSON            |
        | a JSON null               |
        | an unknown type           |
        | an answer to nobody       |
        | what the participant says |

  Rule: 全部报文为 JSON envelope: what is none

    @host @relay @EA-041 @EA-077a @EA-078
    Scenario Outline: what is no JSON object is refused
      Given agent A has a session
      When agent A sends <junk>
      Then agent A's message is refused as invalid
      And agent A can go on

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
