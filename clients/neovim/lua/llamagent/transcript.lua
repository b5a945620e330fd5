--- The panel's buffer: blocks appended, the model's words streamed at the end, folds and hints kept as marks.
local M = {}

local api = vim.api
local config = require('llamagent.config')
local markdown = require('llamagent.markdown')
local render = require('llamagent.render')

local ns = api.nvim_create_namespace('llamagent.text')
local ns_fold = api.nvim_create_namespace('llamagent.fold')
local ns_turn = api.nvim_create_namespace('llamagent.turn')
local ns_hint = api.nvim_create_namespace('llamagent.hint')

---@class llamagent.Tail
---@field channel 'content'|'thinking'
---@field row integer its first row
---@field text string all that streamed so far
---@field marked integer the first row that is not highlighted yet
---@field fence? llamagent.Fence

---@class llamagent.Transcript
---@field bufnr integer
---@field root? string
---@field tail? llamagent.Tail what streams just now
---@field last_error? string
---@field reviews table<string, integer> the last row of a proposal's diff, as an extmark, by review
---@field unfolded {first: integer, last: integer}[] folds still to be made in the windows
local Transcript = {}
Transcript.__index = Transcript

--- A transcript in an empty buffer.
---@param bufnr integer
---@param root? string the project's folder
---@return llamagent.Transcript
function M.new(bufnr, root)
  return setmetatable({ bufnr = bufnr, root = root, reviews = {}, unfolded = {} }, Transcript)
end

---@return integer row behind the last line; 0 in an empty buffer
function Transcript:bottom()
  local count = api.nvim_buf_line_count(self.bufnr)
  return count == 1 and api.nvim_buf_get_lines(self.bufnr, 0, 1, true)[1] == '' and 0 or count
end

---@param lines string[]
---@return integer row of the first of them
function Transcript:append(lines)
  local row = self:bottom()
  local clean = vim.tbl_map(function(line)
    return (line:gsub('\n', ' '))
  end, lines)
  api.nvim_buf_set_lines(self.bufnr, row == 0 and 0 or row, -1, true, clean)
  return row
end

---@param row integer
---@param sign string
---@param group string
function Transcript:sign(row, sign, group)
  local text = config.options.signs[sign]
  api.nvim_buf_set_extmark(self.bufnr, ns, row, 0, { sign_text = text, sign_hl_group = group, right_gravity = false })
end

---@param spans llamagent.Span[]
---@param offset integer
function Transcript:paint(spans, offset)
  for _, span in ipairs(spans) do
    local options = { end_col = span.to, hl_group = span.group, strict = false }
    api.nvim_buf_set_extmark(self.bufnr, ns, offset + span.row, span.from, options)
  end
end

---@param first integer
---@param last integer
---@param over integer so many lines stay open
function Transcript:fold(first, last, over)
  if last - first + 1 > over then
    api.nvim_buf_set_extmark(self.bufnr, ns_fold, first, 0, { end_row = last })
    table.insert(self.unfolded, { first = first, last = last })
  end
end

