--- llamagent in Neovim: ask a local model, see what it does, review what it wants to change.
local M = {}

--- Set options (all optional; see `:help llamagent-options`), and enable the language server.
---@param options? table<string, any>
function M.setup(options)
  local config = require('llamagent.config')
  config.set(options)
  if config.options.enable then
    vim.lsp.enable('llamagent')
  end
end

--- A short text for a statusline: `%{v:lua.require'llamagent'.status()}`. `User LlamagentStatus` says when it changes.
---@return string
function M.status()
  if not package.loaded['llamagent.conversation'] then
    return ''
  end
  local used = require('llamagent.client').current()
  return used and require('llamagent.conversation').status(used.id) or ''
end

--- Ask from Lua; `words` go to the conversation of the current buffer's project.
---@param words string
---@param options? {mode?: 'agent'|'read', steer?: boolean}
function M.ask(words, options)
  local bufnr = vim.api.nvim_get_current_buf()
  require('llamagent.client').with(function(used)
    require('llamagent.actions').ask(used, words, { bufnr = bufnr }, options)
  end)
end

return M
