@external-agent
Feature: 4.0 The handshake
  The host and the external agent must both join the relay session first.
  Host（frontend）与外部 Agent 都必须先加入 relay session。

  Rule: relay.joined answers relay.join, and echoes role and sessionId ("replyTo": "join-001", "role": "agent", "sessionId": "default")

    @host @relay @EA-016 @EA-028 @EA-029 @EA-030 @EA-106 @preflight-2 @EA-4.0-01
    Scenario: an agent joins
      Given agent A connects
      When agent A joins
      Then agent A is told that it has joined

    @relay @EA-025 @EA-028 @EA-029 @EA-030 @EA-4.0-02
    Scenario: a host joins
      When the host connects and joins
      Then the host is told that it has joined

    @relay @EA-025 @EA-028 @EA-4.0-03
    Scenario: an agent can join before the host
      Given no host is present
      And agent A has joined
      When another host joins
      And agent A starts a session
      Then agent A is told that the session has started

    @host @relay @EA-025 @EA-028 @EA-029 @EA-030 @EA-103 @EA-4.0-04
    Scenario Outline: an agent that <leaves> can join again
      Given agent A has joined
      When agent A <leaves>
      And agent A has joined
      And agent A starts a session
      Then agent A is told that the session has started

      Examples:
        | leaves               |
        | disconnects          |
        | loses its connection |

    @host @relay @EA-041 @EA-077a @EA-4.0-06
    Scenario Outline: a join with <fault> does not disturb the other parties
      Given agent A has a session
      When agent B sends a relay.join with <fault>
      And the answer to agent B's message is recorded
      Then agent A is still served

      Examples:
        | fault                        |
        | no role                      |
        | an unknown role              |
        | no sessionId                 |
        | a sessionId that is a number |

  Rule: An external agent must first join the relay session (Host（frontend）与外部 Agent 都必须先加入 relay session)

    @agent @EA-026 @EA-027 @preflight-2 @EA-4.0-10
    Scenario: an agent joins before it sends anything else
      Given a host awaits the agent
      When the agent is started
      Then the agent joins

    @agent @EA-026 @EA-4.0-11
    Scenario: an agent waits until it has joined
      Given a host awaits the agent
      And relay.joined comes late
      When the agent is started
      Then the agent waits until it has joined

    @host @relay @EA-079b @EA-4.0-12
    Scenario: a call before the join is refused
      Given agent A has a session
      And agent B connects
      When agent B makes a call
      Then agent B's call is refused, or its connection is closed

  Rule: A party belongs only to the relay session that it has joined (必须先加入 relay session)

    @host @relay @EA-025 @EA-103 @EA-4.0-13
    Scenario: relay sessions do not mix
      Given the target has a host in every relay session
      And agent A has a session
      When agent B joins the relay session "other"
      And agent B is told that it has joined
      And agent B has a session
      And agent B sends the participant a message
      And agent B's message is not refused
      Then agent A receives nothing from agent B's relay session

    @host @relay @EA-009 @EA-025 @EA-4.0-14
    Scenario: a participant's message stays in its relay session
      Given the target has a host in every relay session
      And agent A has a session
      And agent B joins the relay session "other"
      And agent B is told that it has joined
      And agent B has a session
      When the participant speaks to agent B
      Then agent B receives the participant's message
      And agent A receives nothing from agent B's relay session

    @host @exclusive @EA-025 @booking @EA-4.0-20
    Scenario: a call in one relay session changes nothing in another
      Given the target has a host in every relay session
      And agent A has a session
      And agent A asks for a snapshot
      And agent A gets a snapshot
      And agent B joins the relay session "other"
      And agent B is told that it has joined
      And agent B has a session
      When agent B makes the first call of the booking
      And agent B is told that the call succeeded
      And agent B asks for a snapshot
      And agent B gets a snapshot
      Then agent A receives nothing from agent B's relay session

    @host @relay @EA-028 @EA-041 @EA-4.0-15
    Scenario: an agent that has reconnected may reuse its request ids
      Given agent A counts its requests from 1
      And agent A has a session
      And agent A asks for a snapshot
      And agent A gets a snapshot
      When agent A loses its connection
      And agent A counts its requests from 1
      And agent A has joined
      And agent A has a session
      And agent A asks for a snapshot
      Then agent A gets a snapshot

  Rule: A relay session is not a study session ("sessionId": "default", "sessionId": "s-20260213-001")

    @host @relay @EA-103 @EA-4.0-16
    Scenario: the relay session and the study session have different ids
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot

    @agent @EA-103 @preflight-3 @EA-4.0-17
    Scenario: an agent uses the relay session that it has joined
      Given a host awaits the agent
      When the agent is started
      Then the agent sends the host a message

  Rule: An answer names the id of its request as it is, a string

    @host @relay @EA-028 @EA-038 @EA-041 @EA-4.0-18
    Scenario: ids that look like numbers are answered as strings
      Given agent A numbers its requests from 1
      When agent A joins
      Then agent A is told that it has joined
      When agent A starts a session
      Then agent A is told that the session has started
      When agent A asks for a snapshot
      Then agent A gets a snapshot

  Rule: A session is only for an agent that has joined (必须先加入 relay session)

    @host @relay @EA-079b @EA-4.0-19
    Scenario: a session.start before the join is refused
      Given agent A has a session
      And agent B connects
      When agent B starts a session
      Then agent B's request is refused, or its connection is closed
