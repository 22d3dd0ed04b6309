@external-agent
Feature: 4.1 Client to host
  session.start, snapshot.get, tool.call, agent.message, session.end

  Rule: Every message has the members of its type

    @agent @EA-031 @EA-032 @EA-033 @EA-034 @EA-035 @EA-4.1-01
    Scenario: the agent's messages during a booking have their members
      Given a host awaits the agent
      When the agent is started
      Then the agent completes the booking

    @agent @EA-036 @EA-4.1-02
    Scenario: an agent sends the participant a message
      Given a host awaits the agent
      And the host sends what the participant says after the first state
      When the agent is started
      Then the agent sends the participant a message

    @agent @EA-037 @EA-4.1-03
    Scenario: an agent ends the session
      Given a host awaits the agent
      When the agent is started
      Then the agent completes the booking
      And the agent ends the session

    @agent @EA-032 @EA-076 @EA-4.1-04
    Scenario: an agent that has reconnected asks for a snapshot
      Given a host awaits the agent
      And the connection is lost after call 1
      When the agent is started
      Then the agent reconnects
      And the agent asks for a snapshot before its next call

