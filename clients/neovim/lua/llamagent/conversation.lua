--- What is known of each client's conversation: told by the trace, shown by panel, winbar and statusline.
local M = {}

local focus = require('llamagent.focus')
local say = require('llamagent.say')

---@class llamagent.Conversation
---@field client_id integer
---@field session? string
---@field turn? string the running one
---@field running boolean
---@field doing string one word or two on what happens just now
---@field since integer `vim.uv.now()` at which that began
---@field model? string
---@field gauge? llamagent.Gauge
---@field queue llamagent.QueuedAsk[]
---@field left table<string, true> sessions that are no longer shown, whatever still comes of them
---@field last_seq integer
---@field stopped? string why the server is gone
---@field edited? boolean whether edits of the last turn were accepted
---@field proposed? llamagent.Event the last proposal
---@field task? {token: any, text: string} a long task of the server's beside a turn, such as a download

---@type table<integer, llamagent.Conversation>
local conversations = {}

---@type fun(client_id: integer, event: llamagent.Event)[]
local listeners = {}

--- The conversation of a client.
---@param client_id integer
---@return llamagent.Conversation
function M.of(client_id)
  conversations[client_id] = conversations[client_id]
    or {
      client_id = client_id,
      running = false,
      doing = 'ready',
      since = vim.uv.now(),
      queue = {},
      left = {},
      last_seq = 0,
    }
  return conversations[client_id]
end

--- What the person should know of each file of a proposal, by its URI; nil where the trace did not tell of it.
---@param client_id integer
---@param review_id string
---@return table<string, string>?
function M.notes(client_id, review_id)
  local event, found = M.of(client_id).proposed, {}
  if not event or event.reviewId ~= review_id then
    return nil
  end
  for _, file in ipairs(event.files or {}) do
    found[file.uri] = file.note
  end
  return found
end

--- Call `listener` with every trace event.
---@param listener fun(client_id: integer, event: llamagent.Event)
function M.listen(listener)
  table.insert(listeners, listener)
end

---@param conversation llamagent.Conversation
---@param doing string
local function now_doing(conversation, doing)
  if conversation.doing ~= doing then
    conversation.doing, conversation.since = doing, vim.uv.now()
    say.event('Status', { client_id = conversation.client_id, doing = doing })
    vim.schedule(function()
      vim.cmd.redrawstatus({ bang = true })
    end)
  end
end

---@return boolean
local function any_running()
  return vim.iter(vim.tbl_values(conversations)):any(function(conversation)
    return conversation.running
  end)
end

---@param conversation llamagent.Conversation
---@param event llamagent.Event
local function turn_started(conversation, event)
  conversation.running, conversation.turn, conversation.model = true, event.turn, event.model
  conversation.edited = false
  focus.watch_keys(true)
  local client = vim.lsp.get_client_by_id(conversation.client_id)
  if client then
    require('llamagent.snapshots').begin(client)
  end
end

---@param conversation llamagent.Conversation
---@param doing string
local function turn_over(conversation, doing)
  conversation.running, conversation.turn = false, nil
  require('llamagent.snapshots').finish(conversation.client_id)
  require('llamagent.review').turn_over(conversation.client_id)
  focus.watch_keys(any_running())
  now_doing(conversation, doing)
end

--- Where nobody sees the panel, the end of a turn is told.
---@param client_id integer
---@param event llamagent.Event
local function tell_end(client_id, event)
  if not require('llamagent.panel').is_visible(client_id) then
    local first = vim.split(vim.trim(event.error or event.answer or ''), '\n')[1]
    say.info(('the turn ended (%s). %s'):format((event.stopReason or 'error'):gsub('_', ' '), first))
  end
end

