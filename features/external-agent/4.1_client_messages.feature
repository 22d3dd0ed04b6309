@external-agent
Feature: 4.1 Client to host
  session.start, snapshot.get, tool.call, agent.message, session.end

  Rule: every message has the members of its type

    @agent @EA-031 @EA-032 @EA-033 @EA-034 @EA-035
    Scenario: what an agent says on the way to a ticket
      Given a host awaits the agent
      When the agent is started
      Then the agent comes to the end of the booking

    @agent @EA-036
    Scenario: what an agent says to the participant
      Given a host awaits the agent
      And the host sends what the participant says behind the first state
      When the agent is started
      Then the agent says something to the participant

    @agent @EA-037
    Scenario: an agent ends the session
      Given a host awaits the agent
      When the agent is started
      Then the agent comes to the end of the booking
      And the agent ends the session

    @agent @EA-032 @EA-076
    Scenario: an agent that comes back asks for a snapshot
      Given a host awaits the agent
      And the connection is lost behind call 1
      When the agent is started
      Then the agent comes back
      And the agent asks for a snapshot before it calls again

