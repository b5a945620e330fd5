--- Three-way merges of lists of lines: pure, and never silent about a conflict.
local M = {}

local diff = vim.text and vim.text.diff or vim.diff

---@class llamagent.Change
---@field first integer 1-based first line of the base that is replaced
---@field last integer last such line; `first - 1` for a pure insertion before `first`
---@field lines string[] what stands there instead

--- The lines of a buffer as one text. A NUL is a line break inside a line of Neovim's, and must not end the line here.
---@param lines string[]
---@return string
local function text_of(lines)
  if #lines == 0 then
    return ''
  end
  return (
    table.concat(
      vim.tbl_map(function(line)
        return (line:gsub('\n', '\0'))
      end, lines),
      '\n'
    )
  ) .. '\n'
end

---@class llamagent.Hunk
---@field a_first integer 1-based first line in `a`
---@field a_last integer last line in `a`; `a_first - 1` where nothing of `a` is replaced
---@field b_first integer
---@field b_last integer

--- Where two lists of lines differ, in order.
---@param a string[]
---@param b string[]
---@return llamagent.Hunk[]
function M.hunks(a, b)
  local found = diff(text_of(a), text_of(b), { result_type = 'indices', algorithm = 'histogram' })
  local hunks = {}
  for _, entry in
    ipairs(found --[[@as integer[][] ]])
  do
    local a_start, a_count, b_start, b_count = unpack(entry)
    -- With a count of 0 the start is the line after which the other side has something.
    local a_first = a_count == 0 and a_start + 1 or a_start
    local b_first = b_count == 0 and b_start + 1 or b_start
    table.insert(hunks, {
      a_first = a_first,
      a_last = a_first + a_count - 1,
      b_first = b_first,
      b_last = b_first + b_count - 1,
    })
  end
  return hunks
end

---@param base string[]
---@param side string[]
---@return llamagent.Change[]
local function changes(base, side)
  return vim.tbl_map(function(hunk)
    return { first = hunk.a_first, last = hunk.a_last, lines = vim.list_slice(side, hunk.b_first, hunk.b_last) }
  end, M.hunks(base, side))
end

--- What a side makes of the base's lines from `first` to `last`, given its changes in there.
---@param base string[]
---@param first integer
---@param last integer
---@param inside llamagent.Change[]
---@return string[]
local function side_of(base, first, last, inside)
  local out, at = {}, first
  for _, change in ipairs(inside) do
    vim.list_extend(out, base, at, change.first - 1)
    vim.list_extend(out, change.lines)
    at = change.last + 1
  end
  return vim.list_extend(out, base, at, last)
end

--- Whether a change belongs to the group that ends before base line `stop`. Changes that only touch count as one:
--- what is written directly beside a proposal is for the person to settle (git merges so, too).
---@param change llamagent.Change?
---@param stop integer
---@return boolean
local function touches(change, stop)
  return change ~= nil and change.first <= stop
end

--- Take the next group of changes that touch each other off both queues.
---@param queues llamagent.Change[][] ours and theirs; shortened
---@return integer first
---@return integer last
---@return llamagent.Change[][] inside
local function next_group(queues)
  local ours, theirs = queues[1][1], queues[2][1]
  local first = math.min(ours and ours.first or math.huge, theirs and theirs.first or math.huge)
  local stop, inside = first, { {}, {} }
  local grown = true
  while grown do
    grown = false
    for side = 1, 2 do
      while touches(queues[side][1], stop) do
        local change = table.remove(queues[side], 1)
        table.insert(inside[side], change)
        stop, grown = math.max(stop, change.last + 1), true
      end
    end
  end
  return first, stop - 1, inside
end

---@class llamagent.Merged
---@field lines string[]
---@field conflicts integer how many places hold conflict marks

---@param ours string[]
---@param theirs string[]
---@param labels {ours: string, theirs: string}
---@return string[]
local function marked(ours, theirs, labels)
  local out = { '<<<<<<< ' .. labels.ours }
  vim.list_extend(out, ours)
  table.insert(out, '=======')
  vim.list_extend(out, theirs)
  table.insert(out, '>>>>>>> ' .. labels.theirs)
  return out
end

--- Merge two changes of one base. Where both changed the same lines differently, both stand between conflict marks.
---@param base string[]
---@param ours string[]
---@param theirs string[]
---@param labels {ours: string, theirs: string}
---@return llamagent.Merged
function M.merge(base, ours, theirs, labels)
  local queues = { changes(base, ours), changes(base, theirs) }
  local out, at, conflicts = {}, 1, 0
  while #queues[1] > 0 or #queues[2] > 0 do
    local first, last, inside = next_group(queues)
    vim.list_extend(out, base, at, first - 1)
    local our_part = side_of(base, first, last, inside[1])
    local their_part = side_of(base, first, last, inside[2])
    if #inside[2] == 0 or vim.deep_equal(our_part, their_part) then
      vim.list_extend(out, our_part)
    elseif #inside[1] == 0 then
      vim.list_extend(out, their_part)
    else
      conflicts = conflicts + 1
      vim.list_extend(out, marked(our_part, their_part, labels))
    end
    at = last + 1
  end
  return { lines = vim.list_extend(out, base, at), conflicts = conflicts }
end

--- Whether the lines still hold conflict marks.
---@param lines string[]
---@return boolean
function M.has_marks(lines)
  local opened = false
  for _, line in ipairs(lines) do
    if vim.startswith(line, '<<<<<<< ') then
      opened = true
    elseif opened and vim.startswith(line, '>>>>>>> ') then
      return true
    end
  end
  return false
end

return M
