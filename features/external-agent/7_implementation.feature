@external-agent
Feature: 7 What the notes on the implementation let one see
  分阶段工具 schema 过滤；工具 schema 执行约束；MVP 中 `backendData` 不得序列化到外部快照。

  Rule: 工具 schema 执行约束 (that a host refuses other tools is UNKNOWN_TOOL, section 5)

    @agent @EA-081a @EA-096a
    Scenario: an agent calls what is announced
      Given a host awaits the agent
      When the agent is started
      Then the agent comes to the end of the booking

    @agent @EA-096a
    Scenario: an agent does not call what is announced no longer
      Given a host awaits the agent
      And what is announced changes during call 2
      When the agent is started
      Then the agent goes by the state

  Rule: 分阶段工具 schema 过滤; MVP 中 backendData 不得序列化到外部快照 (with section 1: no direct access to it)

    @host @EA-015 @EA-095 @EA-102 @booking
    Scenario: no raw data in whatever an agent is sent, and other tools at other stages
      Given agent A has a session
      And what the host changes by itself is known to agent A
      And agent A books a ticket from the first movie to the confirmation
      And agent A calls a tool that does not exist
      And agent A is refused with "UNKNOWN_TOOL" or "NO_ACTIVE_SPEC"
      And the tools that are announced change on the way
      When agent A ends the session
      Then agent A is told that the session has ended
