--- Types of what goes over the wire (docs/PROTOCOL.md) and between the modules; holds no code.
---@meta

---@class llamagent.ContextItem
---@field uri? string
---@field text? string
---@field languageId? string
---@field range? lsp.Range
---@field diagnostics? lsp.Diagnostic[]

---@class llamagent.Usage
---@field promptTokens integer
---@field completionTokens integer
---@field cachedPromptTokens? integer
---@field requests integer
---@field seconds number

---@class llamagent.ToolCall
---@field id string
---@field name string
---@field arguments table<string, any>

---@class llamagent.ChangedFile
---@field uri string
---@field added integer
---@field removed integer

---@class llamagent.Gauge
---@field tokens integer
---@field numCtx integer
---@field estimated boolean
---@field parts {name: string, tokens: integer}[]

--- One event of `llamagent/trace`. Which of the later fields are there depends on `kind`.
---@class llamagent.Event
---@field session string
---@field turn string
---@field seq integer
---@field step integer
---@field time string
---@field actor 'user'|'model'|'harness'|'tool'|'editor'
---@field kind string
---@field text? string
---@field model? string
---@field files? any[]
---@field channel? 'content'|'thinking'
---@field content? string
---@field thinking? string
---@field toolCalls? llamagent.ToolCall[]
---@field usage? table<string, any>
---@field latency? {firstTokenSeconds?: number, totalSeconds: number}
---@field finishReason? string
---@field call? string
---@field decision? string
---@field reason? string
---@field name? string
---@field ok? boolean
---@field truncated? boolean
---@field seconds? number
---@field reviewId? string
---@field diff? string
---@field outcome? 'accepted'|'modified'|'rejected'|'failed'
---@field tokens? integer
---@field numCtx? integer
---@field stopReason? string
---@field answer? string
---@field steps? integer
---@field error? string
---@field level? 'info'|'warning'|'error'
---@field attempt? integer
---@field promptTokensEstimate? integer

---@class llamagent.QueuedAsk
---@field id string
---@field text string

---@class llamagent.ConsentQuestion
---@field call string
---@field command string
---@field cwd string
---@field sandboxed boolean
---@field network boolean

---@class llamagent.ApplyEditAnswer
---@field applied boolean
---@field failureReason? string
---@field failed? boolean|table<string, string> the edit could not be made, though nobody said no; or why, by URI
---@field stop? boolean with a no: the turn ends here