---@param block llamagent.Block
---@return integer row
function Transcript:add_block(block)
  local row = self:append(block.lines)
  if block.sign then
    self:sign(row, block.sign, block.group or 'LlamagentDim')
  end
  if block.whole then
    for i, line in ipairs(block.lines) do
      table.insert(block.spans, { row = i - 1, from = 0, to = #line, group = block.group })
    end
  end
  self:paint(block.spans, row)
  if block.fold_from then
    local over = config.options.panel[block.diff and 'fold_diff_over' or 'fold_over']
    self:fold(row + block.fold_from, row + #block.lines - 1, over)
  end
  return row
end

--- Highlight the finished lines of the streaming text.
---@param stop integer the row behind the last finished one
function Transcript:mark_up(stop)
  local tail = assert(self.tail)
  local lines = api.nvim_buf_get_lines(self.bufnr, tail.marked, stop, true)
  for i, line in ipairs(lines) do
    local row = tail.marked + i - 1
    if tail.channel == 'thinking' then
      self:paint({ { row = row, from = 0, to = #line, group = 'LlamagentThinking' } }, 0)
    elseif tail.fence and markdown.closes(line, tail.fence) then
      local code = api.nvim_buf_get_lines(self.bufnr, tail.fence.row, row, true)
      self:paint(markdown.code(code, tail.fence.language, tail.fence.row), 0)
      tail.fence = nil
    elseif not tail.fence then
      tail.fence = markdown.opens(line, row)
      self:paint(markdown.line(line, row), 0)
    end
  end
  tail.marked = stop
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
    local row = self:append({ '' })
    local thinking = channel == 'thinking'
    self:sign(row, thinking and 'thinking' or 'model', thinking and 'LlamagentThinking' or 'LlamagentModel')
    self.tail = { channel = channel, row = row, text = '', marked = row }
  end
  self.tail.text = self.tail.text .. text
  local last = api.nvim_buf_line_count(self.bufnr) - 1
  local width = #api.nvim_buf_get_lines(self.bufnr, last, last + 1, true)[1]
  local lines = vim.split((text:gsub('\r', '')), '\n', { plain = true })
  api.nvim_buf_set_text(self.bufnr, last, width, last, width, lines)
  self:mark_up(api.nvim_buf_line_count(self.bufnr) - 1)
end

--- The streaming text is complete: it is highlighted to its end, and thinking is folded away.
---@param note? string to stand behind its last line
function Transcript:end_stream(note)
  local tail = self.tail
  if not tail then
    return
  end
  local last = api.nvim_buf_line_count(self.bufnr) - 1
  while last > tail.row and api.nvim_buf_get_lines(self.bufnr, last, last + 1, true)[1] == '' do
    api.nvim_buf_set_lines(self.bufnr, last, last + 1, true, {})
    last = last - 1
  end
  tail.marked = math.min(tail.marked, last + 1)
  self:mark_up(last + 1)
  self.tail = nil
  if note and note ~= '' then
    local options = { virt_text = { { '  ' .. note, 'LlamagentDim' } }, virt_text_pos = 'eol', hl_mode = 'combine' }
    api.nvim_buf_set_extmark(self.bufnr, ns, last, 0, options)
  end
  if tail.channel == 'thinking' then
    self:fold(tail.row, last, config.options.panel.fold_over)
  end
end

--- A text of the model that did not stream (it was stored, or the panel was not open), or streamed differently.
---@param channel 'content'|'thinking'
---@param text string?
---@param note? string
function Transcript:whole(channel, text, note)
  if not text or not text:find('%S') then
    return
  end
  self:stream(channel, text)
  self:end_stream(note)
end

---@param event llamagent.Event
function Transcript:replied(event)
  local note = render.footnote(event)
  local tail = self.tail
  if tail and tail.channel == 'content' and vim.trim(tail.text) == vim.trim(event.content) then
    self:end_stream(note)
  elseif tail and tail.channel == 'content' then
    -- What was shown is not what came: the reply as a whole is the truth.
    api.nvim_buf_set_lines(self.bufnr, tail.row, -1, true, {})
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
    self:add_block(calls)
  end
end

---@param event llamagent.Event
function Transcript:add(event)
  if event.kind == 'model.delta' then
    self:stream(event.channel, event.text)
    return
  elseif event.kind == 'model.replied' then
    self:replied(event)
    return
  end
  local block = render.block(event, self.root)
  if not block then
    return
  end
  self:end_stream()
  if event.kind == 'turn.started' and self:bottom() > 0 then
    self:append({ '' })
  end
  local row = self:add_block(block)
  if event.kind == 'turn.started' then
    api.nvim_buf_set_extmark(self.bufnr, ns_turn, row, 0, {})
  elseif event.kind == 'edit.proposed' then
    local last = row + #block.lines - 1
    self.reviews[event.reviewId] = api.nvim_buf_set_extmark(self.bufnr, ns_hint, last, 0, {})
  elseif event.kind == 'turn.ended' then
    self.last_error = event.error
  end
end

--- Old lines go when there are too many of them; marks and folds move along.
function Transcript:trim()
  local most = config.options.panel.max_lines
  local extra = api.nvim_buf_line_count(self.bufnr) - most
  if extra > most / 10 then
    api.nvim_buf_set_lines(self.bufnr, 0, extra, true, {})
    if self.tail then
      self.tail.row = math.max(0, self.tail.row - extra)
      self.tail.marked = math.max(0, self.tail.marked - extra)
      if self.tail.fence then
        self.tail.fence.row = math.max(0, self.tail.fence.row - extra)
      end
    end
  end
end

--- Write into the buffer, which is not modifiable otherwise.
---@param write fun()
function Transcript:writing(write)
  vim.bo[self.bufnr].modifiable = true
  local ok, problem = pcall(write)
  vim.bo[self.bufnr].modifiable = false
  vim.bo[self.bufnr].modified = false
  if not ok then
    error(problem, 0)
  end
end

--- Draw events in their order. Pieces of the model's words that follow each other are drawn as one.
---@param events llamagent.Event[]
function Transcript:draw(events)
  self:writing(function()
    local i = 1
    while i <= #events do
      local event = events[i]
      local parts = { event.text }
      while event.kind == 'model.delta' and events[i + 1] and events[i + 1].kind == 'model.delta' do
        if events[i + 1].channel ~= event.channel then
          break
        end
        i = i + 1
        table.insert(parts, events[i].text)
      end
      if #parts > 1 then
        event = vim.tbl_extend('force', event, { text = table.concat(parts) })
      end
      self:add(event)
      i = i + 1
    end
    self:trim()
  end)
end

--- A line that is no event.
---@param text string
---@param group string
function Transcript:note(text, group)
  if self.last_error == text then
    return
  end
  self:writing(function()
    self:end_stream()
    self:add_block({ lines = vim.split(text, '\n'), sign = 'error', group = group, whole = true, spans = {} })
  end)
end

--- Forget everything.
function Transcript:clear()
  self.tail, self.reviews, self.unfolded, self.last_error = nil, {}, {}, nil
  for _, space in ipairs({ ns, ns_fold, ns_turn, ns_hint }) do
    api.nvim_buf_clear_namespace(self.bufnr, space, 0, -1)
  end
  self:writing(function()
    api.nvim_buf_set_lines(self.bufnr, 0, -1, true, {})
  end)
end

--- Show under a proposal, or at the end, what the person can do about it; nil takes it away.
---@param id string
---@param text string?
function Transcript:hint(id, text)
  local mark = self.reviews[id]
  local row = mark and api.nvim_buf_get_extmark_by_id(self.bufnr, ns_hint, mark, {})[1]
  if not row then
    row = math.max(self:bottom() - 1, 0)
  end
  if text then
    local options = { id = mark, virt_lines = { { { text, 'LlamagentWarn' } } } }
    self.reviews[id] = api.nvim_buf_set_extmark(self.bufnr, ns_hint, row, 0, options)
  elseif mark then
    api.nvim_buf_del_extmark(self.bufnr, ns_hint, mark)
    self.reviews[id] = nil
  end
end

--- All ranges that are to be folded, for a window that is new.
---@return {first: integer, last: integer}[]
function Transcript:folds()
  local found = {}
  for _, mark in ipairs(api.nvim_buf_get_extmarks(self.bufnr, ns_fold, 0, -1, { details = true })) do
    table.insert(found, { first = mark[2], last = mark[4].end_row })
  end
  return found
end

--- The rows at which turns begin.
---@return integer[]
function Transcript:turns()
  return vim.tbl_map(function(mark)
    return mark[2]
  end, api.nvim_buf_get_extmarks(self.bufnr, ns_turn, 0, -1, {}))
end

return M
