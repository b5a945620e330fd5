--- Puts an accepted proposal into the file's buffer: merged with what the person typed meanwhile, in one undo step.
local M = {}

local attach = require('llamagent.attach')
local buffer = require('llamagent.buffer')
local diagnostics = require('llamagent.diagnostics')
local merge = require('llamagent.merge')
local removal = require('llamagent.removal')

local LABELS = { ours = 'your text', theirs = 'the proposal' }

---@alias llamagent.Accepted 'done'|'conflict'

--- Make the final line end what was accepted. 'fixendofline' would give a file back the line end that it never had.
---@param file llamagent.ReviewFile
---@param client vim.lsp.Client
local function set_line_end(file, client)
  local bufnr = assert(file.bufnr)
  if not file.eol then
    vim.bo[bufnr].fixendofline = false
  end
  if file.changes_eol and vim.bo[bufnr].endofline ~= file.eol then
    vim.bo[bufnr].endofline = file.eol
    attach.again(client, bufnr)
  end
end

---@param file llamagent.ReviewFile
---@param client vim.lsp.Client
---@return llamagent.Accepted?
---@return string? problem
local function create(file, client)
  local there = buffer.find(file.path)
  if vim.uv.fs_stat(file.path) or (there and buffer.text(there):find('%S')) then
    return nil, ('stale: %s exists by now'):format(file.name)
  end
  file.bufnr = buffer.load(file.path)
  local bufnr = file.bufnr
  vim.bo[bufnr].buflisted = true
  vim.bo[bufnr].fileformat = file.format
  diagnostics.expect(bufnr)
  buffer.replace(bufnr, file.proposed)
  -- An empty file is a change as well: without this it would never be written.
  vim.bo[bufnr].modified = true
  vim.bo[bufnr].endofline = file.eol
  vim.bo[bufnr].fixendofline = file.eol or file.proposed[1] == ''
  attach.now(client, bufnr)
  return 'done'
end

--- Follow a change that the person made in the file: the proposal is carried over where it can be.
---@param file llamagent.ReviewFile
---@param current string[] the file's lines now
---@return boolean carried
function M.rebase(file, current)
  local merged = merge.merge(file.base, current, file.proposed, LABELS)
  file.conflict = merged.conflicts > 0
  if file.conflict then
    return false
  end
  file.base, file.proposed = current, merged.lines
  return true
end

--- Show a conflict in the proposal itself, between marks: the person settles it there, and accepts again.
---@param file llamagent.ReviewFile
---@param current string[]
local function mark_conflict(file, current)
  local merged = merge.merge(file.base, current, file.proposed, LABELS)
  file.base, file.proposed, file.conflict = current, merged.lines, true
end

--- Put the proposal into the file. `conflict`: the person's changes and the proposal touch the same lines; both now
--- stand in `file.proposed`, and nothing was changed. nil: it cannot be done, for the reason given.
---@param file llamagent.ReviewFile
---@param client vim.lsp.Client
---@return llamagent.Accepted?
---@return string? problem
function M.put(file, client)
  if not file.bufnr then
    return create(file, client)
  end
  if not vim.api.nvim_buf_is_loaded(file.bufnr) then
    return nil, ('stale: %s was closed'):format(file.name)
  end
  local locked = buffer.locked(file.bufnr)
  if locked then
    return nil, locked
  end
  if removal.removes(file) then
    return removal.remove(file)
  end
  local current = buffer.lines(file.bufnr)
  if merge.has_marks(file.proposed) and not merge.has_marks(current) then
    file.conflict = true
    return 'conflict'
  elseif not M.rebase(file, current) then
    mark_conflict(file, current)
    return 'conflict'
  end
  diagnostics.expect(file.bufnr)
  buffer.replace(file.bufnr, file.proposed, { join = file.taken })
  vim.bo[file.bufnr].buflisted = true
  set_line_end(file, client)
  attach.now(client, file.bufnr)
  file.base = file.proposed
  return 'done'
end

--- Put one hunk of the proposal into the file now.
---@param file llamagent.ReviewFile
---@param hunk llamagent.Hunk of the file against the proposal
---@return string? problem
function M.put_hunk(file, hunk)
  local bufnr = assert(file.bufnr)
  local locked = buffer.locked(bufnr)
  if locked then
    return locked
  elseif removal.removes(file) then
    return ('%s goes as a whole: accept that, or reject it'):format(file.name)
  end
  diagnostics.expect(bufnr)
  local current = buffer.lines(bufnr)
  local lines = vim.list_slice(current, 1, hunk.a_first - 1)
  vim.list_extend(lines, file.proposed, hunk.b_first, hunk.b_last)
  vim.list_extend(lines, current, hunk.a_last + 1)
  buffer.replace(bufnr, lines, { join = file.taken })
  file.taken = true
end

return M
