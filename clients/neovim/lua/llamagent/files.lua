--- Files by URI, for what the server asks about them.
local M = {}

local buffer = require('llamagent.buffer')
local say = require('llamagent.say')

--- Write these documents to disk; answers the URIs of those that are there now.
---@param uris string[]
---@return string[]
function M.save(uris)
  local saved = {}
  for _, uri in ipairs(uris) do
    local bufnr = buffer.find(vim.uri_to_fname(uri))
    local problem = bufnr and buffer.save(bufnr)
    if problem then
      say.warn('not saved: ' .. problem)
    elseif bufnr then
      table.insert(saved, uri)
    end
  end
  return saved
end

--- The name to show for a file: relative to the project where it lies in it.
---@param uri string
---@param root? string
---@return string
function M.name(uri, root)
  local path = vim.startswith(uri, 'file:') and vim.uri_to_fname(uri) or uri
  if root and vim.startswith(path, root .. '/') then
    return path:sub(#root + 2)
  end
  return vim.fn.fnamemodify(path, ':~:.')
end

return M