---@type table<string, fun(conversation: llamagent.Conversation, event: llamagent.Event)>
local on_kind = {
  ['turn.started'] = function(conversation, event)
    turn_started(conversation, event)
    now_doing(conversation, 'starting')
  end,
  ['model.requested'] = function(conversation, event)
    conversation.model = event.model
    now_doing(conversation, 'waiting for the model')
  end,
  ['model.delta'] = function(conversation, event)
    now_doing(conversation, event.channel == 'thinking' and 'thinking' or 'writing')
  end,
  ['tool.started'] = function(conversation, event)
    now_doing(conversation, event.name)
  end,
  ['tool.returned'] = function(conversation, event)
    now_doing(conversation, 'working')
    if event.name == 'run_command' then
      require('llamagent.buffer').reload_changed()
    end
  end,
  ['edit.proposed'] = function(conversation, event)
    conversation.proposed = event
    now_doing(conversation, 'waiting for you')
  end,
  ['edit.resolved'] = function(conversation, event)
    if event.outcome == 'accepted' or event.outcome == 'modified' then
      conversation.edited = true
    end
  end,
  ['harness.decided'] = function(conversation, event)
    if event.decision == 'ask' then
      now_doing(conversation, 'waiting for you')
    end
  end,
  ['context.gauge'] = function(conversation, event)
    conversation.gauge = event
  end,
  ['turn.ended'] = function(conversation, event)
    turn_over(conversation, 'ready')
    tell_end(conversation.client_id, event)
  end,
}

--- Take in one trace event.
---@param client_id integer
---@param event llamagent.Event
function M.on_event(client_id, event)
  local conversation = M.of(client_id)
  if conversation.left[event.session] then
    return
  end
  conversation.session, conversation.last_seq = event.session, event.seq
  local handle = on_kind[event.kind]
  if handle then
    handle(conversation, event)
  end
  for _, listener in ipairs(listeners) do
    listener(client_id, event)
  end
  if event.kind == 'turn.started' or event.kind == 'turn.ended' then
    local name = event.kind == 'turn.started' and 'TurnStarted' or 'TurnEnded'
    local data = { client_id = client_id, session = event.session, turn = event.turn, stopReason = event.stopReason }
    say.event(name, data)
  end
end

--- Take in the asks that wait for their turn.
---@param client_id integer
---@param session string
---@param queue llamagent.QueuedAsk[]
function M.on_queue(client_id, session, queue)
  local conversation = M.of(client_id)
  if conversation.left[session] then
    return
  end
  conversation.queue = queue
  say.event('Status', { client_id = client_id, queued = #queue })
end

--- Take in the progress of a long task, such as the download of a model: the status line shows it.
---@param client_id integer
---@param token any
---@param value {kind: string, title?: string, message?: string, percentage?: integer}
function M.on_progress(client_id, token, value)
  local conversation = M.of(client_id)
  local share = value.percentage and (' %d %%'):format(value.percentage) or ''
  local text = vim.trim(('%s%s'):format(value.message or value.title or '', share))
  conversation.task = value.kind ~= 'end' and { token = token, text = text } or nil
  say.event('Status', { client_id = client_id, doing = text })
  vim.schedule(function()
    vim.cmd.redrawstatus({ bang = true })
  end)
end

--- Another conversation is the current one from now on. What goes on in the one before is returned: nobody sees it.
---@param client_id integer
---@param session string
---@return {running?: string, queue: llamagent.QueuedAsk[]} unseen
function M.switch(client_id, session)
  local conversation = M.of(client_id)
  local unseen = { queue = {} }
  local before = conversation.session
  if before and before ~= session then
    unseen = { running = conversation.running and before or nil, queue = conversation.queue }
    conversation.left[before], conversation.queue = true, {}
    if conversation.running then
      turn_over(conversation, 'ready')
    end
  end
  conversation.left[session] = nil
  conversation.session, conversation.last_seq, conversation.gauge = session, 0, nil
  say.event('Session', { client_id = client_id, session = session })
  return unseen
end

--- The server is gone, and with it whatever ran.
---@param client_id integer
---@param why? string nil where the person ended it
function M.server_gone(client_id, why)
  local conversation = M.of(client_id)
  conversation.stopped = why or 'it was ended'
  conversation.queue = {}
  turn_over(conversation, 'server stopped')
end

--- One short piece of text for a statusline; empty where there is no agent.
---@param client_id integer
---@return string
function M.status(client_id)
  local conversation = conversations[client_id]
  if not conversation then
    return ''
  end
  local waiting = require('llamagent.review').waiting(client_id)
  if waiting > 0 then
    return ('llamagent: %d to review'):format(waiting)
  end
  return 'llamagent: ' .. (conversation.task and conversation.task.text or conversation.doing)
end

return M
