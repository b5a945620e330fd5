--- A workspace edit as a proposal: which files, made for which text, and what they would become. Changes nothing.
local M = {}

local buffer = require('llamagent.buffer')
local files = require('llamagent.files')
local merge = require('llamagent.merge')
local removal = require('llamagent.removal')
local snapshots = require('llamagent.snapshots')
local textedit = require('llamagent.textedit')

---@class llamagent.ReviewFile
---@field uri string
---@field path string
---@field name string as shown: relative to the project
---@field bufnr? integer nil for a file that does not exist yet
---@field loaded_now boolean whether the buffer was loaded for this review
---@field base string[] the text that the proposal is about
---@field proposed string[] what it would become; follows the person's changes on either side
---@field format string its 'fileformat'
---@field eol boolean whether the proposal ends with a line end
---@field changes_eol boolean whether that differs from the text before
---@field added integer
---@field removed integer
---@field decision? 'accepted'|'rejected'
---@field taken boolean whether a hunk was already put into the file
---@field conflict boolean whether the person changed the same lines
---@field goes boolean whether the file is to be removed
---@field gone? boolean whether it was
---@field shown string[] the text that the review began with
---@field note? string what the person should know of the change

---@class llamagent.Proposal
---@field id string the review's id
---@field label string
---@field files llamagent.ReviewFile[]

---@class llamagent.FileEdit
---@field uri string
---@field version? integer
---@field create boolean
---@field delete? boolean
---@field edits lsp.TextEdit[]

---@param change table<string, any>
---@param created table<string, boolean>
---@return llamagent.FileEdit?
---@return string? problem
local function file_edit(change, created)
  if not change.textDocument then
    return nil, ('this plugin cannot review a file operation of kind "%s"'):format(change.kind)
  end
  local uri = change.textDocument.uri
  local version = change.textDocument.version
  return { uri = uri, version = version, create = created[uri] or false, edits = change.edits }
end

--- The edit's parts, one for each file.
---@param edit lsp.WorkspaceEdit
---@return llamagent.FileEdit[]?
---@return string? problem
local function parts_of(edit)
  local parts, created = {}, {}
  for uri, edits in pairs(edit.changes or {}) do
    table.insert(parts, { uri = uri, create = false, edits = edits })
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.kind == 'create' then
      created[change.uri] = true
    elseif change.kind == 'delete' then
      table.insert(parts, { uri = change.uri, create = false, delete = true, edits = {} })
    else
      local part, problem = file_edit(change, created)
      if not part then
        return nil, problem
      end
      table.insert(parts, part)
    end
  end
  return parts
end

--- The text of an open document that an edit for `version` is about.
---@param part llamagent.FileEdit
---@param bufnr integer?
---@param client vim.lsp.Client
---@return string?
---@return string? problem
local function versioned_text(part, bufnr, client)
  local name = files.name(part.uri, client.root_dir)
  if not bufnr or not vim.lsp.buf_is_attached(bufnr, client.id) then
    return nil, ('stale: %s is not open any more'):format(name)
  end
  local current = vim.lsp.util.buf_versions[bufnr] or 0
  if current == part.version then
    return buffer.text(bufnr)
  end
  local text = snapshots.text(client.id, bufnr, part.version)
  if not text then
    return nil, ('stale: %s is at version %d, the edit is for %d'):format(name, current, part.version)
  end
  return text
end

--- The text of a file that the server read from disk.
---@param part llamagent.FileEdit
---@param bufnr integer
---@param client vim.lsp.Client
---@return string?
---@return string? problem
local function disk_text(part, bufnr, client)
  if not vim.bo[bufnr].modified then
    return buffer.text(bufnr)
  end
  local text = snapshots.text(client.id, bufnr, 0)
  if not text then
    local name = files.name(part.uri, client.root_dir)
    return nil, ('stale: %s has unsaved changes that the edit was made without'):format(name)
  end
  return text
end

