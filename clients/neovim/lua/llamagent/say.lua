--- What the person is told outside the panel: one place for the wording and the level of messages.
local M = {}

---@param text string
---@param level integer
local function tell(text, level)
  vim.notify('llamagent: ' .. text, level, { title = 'llamagent' })
end

--- Tell something that is good to know.
---@param text string
function M.info(text)
  tell(text, vim.log.levels.INFO)
end

--- Tell what the person should look at.
---@param text string
function M.warn(text)
  tell(text, vim.log.levels.WARN)
end

--- Tell what failed, and what to do.
---@param text string
function M.error(text)
  tell(text, vim.log.levels.ERROR)
end

--- Fire `User Llamagent<name>`, for statuslines and for the person's own autocommands.
---@param name string
---@param data? table<string, any>
function M.event(name, data)
  vim.api.nvim_exec_autocmds('User', { pattern = 'Llamagent' .. name, modeline = false, data = data })
end

return M
