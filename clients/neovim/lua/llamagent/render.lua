--- One trace event as the lines of the panel: pure, the same for what streams in and for what was stored.
local M = {}

local files = require('llamagent.files')
local visible = require('llamagent.visible')

---@class llamagent.Block
---@field lines string[]
---@field sign? string key of `signs`, for the first line
---@field group? string highlight of the sign, and of the lines where `whole`
---@field whole? boolean
---@field spans llamagent.Span[] rows count from the block's first line
---@field diff? boolean whether those are a diff
---@field fold_from? integer row from which on the lines may be folded, if there are enough of them

local LONGEST_ARGUMENT = 60 -- characters

---@param text string
---@return string[]
local function lines_of(text)
  text = visible.text((text:gsub('\r\n', '\n')))
  return vim.split((text:gsub('\n$', '')), '\n', { plain = true })
end

---@param seconds number
---@return string
local function duration(seconds)
  if seconds < 10 then
    return ('%.1f s'):format(seconds)
  elseif seconds < 100 then
    return ('%d s'):format(seconds)
  end
  return ('%d min %02d s'):format(math.floor(seconds / 60), seconds % 60)
end

---@param value any
---@return string
local function argument_text(value)
  if type(value) ~= 'string' then
    return vim.json.encode(value)
  end
  local _, breaks = value:gsub('\n', '')
  if breaks > 0 then
    return ('(%d lines)'):format(breaks + (vim.endswith(value, '\n') and 0 or 1))
  end
  if vim.fn.strchars(value) > LONGEST_ARGUMENT then
    value = vim.fn.strcharpart(value, 0, LONGEST_ARGUMENT) .. '…'
  end
  return '"' .. value .. '"'
end

local FIRST = { path = 1, command = 2, pattern = 3, name = 4 }

---@param call llamagent.ToolCall
---@return string
local function call_text(call)
  local keys = vim.tbl_keys(call.arguments or {})
  table.sort(keys, function(a, b)
    local left, right = FIRST[a] or 9, FIRST[b] or 9
    return left < right or (left == right and a < b)
  end)
  local parts = vim.tbl_map(function(key)
    return ('%s=%s'):format(key, argument_text(call.arguments[key]))
  end, keys)
  return visible.line(('%s(%s)'):format(call.name, table.concat(parts, ', ')))
end

