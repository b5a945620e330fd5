--- The hunks between a file and a proposal on the screen, and the one that the cursor is in.
local M = {}

local api = vim.api
local buffer = require('llamagent.buffer')
local merge = require('llamagent.merge')

local known = { key = '', list = {} } ---@type {key: string, list: llamagent.Hunk[]}

--- Where the file and the proposal differ now. The winbar asks at every movement of the cursor, so the last answer is
--- kept as long as neither text changed.
---@param view llamagent.DiffView
---@return llamagent.Hunk[] `a` is the file
function M.of(view)
  local left, right = view.file_buf, view.proposal_buf
  local ticks = { left, api.nvim_buf_get_changedtick(left), right, api.nvim_buf_get_changedtick(right) }
  local key = table.concat(ticks, ':')
  if key ~= known.key then
    known = { key = key, list = merge.hunks(buffer.lines(left), buffer.lines(right)) }
  end
  return known.list
end

--- The hunk in which the cursor is, and its number. A hunk without lines on this side belongs to the lines around it.
---@param view llamagent.DiffView
---@param list llamagent.Hunk[]
---@return llamagent.Hunk?
---@return integer number 0 where there is none
function M.at_cursor(view, list)
  local in_file = api.nvim_get_current_win() == view.left
  local line = api.nvim_win_get_cursor(in_file and view.left or view.right)[1]
  for number, hunk in ipairs(list) do
    local first = in_file and hunk.a_first or hunk.b_first
    local last = in_file and hunk.a_last or hunk.b_last
    if line >= math.min(first, last) and line <= math.max(first, last) then
      return hunk, number
    end
  end
  return nil, 0
end

return M
