--- When the person can be shown something that takes the focus: never while typing, and never between two keys.
local M = {}

local config = require('llamagent.config')

local POLL_MS = 100 -- while something waits

local last_key = 0
local watching ---@type integer?

--- Note when keys are typed; cheap, and only while a turn runs.
---@param on boolean
function M.watch_keys(on)
  if on and not watching then
    last_key = vim.uv.now()
    watching = vim.on_key(function(_, typed)
      if typed and typed ~= '' then
        last_key = vim.uv.now()
      end
    end)
  elseif not on and watching then
    vim.on_key(nil, watching)
    watching = nil
  end
end

--- Whether the person is in the panel or the prompt, and so waits for the agent.
---@return boolean
local function with_the_agent()
  return vim.startswith(vim.bo.filetype, 'llamagent')
end

--- Whether a window may open and take the focus now.
---@return boolean
function M.is_free()
  local mode = vim.api.nvim_get_mode()
  if mode.mode ~= 'n' or mode.blocking or vim.fn.getcmdwintype() ~= '' then
    return false
  end
  if vim.fn.reg_recording() ~= '' or vim.fn.reg_executing() ~= '' or vim.fn.pumvisible() ~= 0 then
    return false
  end
  return with_the_agent() or vim.uv.now() - last_key >= config.options.review.idle_ms
end

---@param action fun()
---@param wanted fun(): boolean
local function poll(action, wanted)
  vim.defer_fn(function()
    if not wanted() then
      return
    end
    if M.is_free() then
      action()
    else
      poll(action, wanted)
    end
  end, POLL_MS)
end

--- Run `action` as soon as the person is free; it is dropped when `wanted` says no. Where that takes longer than a
--- pause, `waits` is called once, to say so.
---@param action fun()
---@param wanted fun(): boolean
---@param waits fun()
function M.when_free(action, wanted, waits)
  if M.is_free() then
    action()
    return
  end
  local acted = false
  poll(function()
    acted = true
    action()
  end, wanted)
  vim.defer_fn(function()
    if not acted and wanted() then
      waits()
    end
  end, config.options.review.idle_ms + 2 * POLL_MS)
end

return M
