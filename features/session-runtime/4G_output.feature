@session-runtime @server
Feature: 4G An agent's output
  核心铁律：前端不直接订阅/渲染来自 agent 的输出。输出一定要经 SessionRuntime 转发。

  Rule: Output is forwarded to the frontend with its payload and metadata unchanged — 转发给前端: payload 原样; metadata 原样保留

    @RT-002 @RT-039 @RT-082 @RT-139 @RT-140 @RT-142 @RT-148 @RT-149 @RT-150 @RT-4G-01
    Scenario: chunks and a final are forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" ends "t1"
      Then everything is handled

    @RT-002 @RT-150 @RT-4G-02
    Scenario: consecutive chunks are forwarded in order
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" sends a chunk of "t1"
      And agent "a" sends a chunk of "t1"
      And agent "a" sends a chunk of "t1"
      And agent "a" sends a chunk of "t1"
      And agent "a" sends the final of "t1"
      Then the frontend receives the output of "t1"
      And everything is handled

    @RT-002 @RT-082 @RT-150 @RT-4G-03
    Scenario: several chunks with the same text are all forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" repeats its text in another chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" repeats its text in another chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" ends "t1"
      Then everything is handled

    @RT-146 @RT-039 @RT-4G-04
    Scenario: a final without chunks is forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      When agent "a" sends a final without chunks of "t1"
      Then the frontend receives the output of "t1"
      When the user cancels
      Then no CANCEL is published

    @RT-148 @RT-149 @RT-4G-05
    Scenario: odd values are forwarded unchanged
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" sends a chunk with odd values of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" sends the final with odd values of "t1"
      Then the frontend receives the output of "t1"

    @RT-148 @RT-4G-06
    Scenario Outline: text is forwarded unchanged: <text>
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" sends <text> of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" ends "t1"
      Then everything is handled

      Examples:
        | text                      |
        | long text                 |
        | text that looks like JSON |
        | text of odd characters    |
        | blanks                    |

    @RT-002 @RT-148 @RT-150 @RT-4G-10
    Scenario: output of an agent that is no longer active is forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" ends "t1"

  Rule: Output must belong to a turn in flight and come from its agent — 校验：该输出是否属于某个 inflight(turn_id) 且目标 agent 匹配

    @RT-141 @RT-056 @RT-4G-11
    Scenario: output of a completed turn is not forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" sends a chunk of "t1"
      Then the frontend does not receive the output of "t1"
      When agent "a" sends the final of "t1"
      Then the frontend does not receive the output of "t1"

    @RT-141 @RT-4G-12
    Scenario: output of a turn completed by a final without chunks is not forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      When agent "a" sends a final without chunks of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" sends a final without chunks of "t1"
      Then the frontend does not receive the output of "t1"

    @RT-141 @RT-4G-13
    Scenario: another agent's output is not forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "b" sends a chunk of "t1"
      Then the frontend does not receive the output of "t1"
      When agent "b" sends the final of "t1"
      Then the frontend does not receive the output of "t1"
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" ends "t1"

    @RT-141 @RT-052 @RT-4G-14
    Scenario: output of an unknown turn is not forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      And an input "t0" that was never sent
      When agent "a" sends a chunk of "t0"
      Then the frontend does not receive the output of "t0"
      When agent "a" sends a final without chunks of "t0"
      Then the frontend does not receive the output of "t0"
      When agent "a" ends "t1"

    @RT-141 @RT-4G-15
    Scenario: another agent's final does not complete the turn
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "b" sends the final of "t1"
      And agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"

    @RT-141 @RT-142 @RT-050 @RT-4G-16
    Scenario: another agent's chunk does not make it a speaker
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And an input "t0" that was never sent
      When agent "b" sends a chunk of "t0"
      Then the frontend does not receive the output of "t0"
      When the user cancels
      Then no CANCEL is published
      Given agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"

  Rule: The first chunk makes its agent the speaker, and the final ends the turn — chunk 首包, final

    @RT-050 @RT-142 @RT-4G-17
    Scenario: the first chunk makes its agent the speaker
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t0"
      When agent "a" sends a chunk of "t0"
      Then the frontend receives the output of "t0"
      When the user cancels
      Then agent "a" is asked to stop "t0"
      When agent "a" confirms the cancel of "t0"
      Then the frontend is told that "t0" is cancelled
      Given agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"

    @RT-145 @RT-4G-18
    Scenario: the final ends the turn, and the next one is routed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And the user cancels
      Then no CANCEL is published
      Given agent "a" is speaking in "t2"
      When the user cancels
      Then agent "a" is asked to stop "t2"

  Rule: Output is forwarded unchanged, even if there is nothing in it — payload 原样

    @RT-002 @RT-039 @RT-148 @RT-4G-19
    Scenario: an empty final is forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" sends an empty final of "t1"
      Then the frontend receives the output of "t1"
      And the next input reaches agent "a"
