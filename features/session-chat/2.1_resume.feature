@session-chat @server
Feature: 2.1 Resuming a session after a restart of the target
  The database has the history: the client resumes it — 数据库有历史 → ClaudeSDKClient(resume="abc123")

  Rule: A session outlives the process — Idle --> Resuming: 发送chat消息（历史session）

    @SC-008 @SC-016 @SC-016a @SC-023 @SC-048 @SC-049 @SC-058 @model @exclusive @restart @SC-2.1-01
    Scenario Outline: a session continues after the target is <how>
      Given client A has chatted with "red"
      And client A has chatted with "red"
      When the target is <how>
      And client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"
      And "red" is the same session as before

      Examples:
        | how                      |
        | restarted                |
        | killed and started again |

    @SC-008 @SC-016 @SC-016a @SC-023 @SC-027 @SC-058 @model @exclusive @restart @SC-2.1-03
    Scenario Outline: each session resumes its own history after the target is <how>
      Given client A has chatted with "red"
      And client A has chatted with "blue"
      And client A has chatted with "red"
      When the target is <how>
      And client A chats with "blue"
      Then client A is answered by "blue"
      And the model was sent the earlier turns of "blue"
      And the model was sent no turn of another session for "blue"
      And "blue" is the same session as before
      When client B chats with "red"
      Then client B is answered by "red"
      And the model was sent the earlier turns of "red"
      And the model was sent no turn of another session for "red"
      And "red" is the same session as before

      Examples:
        | how                      |
        | restarted                |
        | killed and started again |

    @SC-008 @SC-016a @SC-023 @model @exclusive @restart @SC-2.1-05
    Scenario: a session continues after two restarts
      Given client A has chatted with "red"
      When the target is restarted
      Then client A has chatted with "red"
      When the target is killed and started again
      And client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"
      And "red" is the same session as before

    @SC-008 @SC-016a @SC-023 @model @exclusive @restart @SC-2.1-06
    Scenario: a session continues after the target is killed during a turn
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When the target is killed and started again
      And client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"
      And "red" is the same session as before

    @SC-008 @SC-016 @SC-023 @model @exclusive @restart @SC-2.1-14
    Scenario: a turn whose result has come survives a kill at that moment
      When client A connects
      Then every ended turn survives when the target is killed while turns of client A end

    @SC-009 @SC-017 @model @exclusive @restart @SC-2.1-07
    Scenario: an unused agent_id has no history after a restart
      Given client A has chatted with "red"
      When the target is restarted
      And client A chats with "blue"
      Then client A is answered by "blue"
      And "blue" is a new session
      And the model was sent no turn of another session for "blue"

    @SC-048 @SC-001 @model @exclusive @restart @SC-2.1-08
    Scenario: no session is resumed before its chat
      Given client A has chatted with "red"
      When the target is restarted
      And client A connects
      Then client A receives no message of any session
      When client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"

    @SC-008 @SC-016a @SC-023 @SC-036 @model @exclusive @restart @SC-2.1-09
    Scenario: an interrupted session continues after a restart
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      When the target is restarted
      And client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"
      And "red" is the same session as before

  Rule: The history is resumed as it was — ClaudeSDKClient(resume="abc123")

    @SC-008 @SC-016 @SC-023 @model @exclusive @restart @SC-2.1-10
    Scenario: every turn is resumed unchanged after a restart
      When client A chats with "red" with a text of emoji
      Then client A is answered by "red"
      When client A chats with "red" with a text of line breaks
      Then client A is answered by "red"
      When client A chats with "red" with a text of several hundred letters
      Then client A is answered by "red"
      When the target is restarted
      And client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"

    @SC-008 @SC-016 @SC-023 @model @exclusive @restart @SC-2.1-11
    Scenario: turns behind a failed one are resumed after a restart
      Given client A has chatted with "red"
      When client A chats with "red" and the model fails
      Then the turn of "red" ends in any way
      And client A can chat with "red" again
      When the target is restarted
      And client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"

    @SC-008 @SC-016 @model @exclusive @restart @SC-2.1-12
    Scenario: twelve turns are resumed after a restart
      Given client A has chatted 12 times with "red"
      When the target is restarted
      And client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"

    @SC-008 @SC-016 @SC-027 @SC-060 @model @exclusive @restart @SC-2.1-13
    Scenario: similar agent_ids resume their own histories after a restart
      Given client A chats with "red" under an agent_id of words with punctuation
      And client A is answered by "red"
      And client A chats with "blue" under the agent_id of "red" with an underscore for its slash
      And client A is answered by "blue"
      And client A chats with "green" under the agent_id of "red" with a hyphen for its slash
      And client A is answered by "green"
      And client A chats with "yellow" under the agent_id of "red" with its slash gone
      And client A is answered by "yellow"
      And client A chats with "grey" under the agent_id of "red" with its case folded
      And client A is answered by "grey"
      When the target is restarted
      And client A chats with "red"
      Then client A is answered by "red"
      And the model was sent no turn of another session for "red"
      And the model was sent the earlier turns of "red"
      When client A chats with "blue"
      Then client A is answered by "blue"
      And the model was sent no turn of another session for "blue"
      And the model was sent the earlier turns of "blue"
