@external-agent
Feature: 7 The observable part of the implementation notes
  Tools are filtered by stage and called within their schemas; backendData is never serialised into external snapshots.
  分阶段工具 schema 过滤；工具 schema 执行约束；MVP 中 `backendData` 不得序列化到外部快照。

  Rule: An agent calls tools within their schemas (工具 schema 执行约束)

    @agent @EA-081a @EA-096a @EA-7-01
    Scenario: an agent calls announced tools
      Given a host awaits the agent
      When the agent is started
      Then the agent completes the booking

    @agent @EA-096a @EA-7-02
    Scenario: an agent does not call a tool that is no longer announced
      Given a host awaits the agent
      And the announced tools change during call 2
      When the agent is started
      Then the agent acts on the latest state

  Rule: Each stage announces its own tools, and backendData never reaches an external agent (分阶段工具 schema 过滤；MVP 中 `backendData` 不得序列化到外部快照)

    @host @EA-015 @EA-095 @EA-102 @booking @EA-7-03
    Scenario: an agent receives different tools at different stages, and no backendData
      Given agent A has a session
      And agent A knows what the host changes on its own
      And agent A books a ticket from the first movie to the confirmation
      And agent A calls a tool that does not exist
      And agent A is refused with "UNKNOWN_TOOL" or "NO_ACTIVE_SPEC"
      And the announced tools change during the booking
      When agent A ends the session
      Then agent A is told that the session has ended