--- The spans of the lines of a unified diff.
---@param lines string[]
---@param first integer row of the first of them
---@return llamagent.Span[]
local function diff_spans(lines, first)
  local spans = {}
  local groups = { ['+'] = 'LlamagentAdded', ['-'] = 'LlamagentRemoved', ['@'] = 'LlamagentHunk' }
  for i, line in ipairs(lines) do
    local group = groups[line:sub(1, 1)]
    if group then
      table.insert(spans, { row = first + i - 1, from = 0, to = #line, group = group })
    end
  end
  return spans
end

--- A diff without the two lines that name its one file: the block's first line does that.
---@param diff string
---@param one_file boolean
---@return string[]
local function diff_lines(diff, one_file)
  local lines = lines_of(diff)
  if one_file and vim.startswith(lines[1] or '', '--- ') then
    return vim.list_slice(lines, 3)
  end
  return lines
end

---@param head string
---@param diff string?
---@param one_file boolean
---@param group string
---@return llamagent.Block
local function with_diff(head, diff, one_file, group)
  local lines = diff and diff ~= '' and diff_lines(diff, one_file) or {}
  local spans = diff_spans(lines, 1)
  table.insert(spans, { row = 0, from = 0, to = #head, group = group })
  local all = vim.list_extend({ head }, lines)
  return { lines = all, sign = 'editor', group = group, spans = spans, diff = true, fold_from = 1 }
end

local OUTCOMES = {
  accepted = { 'accepted', 'LlamagentOk' },
  modified = { 'kept in part, or changed', 'LlamagentWarn' },
  rejected = { 'rejected', 'LlamagentError' },
  failed = { 'not applied', 'LlamagentError' },
}

local ENDS = {
  answered = 'answered',
  step_limit = 'stopped: too many steps. Ask again to go on.',
  budget = 'stopped: the tokens of a turn are used up. Ask again to go on.',
  cancelled = 'cancelled',
  refused = 'stopped by you',
  error = 'failed',
}

---@param event llamagent.Event
---@return string
local function ended_text(event)
  local parts = { ENDS[event.stopReason] or event.stopReason }
  table.insert(parts, ('%d step%s'):format(event.steps, event.steps == 1 and '' or 's'))
  table.insert(parts, duration(event.seconds))
  local usage = event.usage or {}
  if (usage.promptTokens or 0) > 0 then
    table.insert(parts, ('%d + %d tokens'):format(usage.promptTokens, usage.completionTokens or 0))
  end
  return table.concat(parts, ' · ')
end

---@param event llamagent.Event
---@return llamagent.Block
local function said(event)
  local lines = lines_of(event.text)
  local spans = {}
  if #(event.files or {}) > 0 then
    local names = vim.tbl_map(function(name)
      return tostring(name)
    end, event.files)
    table.insert(lines, 'with ' .. table.concat(names, ', '))
    table.insert(spans, { row = #lines - 1, from = 0, to = #lines[#lines], group = 'LlamagentDim' })
  end
  return { lines = lines, sign = 'user', group = 'LlamagentUser', whole = #spans == 0, spans = spans }
end

---@type table<string, fun(event: llamagent.Event, root?: string): llamagent.Block?>
local blocks = {
  ['turn.started'] = said,
  ['turn.steered'] = said,

  ['harness.decided'] = function(event)
    local bad = event.decision == 'refuse' or event.decision == 'stop'
    local text = ('%s: %s'):format(event.decision, event.reason)
    return {
      lines = lines_of(text),
      sign = 'harness',
      group = bad and 'LlamagentWarn' or 'LlamagentHarness',
      whole = true,
      spans = {},
    }
  end,

  ['tool.returned'] = function(event)
    -- Colours of a command's output are noise in a buffer.
    local content = event.content ~= '' and lines_of((event.content:gsub('\27%[[%d;]*m', ''))) or {}
    local parts = { event.name, event.ok and 'ok' or 'failed', duration(event.seconds) }
    if event.truncated then
      table.insert(parts, 'cut')
    end
    local head = table.concat(parts, ' · ')
    local group = event.ok and 'LlamagentTool' or 'LlamagentError'
    local spans = { { row = 0, from = 0, to = #head, group = group } }
    return { lines = vim.list_extend({ head }, content), sign = 'tool', group = group, spans = spans, fold_from = 1 }
  end,

  ['edit.proposed'] = function(event, root)
    local names = vim.tbl_map(function(file)
      local note = file.note and (' (%s)'):format(file.note) or ''
      return ('%s +%d −%d%s'):format(files.name(file.uri, root), file.added, file.removed, note)
    end, event.files or {})
    return with_diff(visible.line('proposes ' .. table.concat(names, ', ')), event.diff, #names == 1, 'LlamagentEditor')
  end,

  ['edit.resolved'] = function(event)
    local text, group = unpack(OUTCOMES[event.outcome] or { event.outcome, 'LlamagentWarn' })
    local head = event.reason and ('%s: %s'):format(text, event.reason:gsub('\n', ' ')) or text
    return with_diff(visible.line(head), event.diff, true, group)
  end,

  ['turn.ended'] = function(event)
    local failed = event.error ~= nil
    local lines = failed and lines_of(event.error) or {}
    table.insert(lines, ended_text(event))
    return {
      lines = lines,
      sign = failed and 'error' or 'ended',
      group = failed and 'LlamagentError' or 'LlamagentEnded',
      whole = true,
      spans = {},
    }
  end,

  ['notice'] = function(event)
    local groups = { error = 'LlamagentError', warning = 'LlamagentWarn' }
    local group = groups[event.level] or 'LlamagentDim'
    return { lines = lines_of(event.text), sign = 'harness', group = group, whole = true, spans = {} }
  end,
}

--- The block of an event; nil for those that show elsewhere (the gauge) or stream (the model's words).
---@param event llamagent.Event
---@param root? string the project's folder
---@return llamagent.Block?
function M.block(event, root)
  local make = blocks[event.kind]
  return make and make(event, root)
end

--- The calls that the model's reply asks for, a line each.
---@param event llamagent.Event of kind `model.replied`
---@return llamagent.Block?
function M.calls(event)
  local lines = vim.tbl_map(call_text, event.toolCalls or {})
  if #lines == 0 then
    return nil
  end
  return { lines = lines, sign = 'model', group = 'LlamagentModel', whole = true, spans = {} }
end

--- A short note on a reply, to stand behind its last line.
---@param event llamagent.Event of kind `model.replied`
---@return string
function M.footnote(event)
  local usage, latency = event.usage or {}, event.latency or {}
  local parts = {}
  if usage.completionTokens then
    table.insert(parts, ('%d tokens'):format(usage.completionTokens))
  end
  if latency.totalSeconds then
    table.insert(parts, duration(latency.totalSeconds))
  end
  if event.finishReason == 'length' then
    table.insert(parts, 'cut: the reply was too long')
  end
  return table.concat(parts, ' · ')
end

return M
