@session-runtime @server
Feature: 4C A cancel
  用户控制：打断/取消当前说话的 agent

  Rule: The speaking agent gets a CANCEL, and its CANCEL_ACK is awaited — 向 speaking agent 发 CONTROL:CANCEL, 等待 CANCEL_ACK

    @RT-004 @RT-005 @RT-016 @RT-031 @RT-038 @RT-050 @RT-095 @RT-098 @RT-099 @RT-100 @RT-101 @RT-102 @RT-103 @RT-105
    @RT-4C-01
    Scenario Outline: the user <asks>, and the agent <confirms> its turn
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user <asks>
      Then agent "a" is asked to stop "t1"
      And no CANCELED is published
      When agent "a" <confirms> "t1"
      Then the frontend is told that "t1" is cancelled
      And everything is handled

      Examples:
        | asks       | confirms                  |
        | cancels    | confirms the cancel of    |
        | interrupts | confirms the cancel of    |
        | cancels    | has stopped the stream of |
        | interrupts | has stopped the stream of |

    @RT-050 @RT-099 @RT-4C-05
    Scenario: a cancel stops the speaking agent even if another agent is active
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t0"
      When the user cancels
      Then agent "a" is asked to stop "t0"
      When agent "a" confirms the cancel of "t0"
      Then the frontend is told that "t0" is cancelled
      Given agent "a" is speaking in "t1"
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled

    @RT-098 @RT-099 @RT-4C-06
    Scenario: a cancel stops the speaking turn even if it is not the latest
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user mentions agent "b" in "t2" by its payload
      Then everything is handled
      When the user cancels
      Then agent "a" is asked to stop "t1"

    @RT-104 @RT-141 @RT-162 @RT-4C-07
    Scenario: output after the confirmation is not forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled
      When agent "a" sends a chunk of "t1"
      Then the frontend does not receive the output of "t1"
      When agent "a" sends the final of "t1"
      Then the frontend does not receive the output of "t1"

    @RT-103 @RT-104 @RT-4C-08
    Scenario: after a cancel, no agent is speaking and the next turn is routed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled
      When the user cancels
      Then no CANCEL is published
      And the next input reaches agent "a"

    @RT-100 @RT-105 @RT-4C-09
    Scenario: another agent's confirmation does not complete the cancel
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "b" confirms the cancel of "t1"
      Then no CANCELED is published
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled

    @RT-100 @RT-105 @RT-4C-10
    Scenario: another turn's confirmation does not complete the cancel
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      Given agent "a" is speaking in "t2"
      When the user cancels
      Then agent "a" is asked to stop "t2"
      When agent "a" confirms the cancel of "t1"
      Then no CANCELED is published
      When agent "a" confirms the cancel of "t2"
      Then the frontend is told that "t2" is cancelled

    @RT-100 @RT-105 @RT-4C-11
    Scenario: a cancel without a confirmation is never reported as completed
      Given a short limit for confirmations of cancels
      And a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When the limit for confirming a cancel expires
      Then no CANCELED is published

    @RT-050 @RT-099 @RT-105 @RT-4C-12
    Scenario: two successive turns are cancelled
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled
      Given agent "a" is speaking in "t2"
      When the user cancels
      Then agent "a" is asked to stop "t2"
      When agent "a" confirms the cancel of "t2"
      Then the frontend is told that "t2" is cancelled

    @RT-059 @RT-105 @RT-4C-13
    Scenario: an INPUT_ACK does not confirm a cancel
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" acknowledges "t1"
      Then no CANCELED is published
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled

    @RT-105 @RT-4C-14
    Scenario: output does not confirm a cancel
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" sends a chunk of "t1"
      Then no CANCELED is published
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled

    @RT-105 @RT-4C-15
    Scenario: two requests to cancel lead to one CANCELED
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When the user interrupts
      Then no CANCELED is published
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled
      And everything is handled

    @RT-105 @RT-4C-16
    Scenario: one confirmation completes two requests to cancel
      Given agent "a" confirms the cancel of "t1" within the limit, after two requests
      When the limit for confirming a cancel expires
      Then everything is handled

    @RT-097 @RT-145 @RT-4C-17
    Scenario: a cancel immediately after the final stops no agent
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" sends the final of "t1"
      And the user cancels
      Then the frontend receives the output of "t1"
      And no CANCEL is published
      Given agent "a" is speaking in "t2"
      When the user cancels
      Then agent "a" is asked to stop "t2"

    @RT-105 @RT-4C-18
    Scenario: a final after the cancel does not complete it
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      And agent "a" sends the final of "t1"
      Then agent "a" is asked to stop "t1"
      And no CANCELED is published
      When agent "a" confirms the cancel of "t1"
      Then everything is handled
      And the next input reaches agent "a"

  Rule: If no agent is speaking, none is cancelled — 如果没有 speaking_agent_id

    @RT-096 @RT-097 @RT-4C-19
    Scenario Outline: if the user <asks> before any output, no agent is cancelled
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

    @RT-097 @RT-145 @RT-4C-21
    Scenario: a cancel after the end of a turn stops no agent
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And the user cancels
      Then no CANCEL is published
      And no CANCELED is published
      Given agent "a" is speaking in "t2"
      When the user cancels
      Then agent "a" is asked to stop "t2"

    @RT-105 @RT-4C-22
    Scenario: a second cancel without a confirmation is not reported as completed either
      Given a short limit for confirmations of cancels
      And a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When the limit for confirming a cancel expires
      Then no CANCELED is published
      When the user cancels
      And the limit for confirming a cancel expires
      Then no CANCELED is published

  Rule: Each turn can be cancelled, whatever became of earlier cancels — CONTROL:CANCEL → target=AGENT target_id=speaking_agent_id

    @RT-004 @RT-016 @RT-031 @RT-099 @RT-4C-23
    Scenario: a later turn is cancelled after a cancel that was never confirmed
      Given a short limit for confirmations of cancels
      And a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When the limit for confirming a cancel expires
      And agent "a" sends the final of "t1"
      Then everything is handled
      Given agent "a" is speaking in "t2"
      When the user cancels
      Then agent "a" is asked to stop "t2"
