--- The panel's buffer as a page to write on: blocks appended, with signs, colours, folds and lines that go again.
local M = {}

local api = vim.api
local config = require('llamagent.config')

local ns = api.nvim_create_namespace('llamagent.text')
local ns_fold = api.nvim_create_namespace('llamagent.fold')
local ns_turn = api.nvim_create_namespace('llamagent.turn')
local ns_hint = api.nvim_create_namespace('llamagent.hint')

---@class llamagent.Page
---@field bufnr integer
---@field hints table<string, integer> the lines about what waits for the person, as extmarks
---@field unfolded {first: integer, last: integer}[] folds still to be made in the windows
local Page = {}
Page.__index = Page

--- A page on an empty buffer.
---@param bufnr integer
---@return llamagent.Page
function M.new(bufnr)
  return setmetatable({ bufnr = bufnr, hints = {}, unfolded = {} }, Page)
end

--- Write into the buffer, which is not modifiable otherwise.
---@param write fun()
function Page:writing(write)
  vim.bo[self.bufnr].modifiable = true
  local ok, problem = pcall(write)
  vim.bo[self.bufnr].modifiable = false
  vim.bo[self.bufnr].modified = false
  if not ok then
    error(problem, 0)
  end
end

---@return integer row behind the last line; 0 in an empty buffer
function Page:bottom()
  local count = api.nvim_buf_line_count(self.bufnr)
  return count == 1 and api.nvim_buf_get_lines(self.bufnr, 0, 1, true)[1] == '' and 0 or count
end

---@param first integer
---@param last integer behind the last one
---@return string[]
function Page:lines(first, last)
  return api.nvim_buf_get_lines(self.bufnr, first, last, true)
end

---@param lines string[]
---@return integer row of the first of them
function Page:append(lines)
  local row = self:bottom()
  local clean = vim.tbl_map(function(line)
    return (line:gsub('\n', ' '))
  end, lines)
  api.nvim_buf_set_lines(self.bufnr, row, -1, true, clean)
  return row
end

--- More text behind the last line.
---@param text string
function Page:append_text(text)
  local last = api.nvim_buf_line_count(self.bufnr) - 1
  local width = #self:lines(last, last + 1)[1]
  api.nvim_buf_set_text(self.bufnr, last, width, last, width, vim.split(text, '\n', { plain = true }))
end

--- Take away all lines from `row` on.
---@param row integer
function Page:cut(row)
  api.nvim_buf_clear_namespace(self.bufnr, ns, row, -1) -- marks would move to what comes there next
  api.nvim_buf_set_lines(self.bufnr, row, -1, true, {})
end

--- Take away the first lines; marks and folds move along.
---@param count integer
function Page:drop(count)
  api.nvim_buf_set_lines(self.bufnr, 0, count, true, {})
end

---@param row integer
---@param sign string key of `signs`
---@param group string
function Page:sign(row, sign, group)
  local options = { sign_text = config.options.signs[sign], sign_hl_group = group, right_gravity = false }
  api.nvim_buf_set_extmark(self.bufnr, ns, row, 0, options)
end

---@param spans llamagent.Span[]
---@param offset integer added to their rows
function Page:paint(spans, offset)
  for _, span in ipairs(spans) do
    local options = { end_col = span.to, hl_group = span.group, strict = false }
    api.nvim_buf_set_extmark(self.bufnr, ns, offset + span.row, span.from, options)
  end
end

--- A short note behind a line.
---@param row integer
---@param text string
function Page:remark(row, text)
  local options = { virt_text = { { '  ' .. text, 'LlamagentDim' } }, virt_text_pos = 'eol', hl_mode = 'combine' }
  api.nvim_buf_set_extmark(self.bufnr, ns, row, 0, options)
end

--- Fold lines, if there are enough of them.
---@param first integer
---@param last integer
---@param over integer so many lines stay open
function Page:fold(first, last, over)
  if last - first + 1 > over then
    api.nvim_buf_set_extmark(self.bufnr, ns_fold, first, 0, { end_row = last })
    table.insert(self.unfolded, { first = first, last = last })
  end
end

---@param row integer
function Page:mark_turn(row)
  api.nvim_buf_set_extmark(self.bufnr, ns_turn, row, 0, {})
end

---@param block llamagent.Block
---@return integer row
function Page:add(block)
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

--- Say at the end what the person can do about something that waits; nil takes the line away again. It is a line of its
--- own: Neovim does not scroll to virtual lines below the last one.
---@param id string
---@param text string?
function Page:hint(id, text)
  local mark = self.hints[id]
  local row = mark and api.nvim_buf_get_extmark_by_id(self.bufnr, ns_hint, mark, {})[1]
  if row then
    api.nvim_buf_del_extmark(self.bufnr, ns_hint, mark)
    api.nvim_buf_set_lines(self.bufnr, row, row + 1, true, {})
  end
  self.hints[id] = nil
  if text then
    local lines = { (text:gsub('\n.*', '')) }
    local at = self:add({ lines = lines, sign = 'waits', group = 'LlamagentWarn', whole = true, spans = {} })
    self.hints[id] = api.nvim_buf_set_extmark(self.bufnr, ns_hint, at, 0, {})
  end
end

--- An empty page again.
function Page:clear()
  self.hints, self.unfolded = {}, {}
  for _, space in ipairs({ ns, ns_fold, ns_turn, ns_hint }) do
    api.nvim_buf_clear_namespace(self.bufnr, space, 0, -1)
  end
  self:cut(0)
end

--- All ranges that are to be folded, for a window that is new.
---@return {first: integer, last: integer}[]
function Page:folds()
  local found = {}
  for _, mark in ipairs(api.nvim_buf_get_extmarks(self.bufnr, ns_fold, 0, -1, { details = true })) do
    table.insert(found, { first = mark[2], last = mark[4].end_row })
  end
  return found
end

--- The rows at which turns begin.
---@return integer[]
function Page:turns()
  return vim.tbl_map(function(mark)
    return mark[2]
  end, api.nvim_buf_get_extmarks(self.bufnr, ns_turn, 0, -1, {}))
end

return M
