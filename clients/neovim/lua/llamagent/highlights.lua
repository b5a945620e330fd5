--- Highlight groups, each linked to a standard one, so that every colour scheme works.
local M = {}

---@type table<string, string>
M.LINKS = {
  LlamagentUser = 'Title',
  LlamagentModel = 'Function',
  LlamagentThinking = 'Comment',
  LlamagentHarness = 'Comment',
  LlamagentTool = 'Special',
  LlamagentEditor = 'Type',
  LlamagentEnded = 'Comment',
  LlamagentDim = 'Comment',
  LlamagentKey = 'Identifier',
  LlamagentOk = 'DiagnosticOk',
  LlamagentWarn = 'DiagnosticWarn',
  LlamagentError = 'DiagnosticError',
  LlamagentAdded = 'Added',
  LlamagentRemoved = 'Removed',
  LlamagentHunk = 'Changed',
  LlamagentDiffRemoved = 'DiffDelete',
  LlamagentDiffFill = 'NonText',
  LlamagentCode = 'String',
  LlamagentHeading = 'Title',
  LlamagentStrong = 'Bold',
}

--- Define the groups, unless the person or a colour scheme did.
function M.define()
  vim.api.nvim_set_hl(0, 'Bold', { bold = true, default = true })
  for name, link in pairs(M.LINKS) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

return M
