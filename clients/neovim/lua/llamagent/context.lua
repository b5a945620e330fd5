--- What goes along with an ask: a range of a buffer with its diagnostics, files named by `@path`, unnamed buffers.
local M = {}

local api = vim.api
local attach = require('llamagent.attach')

---@class llamagent.Where
---@field bufnr integer
---@field range? lsp.Range in the client's position encoding; nil for no selection

--- The LSP range of a visual selection or of a range of lines.
---@param bufnr integer
---@param first integer 1-based line
---@param last integer
---@param encoding string
---@param charwise boolean whether the columns of the marks '< and '> count
---@return lsp.Range
function M.range(bufnr, first, last, encoding, charwise)
  if charwise then
    local params = vim.lsp.util.make_given_range_params(nil, nil, bufnr, encoding)
    return params.range
  end
  local count = api.nvim_buf_line_count(bufnr)
  if last < count then
    return { start = { line = first - 1, character = 0 }, ['end'] = { line = last, character = 0 } }
  end
  local text = api.nvim_buf_get_lines(bufnr, count - 1, count, true)[1]
  local width = vim.str_utfindex(text, encoding, #text, false)
  return { start = { line = first - 1, character = 0 }, ['end'] = { line = count - 1, character = width } }
end

---@param bufnr integer
---@param line integer 0-based
---@param column integer bytes
---@param encoding string
---@return lsp.Position
local function position(bufnr, line, column, encoding)
  local text = api.nvim_buf_get_lines(bufnr, line, line + 1, false)[1] or ''
  local at = math.min(column, #text)
  return { line = line, character = vim.str_utfindex(text, encoding, at, false) }
end

---@param diagnostic vim.Diagnostic
---@param encoding string
---@return lsp.Diagnostic
local function to_lsp(diagnostic, encoding)
  local bufnr = assert(diagnostic.bufnr)
  return {
    range = {
      start = position(bufnr, diagnostic.lnum, diagnostic.col, encoding),
      ['end'] = position(bufnr, diagnostic.end_lnum or diagnostic.lnum, diagnostic.end_col or diagnostic.col, encoding),
    },
    severity = diagnostic.severity,
    message = diagnostic.message,
    source = diagnostic.source,
    code = diagnostic.code,
  }
end

--- What is shown as wrong in a buffer, within a range where one is given.
---@param bufnr integer
---@param range lsp.Range?
---@param encoding string
---@return lsp.Diagnostic[]
function M.diagnostics(bufnr, range, encoding)
  local found = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(bufnr)) do
    local last = range and (range['end'].character == 0 and range['end'].line - 1 or range['end'].line)
    if not range or (diagnostic.lnum >= range.start.line and diagnostic.lnum <= last) then
      table.insert(found, to_lsp(diagnostic, encoding))
    end
  end
  return found
end

---@param bufnr integer
---@param range lsp.Range
---@return string
local function text_in(bufnr, range)
  local first, last = range.start.line, range['end'].line
  local stop = range['end'].character == 0 and last or last + 1
  return table.concat(api.nvim_buf_get_lines(bufnr, first, stop, false), '\n')
end

---@param where llamagent.Where
---@param client vim.lsp.Client
---@return llamagent.ContextItem?
local function selected(where, client)
  local encoding = client.offset_encoding
  if not where.range then
    return nil
  end
  local diagnostics = M.diagnostics(where.bufnr, where.range, encoding)
  local item = { languageId = vim.bo[where.bufnr].filetype, range = where.range }
  item.diagnostics = #diagnostics > 0 and diagnostics or nil
  if attach.eligible(where.bufnr) then
    attach.now(client, where.bufnr)
    item.uri = vim.uri_from_bufnr(where.bufnr)
  else
    item.text = text_in(where.bufnr, where.range)
  end
  return item
end

--- An unnamed buffer that is looked at: the server can read it in no other way.
---@param where llamagent.Where
---@return llamagent.ContextItem?
local function unnamed(where)
  local named = api.nvim_buf_get_name(where.bufnr) ~= '' or vim.bo[where.bufnr].buftype ~= ''
  local text = table.concat(api.nvim_buf_get_lines(where.bufnr, 0, -1, true), '\n')
  if where.range or named or not text:find('%S') then
    return nil
  end
  return { text = text, languageId = vim.bo[where.bufnr].filetype }
end

---@param token string what follows the `@`
---@param root string
---@return llamagent.ContextItem?
local function named_file(token, root)
  local path, first, last = token:match('^(.-):(%d+)%-(%d+)$')
  local full = vim.fs.joinpath(root, path or token)
  local stat = vim.uv.fs_stat(full)
  if not stat or stat.type ~= 'file' then
    return nil
  end
  local item = { uri = vim.uri_from_fname(vim.fs.normalize(full)) }
  if path then
    local start, stop = tonumber(first) - 1, tonumber(last)
    item.range = { start = { line = start, character = 0 }, ['end'] = { line = stop, character = 0 } }
  end
  return item
end

--- Everything that goes along with these words.
---@param text string
---@param where llamagent.Where
---@param client vim.lsp.Client
---@return llamagent.ContextItem[]
function M.items(text, where, client)
  local items = {}
  table.insert(items, selected(where, client))
  table.insert(items, unnamed(where))
  local root, seen = client.root_dir or vim.fn.getcwd(), {}
  for token in (' ' .. text):gmatch('%s@([^%s]+)') do
    token = token:gsub('[,;.!?)]+$', '')
    local item = not seen[token] and named_file(token, root)
    seen[token] = true
    if item then
      table.insert(items, item)
    end
  end
  return items
end

return M
