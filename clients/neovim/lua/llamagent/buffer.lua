--- Buffers as texts: read as the server sees them, changed in one undo step, loaded, saved and read again.
local M = {}

local api = vim.api
local merge = require('llamagent.merge')

local LINE_END = { unix = '\n', dos = '\r\n', mac = '\r' }

---@class llamagent.Text
---@field lines string[] as `nvim_buf_get_lines` gives them: never empty
---@field eol boolean whether the last line has a line end

--- The whole text as Neovim sends it to a language server.
---@param bufnr integer
---@return string
function M.text(bufnr)
  local line_end = LINE_END[vim.bo[bufnr].fileformat]
  local text = table.concat(api.nvim_buf_get_lines(bufnr, 0, -1, true), line_end)
  return vim.bo[bufnr].endofline and text .. line_end or text
end

--- The lines of a buffer.
---@param bufnr integer
---@return string[]
function M.lines(bufnr)
  return api.nvim_buf_get_lines(bufnr, 0, -1, true)
end

--- A text as the lines of a buffer with this 'fileformat'. In a `dos` buffer a bare `\n` ends a line as well: the line
--- end is the file's, not the model's.
---@param text string
---@param fileformat string
---@return llamagent.Text
function M.split(text, fileformat)
  if fileformat == 'dos' then
    text = text:gsub('\r\n', '\n')
  elseif fileformat == 'mac' then
    text = text:gsub('\r\n?', '\n')
  end
  local eol = vim.endswith(text, '\n')
  return { lines = vim.split(eol and text:sub(1, -2) or text, '\n', { plain = true }), eol = eol }
end

--- End the undo step that may be open. In Insert mode the next change would otherwise join what the person is typing.
---@param bufnr integer
local function break_undo(bufnr)
  api.nvim_buf_call(bufnr, function()
    vim.cmd('let &g:undolevels = &g:undolevels')
  end)
end

---@class llamagent.ReplaceOptions
---@field join? boolean add to the undo step before, instead of beginning one

--- Make the buffer's lines `lines`, touching only what differs, as one undo step: cursor, marks and folds stay.
---@param bufnr integer
---@param lines string[]
---@param opts? llamagent.ReplaceOptions
function M.replace(bufnr, lines, opts)
  local hunks = merge.hunks(M.lines(bufnr), lines)
  if opts and opts.join then
    api.nvim_buf_call(bufnr, function()
      -- E790: not after an undo; then it is a step of its own.
      pcall(vim.cmd.undojoin)
    end)
  else
    break_undo(bufnr)
  end
  for i = #hunks, 1, -1 do
    local hunk = hunks[i]
    local new = vim.list_slice(lines, hunk.b_first, hunk.b_last)
    api.nvim_buf_set_lines(bufnr, hunk.a_first - 1, hunk.a_last, true, new)
  end
  break_undo(bufnr)
end

--- The reason why the buffer cannot be changed, if there is one.
---@param bufnr integer
---@return string?
function M.locked(bufnr)
  if not vim.bo[bufnr].modifiable then
    return ("the buffer of %s is 'nomodifiable'"):format(vim.fn.bufname(bufnr))
  end
end

--- Run `action` so that a swap file of another Neovim opens the buffer 'readonly' instead of stopping with a question.
---@param action fun()
local function without_swap_question(action)
  local id = api.nvim_create_autocmd('SwapExists', {
    callback = function()
      vim.v.swapchoice = 'o'
    end,
  })
  local ok, problem = pcall(action)
  api.nvim_del_autocmd(id)
  if not ok then
    error(problem, 0)
  end
end

--- The loaded buffer of a file, and whether it was loaded only now.
---@param path string
---@return integer bufnr
---@return boolean loaded_now
function M.load(path)
  local bufnr = vim.fn.bufadd(path)
  if api.nvim_buf_is_loaded(bufnr) then
    return bufnr, false
  end
  without_swap_question(function()
    vim.fn.bufload(bufnr)
  end)
  return bufnr, true
end

--- The buffer that holds this file, if one is loaded.
---@param path string
---@return integer?
function M.find(path)
  local wanted = vim.fs.normalize(path)
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(bufnr) and vim.fs.normalize(api.nvim_buf_get_name(bufnr)) == wanted then
      return bufnr
    end
  end
end

--- Ask Neovim to look at the file on disk; answers whether both the file and the buffer changed.
---@param bufnr integer
---@return boolean conflict
local function check_disk(bufnr)
  local conflict = false
  local id = api.nvim_create_autocmd('FileChangedShell', {
    buffer = bufnr,
    callback = function()
      conflict = vim.v.fcs_reason == 'conflict'
      vim.v.fcs_choice = (vim.v.fcs_reason == 'changed' or vim.v.fcs_reason == 'mode') and 'reload' or ''
    end,
  })
  vim.cmd(('silent! checktime %d'):format(bufnr))
  pcall(api.nvim_del_autocmd, id)
  return conflict
end

--- Read the buffer again if its file changed on disk and it has no changes of its own.
---@param bufnr integer
function M.refresh(bufnr)
  if not vim.bo[bufnr].modified then
    check_disk(bufnr)
  end
end

--- Read all unmodified buffers again whose files changed on disk. The others stay as they are: the person's text wins.
function M.reload_changed()
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].buftype == '' and not vim.bo[bufnr].modified then
      check_disk(bufnr)
    end
  end
end

--- Write the buffer to its file; nil when it is on disk, else the reason why it is not.
---@param bufnr integer
---@return string? problem
function M.save(bufnr)
  if not vim.bo[bufnr].modified then
    return nil
  end
  if check_disk(bufnr) then
    return ('%s changed on disk as well'):format(vim.fn.bufname(bufnr))
  end
  local ok, problem = pcall(api.nvim_buf_call, bufnr, function()
    vim.cmd('silent write ++p')
  end)
  return not ok and tostring(problem) or nil
end

return M
