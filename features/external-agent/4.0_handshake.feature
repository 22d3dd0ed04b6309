@external-agent
Feature: 4.0 The handshake
  Host（frontend）与外部 Agent 都必须先加入 relay session。

  Rule: relay.joined answers relay.join, and echoes role and sessionId

    @host @relay @EA-016 @EA-028 @EA-029 @EA-030 @EA-106 @preflight-2
    Scenario: an agent joins
      Given agent A connects
      When agent A joins
      Then agent A is told that it has joined

    @relay @EA-025 @EA-028 @EA-029 @EA-030
    Scenario: a host joins
      When the host connects and joins
      Then the host is told that it has joined

    @relay @EA-025 @EA-028
    Scenario: the agent may be there before the host
      Given no host is there
      And agent A has joined
      When another host joins
      And agent A starts a session
      Then agent A is told of the session

    @host @relay @EA-025 @EA-028 @EA-029 @EA-030 @EA-103
    Scenario Outline: an agent joins again once it has left
      Given agent A has joined
      When agent A <leaves>
      And agent A has joined
      And agent A starts a session
      Then agent A is told of the session

      Examples:
        | leaves               |
        | disconnects          |
        | loses its connection |

    @host @relay @EA-041 @EA-077a
    Scenario Outline: a join that is none breaks nothing for who is there
      Given agent A has a session
      When agent B sends a relay.join with <fault>
      And what comes of agent B's message is noted
      Then agent A can go on

      Examples:
        | fault                        |
        | no role                      |
        | an unknown role              |
        | no sessionId                 |
        | a sessionId that is a number |

  Rule: 外部 Agent 必须先加入 relay session

    @agent @EA-026 @EA-027 @preflight-2
    Scenario: an agent joins before it says anything
      Given a host awaits the agent
      When the agent is started
      Then the agent joins

    @agent @EA-026
    Scenario: an agent waits until it has joined
      Given a host awaits the agent
      And relay.joined comes late
      When the agent is started
      Then the agent calls a tool

    @host @relay @EA-079b
    Scenario: nobody calls a tool who has not joined
      Given agent A has a session
      And agent B connects
      When agent B makes a call before it has joined
      Then agent B's call is refused, or its connection closed

  Rule: 必须先加入 relay session: who has joined one is in that one, and in no other

    @host @relay @EA-025 @EA-103
    Scenario: relay sessions do not mix
      Given a host is in every relay session
      And agent A has a session
      When agent B joins the relay session "other"
      And agent B is told that it has joined
      And agent B has a session
      And agent B says something
      And agent B is not refused
      Then agent A hears nothing of agent B's relay session

    @host @relay @EA-009 @EA-025
    Scenario: what a participant says stays in its relay session
      Given a host is in every relay session
      And agent A has a session
      And agent B joins the relay session "other"
      And agent B is told that it has joined
      And agent B has a session
      When the participant speaks to agent B
      Then agent B hears the participant
      And agent A hears nothing of agent B's relay session

    @host @relay @EA-028 @EA-041
    Scenario: an agent that has come back may count its requests from the first again
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

  Rule: the relay session is one thing, and the study session another

    @host @relay @EA-103
    Scenario: the ids are never the same by need
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot

    @agent @EA-103 @preflight-3
    Scenario: an agent turns to the host in the relay session that it has joined
      Given a host awaits the agent
      When the agent is started
      Then the agent turns to the host
