--- What language servers and linters say of files right after an edit: waited for, a moment at most.
local M = {}

local api = vim.api
local buffer = require('llamagent.buffer')

local LONGEST_MS = 1000
local SETTLED_MS = 150 -- without a change: several sources speak one after the other
local TICK_MS = 50

--- When the diagnostics of a changed buffer last changed, 0 where they did not yet.
---@type table<integer, integer>
local changed = {}

api.nvim_create_autocmd('DiagnosticChanged', {
  group = api.nvim_create_augroup('llamagent.diagnostics', {}),
  callback = function(event)
    if changed[event.buf] then
      changed[event.buf] = vim.uv.now()
    end
  end,
})

--- The text of a buffer was changed: what is known of its diagnostics is old from here on.
---@param bufnr integer
function M.expect(bufnr)
  changed[bufnr] = 0
end

--- Whether anything but us speaks of this buffer.
---@param bufnr integer
---@return boolean
local function has_source(bufnr)
  local others = vim.iter(vim.lsp.get_clients({ bufnr = bufnr })):any(function(client)
    return client.name ~= require('llamagent.client').NAME
  end)
  return others or #vim.diagnostic.get(bufnr) > 0
end

---@param bufnr integer
---@return boolean
local function settled(bufnr)
  local at = changed[bufnr]
  if not api.nvim_buf_is_loaded(bufnr) or not has_source(bufnr) then
    return true
  end
  return at ~= nil and at > 0 and vim.uv.now() - at >= SETTLED_MS
end

---@param uris string[]
---@return table<string, integer> buffers by URI, of the files that are open
local function buffers_of(uris)
  local found = {}
  for _, uri in ipairs(uris) do
    found[uri] = buffer.find(vim.uri_to_fname(uri))
  end
  return found
end

---@param uris string[]
---@param encoding string
---@return table<string, lsp.Diagnostic[]>
local function told(uris, encoding)
  local found, buffers = vim.empty_dict(), buffers_of(uris)
  for _, uri in ipairs(uris) do
    local bufnr = buffers[uri]
    found[uri] = bufnr and require('llamagent.context').diagnostics(bufnr, nil, encoding) or {}
  end
  return found
end

--- Answer with the diagnostics of these files once those of their new text have settled, or after a second. The editor
--- stays free meanwhile.
---@param uris string[]
---@param encoding string
---@param answer fun(result: {diagnostics: table<string, lsp.Diagnostic[]>})
function M.settle(uris, encoding, answer)
  local bufnrs = vim.tbl_values(buffers_of(uris))
  for _, bufnr in ipairs(bufnrs) do
    changed[bufnr] = changed[bufnr] or 0
  end
  local deadline = vim.uv.now() + LONGEST_MS
  local function look()
    if vim.uv.now() < deadline and not vim.iter(bufnrs):all(settled) then
      vim.defer_fn(look, TICK_MS)
      return
    end
    for _, bufnr in ipairs(bufnrs) do
      changed[bufnr] = nil
    end
    answer({ diagnostics = told(uris, encoding) })
  end
  look()
end

return M
