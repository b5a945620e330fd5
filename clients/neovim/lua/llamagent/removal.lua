--- Takes a file away that a proposal removes: from the disk, and its buffer, where these are still what was shown.
local M = {}

local api = vim.api
local buffer = require('llamagent.buffer')

--- Whether accepting the proposal as it stands removes the file. The person may have put lines back into it.
---@param file llamagent.ReviewFile
---@return boolean
function M.removes(file)
  return file.goes and #file.proposed == 1 and file.proposed[1] == ''
end

--- Whether a file on disk may go: as text of this buffer it is lost if the buffer is not written.
---@param path string
---@param bufnr integer
---@param name string
---@return string? problem
function M.obstacle(path, bufnr, name)
  local stat = vim.uv.fs_lstat(path)
  if stat and stat.type ~= 'file' then
    return ('%s is no ordinary file, so it is not removed'):format(name)
  elseif stat and vim.bo[bufnr].modified then
    return ('stale: %s has unsaved changes, so it is not removed'):format(name)
  end
end

--- Remove the file. Its buffer goes with `forget`, when no window of the review shows it any more.
---@param file llamagent.ReviewFile
---@return 'done'?
---@return string? problem
function M.remove(file)
  local bufnr = assert(file.bufnr)
  buffer.refresh(bufnr)
  local problem = M.obstacle(file.path, bufnr, file.name)
  if problem then
    return nil, problem
  elseif not vim.deep_equal(buffer.lines(bufnr), file.shown) then
    return nil, ('stale: %s was changed during the review, so it is not removed'):format(file.name)
  end
  if vim.uv.fs_lstat(file.path) then
    local ok, reason = vim.uv.fs_unlink(file.path)
    if not ok then
      return nil, ('%s could not be removed: %s'):format(file.name, reason)
    end
  end
  file.gone = true
  return 'done'
end

--- Put something else into the windows that show a buffer: they stay where they are.
---@param bufnr integer
local function leave_windows(bufnr)
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    api.nvim_win_call(win, function()
      local other = vim.fn.bufnr('#')
      local usable = other > 0 and other ~= bufnr and vim.fn.buflisted(other) == 1
      api.nvim_win_set_buf(win, usable and other or api.nvim_create_buf(true, false))
    end)
  end
end

--- Wipe the buffers of the files that were removed, so that servers hear of it.
---@param review llamagent.Review
function M.forget(review)
  for _, file in ipairs(review.files) do
    if file.gone and file.bufnr and api.nvim_buf_is_valid(file.bufnr) then
      leave_windows(file.bufnr)
      api.nvim_buf_delete(file.bufnr, { force = true })
    end
  end
end

return M
