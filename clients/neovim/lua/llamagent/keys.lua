--- Key maps of one buffer that can be taken back, with whatever was mapped there before.
local M = {}

---@class llamagent.Key
---@field lhs string|false
---@field desc string
---@field run fun()
---@field mode? string|string[]

---@param bufnr integer
---@param key llamagent.Key
---@return fun() restore
local function map(bufnr, key)
  local lhs = key.lhs --[[@as string]]
  local before = vim.api.nvim_buf_call(bufnr, function()
    return vim.fn.maparg(lhs, 'n', false, true)
  end)
  vim.keymap.set(key.mode or 'n', lhs, key.run, { buffer = bufnr, nowait = true, desc = 'llamagent: ' .. key.desc })
  return function()
    if not vim.api.nvim_buf_is_valid(bufnr) then
      return
    end
    pcall(vim.keymap.del, key.mode or 'n', lhs, { buffer = bufnr })
    if before.buffer == 1 then
      vim.api.nvim_buf_call(bufnr, function()
        vim.fn.mapset('n', false, before)
      end)
    end
  end
end

--- Map the keys in a buffer; answers what undoes it.
---@param bufnr integer
---@param keys llamagent.Key[]
---@return fun() restore
function M.set(bufnr, keys)
  local restores = {}
  for _, key in ipairs(keys) do
    if key.lhs then
      table.insert(restores, map(bufnr, key))
    end
  end
  return function()
    for _, restore in ipairs(restores) do
      restore()
    end
  end
end

--- The keys as lines of help.
---@param keys llamagent.Key[]
---@return string[]
function M.help(keys)
  local lines = {}
  for _, key in ipairs(keys) do
    if key.lhs then
      table.insert(lines, ('%-8s %s'):format(key.lhs, key.desc))
    end
  end
  return lines
end

return M
