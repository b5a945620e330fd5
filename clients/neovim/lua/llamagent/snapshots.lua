--- The texts that the server knows by version, while a turn runs: an edit for an older one can then be carried over.
local M = {}

local api = vim.api
local buffer = require('llamagent.buffer')

local KEEP = 16 -- versions of one document
local LARGEST = 2 ^ 20 -- bytes; larger texts are not kept

---@class llamagent.Snapshot
---@field version integer
---@field text string

---@type table<integer, table<integer, llamagent.Snapshot[]>> by client, by buffer, oldest first
local kept = {}

---@param bufnr integer
---@return boolean
local function fits(bufnr)
  return api.nvim_buf_get_offset(bufnr, api.nvim_buf_line_count(bufnr)) <= LARGEST
end

---@param client_id integer
---@param bufnr integer
---@param version integer
local function keep(client_id, bufnr, version)
  local list = kept[client_id][bufnr] or {}
  kept[client_id][bufnr] = list
  local last = list[#list]
  if (last and last.version == version) or not fits(bufnr) then
    return
  end
  table.insert(list, { version = version, text = buffer.text(bufnr) })
  if #list > KEEP then
    table.remove(list, 1)
  end
end

--- Begin to keep the texts of all documents that this client has open.
---@param client vim.lsp.Client
function M.begin(client)
  kept[client.id] = {}
  for bufnr in pairs(client.attached_buffers) do
    if api.nvim_buf_is_loaded(bufnr) then
      require('llamagent.attach').flush_pending(bufnr)
      keep(client.id, bufnr, vim.lsp.util.buf_versions[bufnr] or 0)
    end
  end
end

--- Forget all texts of this client.
---@param client_id integer
function M.finish(client_id)
  kept[client_id] = nil
end

--- The text that a document had in this version, where it is known.
---@param client_id integer
---@param bufnr integer
---@param version integer
---@return string?
function M.text(client_id, bufnr, version)
  local list = (kept[client_id] or {})[bufnr] or {}
  for i = #list, 1, -1 do
    if list[i].version == version then
      return list[i].text
    end
  end
end

---@param notified {client_id: integer, method: string, params: table<string, any>}
local function on_notify(notified)
  local opened = notified.method == 'textDocument/didOpen'
  if not kept[notified.client_id] or not (opened or notified.method == 'textDocument/didChange') then
    return
  end
  local document = notified.params.textDocument
  local bufnr = vim.uri_to_bufnr(document.uri)
  -- A key may have been typed since: then the buffer holds a later version, which comes with its own notification.
  if api.nvim_buf_is_loaded(bufnr) and vim.lsp.util.buf_versions[bufnr] == document.version then
    if opened then
      kept[notified.client_id][bufnr] = nil
    end
    keep(notified.client_id, bufnr, document.version)
  end
end

api.nvim_create_autocmd('LspNotify', {
  group = api.nvim_create_augroup('llamagent.snapshots', {}),
  callback = function(event)
    on_notify(event.data)
  end,
})

return M