---@param part llamagent.FileEdit
---@param path string
---@param client vim.lsp.Client
---@return {bufnr?: integer, text: string, loaded_now: boolean}?
---@return string? problem
local function base_of(part, path, client)
  local bufnr = buffer.find(path)
  local text, problem
  if part.version then
    text, problem = versioned_text(part, bufnr, client)
    return text and { bufnr = bufnr, text = text, loaded_now = false }, problem
  end
  local exists = vim.uv.fs_stat(path) ~= nil
  local name = files.name(part.uri, client.root_dir)
  if part.create and (exists or (bufnr and buffer.text(bufnr):find('%S'))) then
    return nil, ('stale: %s exists by now'):format(name)
  elseif not exists and not bufnr then
    return part.create and { text = '', loaded_now = false } or nil, ('stale: %s is not there any more'):format(name)
  end
  local loaded, loaded_now = buffer.load(path)
  text, problem = disk_text(part, loaded, client)
  return text and { bufnr = loaded, text = text, loaded_now = loaded_now }, problem
end

--- The text of a file that is to go.
---@param part llamagent.FileEdit
---@param path string
---@param client vim.lsp.Client
---@return {bufnr?: integer, text: string, loaded_now: boolean}?
---@return string? problem
local function leaving(part, path, client)
  local name = files.name(part.uri, client.root_dir)
  if not buffer.find(path) and not vim.uv.fs_lstat(path) then
    return nil, ('stale: %s is not there any more'):format(name)
  end
  local bufnr, loaded_now = buffer.load(path)
  local problem = removal.obstacle(path, bufnr, name)
  return not problem and { bufnr = bufnr, text = buffer.text(bufnr), loaded_now = loaded_now } or nil, problem
end

--- Lines that a list of hunks takes away and brings.
---@param before string[]
---@param after string[]
---@return integer added
---@return integer removed
function M.counts(before, after)
  local added, removed = 0, 0
  for _, hunk in ipairs(merge.hunks(before, after)) do
    added = added + hunk.b_last - hunk.b_first + 1
    removed = removed + hunk.a_last - hunk.a_first + 1
  end
  return added, removed
end

--- The 'fileformat' of a proposal: that of the buffer, and for a new file what its lines say.
---@param bufnr integer?
---@param text string
---@return string
local function format_of(bufnr, text)
  if bufnr then
    return vim.bo[bufnr].fileformat
  end
  local _, all = text:gsub('\n', '')
  local _, crlf = text:gsub('\r\n', '')
  return all > 0 and all == crlf and 'dos' or 'unix'
end

---@param part llamagent.FileEdit
---@param client vim.lsp.Client
---@return llamagent.ReviewFile?
---@return string? problem
local function review_file(part, client)
  local path = vim.uri_to_fname(part.uri)
  local base, problem = (part.delete and leaving or base_of)(part, path, client)
  if not base then
    return nil, problem
  end
  local encoding = client.offset_encoding --[[@as 'utf-8'|'utf-16'|'utf-32']]
  local text, overlap = textedit.apply(part.delete and '' or base.text, part.edits, encoding)
  if not text then
    return nil, overlap
  end
  local format = format_of(base.bufnr, text)
  local before, after = buffer.split(base.text, format), buffer.split(text, format)
  -- For the counts an empty file has no lines at all, not an empty one.
  local added, removed = M.counts(base.text == '' and {} or before.lines, text == '' and {} or after.lines)
  return {
    uri = part.uri,
    path = path,
    name = files.name(part.uri, client.root_dir),
    bufnr = base.bufnr,
    loaded_now = base.loaded_now,
    base = before.lines,
    proposed = after.lines,
    format = format,
    eol = after.eol,
    changes_eol = base.text ~= '' and text ~= '' and after.eol ~= before.eol,
    added = added,
    removed = removed,
    taken = false,
    conflict = false,
    goes = part.delete or false,
    shown = before.lines,
  }
end

---@param edit lsp.WorkspaceEdit
---@return string
local function review_id(edit)
  for key in pairs(edit.changeAnnotations or {}) do
    local id = key:match('^llamagent:(.+)$')
    if id then
      return id
    end
  end
  return ''
end

--- Read an edit; nil and a reason for the model where it is stale or cannot be shown.
---@param params lsp.ApplyWorkspaceEditParams
---@param client vim.lsp.Client
---@return llamagent.Proposal?
---@return string? problem
function M.read(params, client)
  local parts, problem = parts_of(params.edit)
  if not parts then
    return nil, problem
  elseif #parts == 0 then
    return nil, 'the edit is empty'
  end
  local proposal = { id = review_id(params.edit), label = params.label or 'edit', files = {} }
  for _, part in ipairs(parts) do
    local file, why = review_file(part, client)
    if not file then
      return nil, why
    end
    table.insert(proposal.files, file)
  end
  return proposal
end

return M
