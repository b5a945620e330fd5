--- A conversation on the panel's page: trace events in their order, the model's words as they stream.
local M = {}

local api = vim.api
local config = require('llamagent.config')
local markdown = require('llamagent.markdown')
local page = require('llamagent.page')
local render = require('llamagent.render')

---@class llamagent.Tail
---@field channel 'content'|'thinking'
---@field row integer its first row
---@field text string all that streamed so far
---@field marked integer the first row that is not highlighted yet
---@field fence? llamagent.Fence

---@class llamagent.Transcript
---@field page llamagent.Page
---@field root? string
---@field tail? llamagent.Tail what streams just now
---@field last_error? string
local Transcript = {}
Transcript.__index = Transcript

--- A transcript in an empty buffer.
---@param bufnr integer
---@param root? string the project's folder
---@return llamagent.Transcript
function M.new(bufnr, root)
  return setmetatable({ page = page.new(bufnr), root = root }, Transcript)
end

--- Highlight the finished lines of the streaming text.
---@param stop integer the row behind the last finished one
function Transcript:mark_up(stop)
  local tail = assert(self.tail)
  for i, line in ipairs(self.page:lines(tail.marked, stop)) do
    local row = tail.marked + i - 1
    if tail.channel == 'thinking' then
      self.page:paint({ { row = row, from = 0, to = #line, group = 'LlamagentThinking' } }, 0)
    elseif tail.fence and markdown.closes(line, tail.fence) then
      local code = self.page:lines(tail.fence.row, row)
      self.page:paint(markdown.code(code, tail.fence.language, tail.fence.row), 0)
      tail.fence = nil
    elseif not tail.fence then
      tail.fence = markdown.opens(line, row)
      self.page:paint(markdown.line(line, row), 0)
    end
  end
  tail.marked = stop
end

---@param channel 'content'|'thinking'
function Transcript:begin_stream(channel)
  local row = self.page:append({ '' })
  local thinking = channel == 'thinking'
  self.page:sign(row, thinking and 'thinking' or 'model', thinking and 'LlamagentThinking' or 'LlamagentModel')
  self.tail = { channel = channel, row = row, text = '', marked = row }
end

--- Words of the model as they come.
---@param channel 'content'|'thinking'
---@param text string
function Transcript:stream(channel, text)
  if self.tail and self.tail.channel ~= channel then
    self:end_stream()
  end
  if not self.tail then
    text = text:gsub('^%s*\n', '')
    if text == '' then
      return
    end
    self:begin_stream(channel)
  end
  self.tail.text = self.tail.text .. text
  self.page:append_text((text:gsub('\r', '')))
  self:mark_up(self.page:bottom() - 1)
end

--- The streaming text is complete: it is highlighted to its end, and thinking is folded away.
---@param note? string to stand behind its last line
function Transcript:end_stream(note)
  local tail = self.tail
  if not tail then
    return
  end
  local last = self.page:bottom() - 1
  while last > tail.row and self.page:lines(last, last + 1)[1] == '' do
    self.page:cut(last)
    last = last - 1
  end
  tail.marked = math.min(tail.marked, last + 1)
  self:mark_up(last + 1)
  self.tail = nil
  if note and note ~= '' then
    self.page:remark(last, note)
  end
  if tail.channel == 'thinking' then
    self.page:fold(tail.row, last, config.options.panel.fold_over)
  end
end

--- A text of the model that did not stream (it was stored, or the panel was not open), or streamed differently.
---@param channel 'content'|'thinking'
---@param text string?
---@param note? string
function Transcript:whole(channel, text, note)
  if text and text:find('%S') then
    self:stream(channel, text)
    self:end_stream(note)
  end
end

---@param event llamagent.Event
function Transcript:replied(event)
  local note = render.footnote(event)
  local tail = self.tail
  if tail and tail.channel == 'content' and vim.trim(tail.text) == vim.trim(event.content) then
    self:end_stream(note)
  elseif tail and tail.channel == 'content' then
    -- What was shown is not what came: the reply as a whole is the truth.
    self.page:cut(tail.row)
    self.tail = nil
    self:whole('content', event.content, note)
  else
    local thought = tail ~= nil
    self:end_stream()
    if not thought then
      self:whole('thinking', event.thinking)
    end
    self:whole('content', event.content, note)
  end
  local calls = render.calls(event)
  if calls then
    self.page:add(calls)
  end
end

--- What may come while the model talks; its words so far go on below.
local MEANWHILE = { ['turn.steered'] = true, ['notice'] = true }

---@param event llamagent.Event
function Transcript:add_block(event)
  local block = render.block(event, self.root)
  if not block then
    return
  end
  local tail = MEANWHILE[event.kind] and self.tail or nil
  if tail then
    self.page:cut(tail.row)
    self.tail = nil
  end
  self:end_stream()
  if event.kind == 'turn.started' and self.page:bottom() > 0 then
    self.page:append({ '' })
  end
  local row = self.page:add(block)
  if event.kind == 'turn.started' then
    self.page:mark_turn(row)
  elseif event.kind == 'turn.ended' then
    self.last_error = event.error
  end
  if tail then
    self:stream(tail.channel, tail.text)
  end
end

---@param event llamagent.Event
function Transcript:add(event)
  if event.kind == 'model.delta' then
    self:stream(event.channel, event.text)
  elseif event.kind == 'model.replied' then
    self:replied(event)
  else
    self:add_block(event)
  end
end

--- Old lines go when there are too many of them.
function Transcript:trim()
  local most = config.options.panel.max_lines
  local extra = api.nvim_buf_line_count(self.page.bufnr) - most
  if extra <= most / 10 then
    return
  end
  self.page:drop(extra)
  local tail = self.tail
  if tail then
    tail.row = math.max(0, tail.row - extra)
    tail.marked = math.max(0, tail.marked - extra)
    if tail.fence then
      tail.fence.row = math.max(0, tail.fence.row - extra)
    end
  end
end

--- Neighbouring pieces of the model's words as one: a batch is drawn by few changes of the buffer.
---@param events llamagent.Event[]
---@return llamagent.Event[]
local function joined(events)
  local out, parts = {}, {}
  for i, event in ipairs(events) do
    local following = events[i + 1]
    if event.kind ~= 'model.delta' then
      table.insert(out, event)
    else
      table.insert(parts, event.text)
      if not following or following.kind ~= 'model.delta' or following.channel ~= event.channel then
        table.insert(out, vim.tbl_extend('force', event, { text = table.concat(parts) }))
        parts = {}
      end
    end
  end
  return out
end

--- Draw events in their order.
---@param events llamagent.Event[]
function Transcript:draw(events)
  self.page:writing(function()
    for _, event in ipairs(joined(events)) do
      self:add(event)
    end
    self:trim()
  end)
end

--- A line that is no event; not what the turn's last line said already.
---@param text string
---@param group string
function Transcript:note(text, group)
  if self.last_error == text then
    return
  end
  self.page:writing(function()
    self:end_stream()
    self.page:add({ lines = vim.split(text, '\n'), sign = 'error', group = group, whole = true, spans = {} })
  end)
end

--- Say what waits for the person; nil: it does not wait any more.
---@param id string
---@param text string?
function Transcript:hint(id, text)
  self.page:writing(function()
    if text then
      self:end_stream()
    end
    self.page:hint(id, text)
  end)
end

--- Forget everything.
function Transcript:clear()
  self.tail, self.last_error = nil, nil
  self.page:writing(function()
    self.page:clear()
  end)
end

return M
