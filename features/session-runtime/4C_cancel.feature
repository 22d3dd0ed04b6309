@session-runtime @server
Feature: 4C A cancel
  用户控制：打断/取消当前说话的 agent

  Rule: 向 speaking agent 发 CONTROL:CANCEL, 等待 CANCEL_ACK

    @RT-004 @RT-005 @RT-016 @RT-031 @RT-038 @RT-050 @RT-095 @RT-098 @RT-099 @RT-100 @RT-101 @RT-102 @RT-103 @RT-105
    Scenario Outline: both ways to ask, both ways to confirm
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user <asks>
      Then agent "a" is asked to stop "t1"
      And no CANCELED is published
      When agent "a" <confirms> "t1"
      Then the frontend hears that "t1" is cancelled
      And everything is handled

      Examples:
        | asks       | confirms                  |
        | cancels    | confirms the cancel of    |
        | interrupts | confirms the cancel of    |
        | cancels    | has stopped the stream of |
        | interrupts | has stopped the stream of |

    @RT-050 @RT-099
    Scenario: the agent that speaks is another than the active one
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t0"
      When the user cancels
      Then agent "a" is asked to stop "t0"
      When agent "a" confirms the cancel of "t0"
      Then the frontend hears that "t0" is cancelled
      Given agent "a" is speaking in "t1"
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" confirms the cancel of "t1"
      Then the frontend hears that "t1" is cancelled

    @RT-098 @RT-099
    Scenario: the turn that is speaking is not the latest
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user mentions agent "b" in "t2" by its payload
      Then everything is handled
      When the user cancels
      Then agent "a" is asked to stop "t1"

    @RT-104 @RT-141 @RT-162
    Scenario: output after the confirmation
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" confirms the cancel of "t1"
      Then the frontend hears that "t1" is cancelled
      When agent "a" sends a chunk of "t1"
      Then the frontend does not get what was sent of "t1"
      When agent "a" sends the final of "t1"
      Then the frontend does not get what was sent of "t1"

    @RT-103 @RT-104
    Scenario: after a cancel nobody is speaking, and the next turn is routed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" confirms the cancel of "t1"
      Then the frontend hears that "t1" is cancelled
      When the user cancels
      Then no CANCEL is published
      And the next input reaches agent "a"

    @RT-100 @RT-105
    Scenario: the confirmation of another agent is none
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "b" confirms the cancel of "t1"
      Then no CANCELED is published
      When agent "a" confirms the cancel of "t1"
      Then the frontend hears that "t1" is cancelled

    @RT-100 @RT-105
    Scenario: the confirmation of another turn is none
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      Given agent "a" is speaking in "t2"
      When the user cancels
      Then agent "a" is asked to stop "t2"
      When agent "a" confirms the cancel of "t1"
      Then no CANCELED is published
      When agent "a" confirms the cancel of "t2"
      Then the frontend hears that "t2" is cancelled

    @RT-100 @RT-105
    Scenario: a confirmation that never comes
      Given confirmations of cancels are awaited for a short time
      And a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When the time for confirming a cancel is over
      Then no CANCELED is published

    @RT-050 @RT-099 @RT-105
    Scenario: two turns, each cancelled
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" confirms the cancel of "t1"
      Then the frontend hears that "t1" is cancelled
      Given agent "a" is speaking in "t2"
      When the user cancels
      Then agent "a" is asked to stop "t2"
      When agent "a" confirms the cancel of "t2"
      Then the frontend hears that "t2" is cancelled

    @RT-059 @RT-105
    Scenario: an acknowledgement of the input is no confirmation of its cancel
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" acknowledges "t1"
      Then no CANCELED is published
      When agent "a" confirms the cancel of "t1"
      Then the frontend hears that "t1" is cancelled

    @RT-105
    Scenario: what an agent still says is no confirmation
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" sends a chunk of "t1"
      Then no CANCELED is published
      When agent "a" confirms the cancel of "t1"
      Then the frontend hears that "t1" is cancelled

    @RT-105
    Scenario: a cancel twice is cancelled once
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When the user interrupts
      Then no CANCELED is published
      When agent "a" confirms the cancel of "t1"
      Then the frontend hears that "t1" is cancelled
      And everything is handled

    @RT-105
    Scenario: a cancel twice is over once it is confirmed
      Given agent "a" has confirmed in time that "t1" is cancelled, which was asked for twice
      When the time for confirming a cancel is over
      Then everything is handled

    @RT-097 @RT-145
    Scenario: the final is there before the cancel
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" sends the final of "t1"
      And the user cancels
      Then the frontend gets what was sent of "t1"
      And no CANCEL is published
      Given agent "a" is speaking in "t2"
      When the user cancels
      Then agent "a" is asked to stop "t2"

    @RT-105
    Scenario: the final comes behind the cancel
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      And agent "a" sends the final of "t1"
      Then agent "a" is asked to stop "t1"
      And no CANCELED is published
      When agent "a" confirms the cancel of "t1"
      Then everything is handled
      And the next input reaches agent "a"

  Rule: 如果没有 speaking_agent_id

    @RT-096 @RT-097
    Scenario Outline: nobody is speaking
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user <asks>
      Then no CANCEL is published
      Given agent "a" is speaking in "t1"
      When the user <asks>
      Then agent "a" is asked to stop "t1"

      Examples:
        | asks       |
        | cancels    |
        | interrupts |

    @RT-097 @RT-145
    Scenario: nobody is speaking any more
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And the user cancels
      Then no CANCEL is published
      And no CANCELED is published
      Given agent "a" is speaking in "t2"
      When the user cancels
      Then agent "a" is asked to stop "t2"
