--- Completion of commands, their words and `@` paths: in the command line, and in the prompt until the server does it.
local M = {}

local api = vim.api
local client = require('llamagent.client')
local commands = require('llamagent.commands')

local WAIT_MS = 400 -- the command line waits no longer than that for the server's lists
local MOST_PATHS = 200

---@param list string[]
---@param lead string
---@return string[]
local function beginning_with(list, lead)
  return vim.tbl_filter(function(item)
    return vim.startswith(item, lead)
  end, list)
end

---@param used vim.lsp.Client?
---@param command string
---@param list string
---@param key string
---@return string[]
local function from_server(used, command, list, key)
  local result = used and client.request_now(used, command, {}, WAIT_MS)
  return vim.tbl_map(function(row)
    return row[key]
  end, result and result[list] or {})
end

---@type table<string, fun(used: vim.lsp.Client?): string[]>
local lists = {
  models = function(used)
    return from_server(used, 'models', 'models', 'name')
  end,
  skills = function(used)
    return from_server(used, 'skills', 'skills', 'name')
  end,
  sessions = function(used)
    return from_server(used, 'sessions', 'sessions', 'id')
  end,
}

--- Files and folders of the project whose path begins so; folders end with `/`.
---@param lead string
---@param root string
---@return string[]
function M.paths(lead, root)
  local found = vim.fn.globpath(vim.fn.escape(root, '\\,*?[]{}'), lead:gsub('[%[%]*?{}]', '\\%0') .. '*', false, true)
  local paths = {}
  for i = 1, math.min(#found, MOST_PATHS) do
    local full = found[i]
    local relative = full:sub(#root + 2)
    table.insert(paths, vim.fn.isdirectory(full) == 1 and relative .. '/' or relative)
  end
  return paths
end

---@param used vim.lsp.Client?
---@return string
local function root_of(used)
  return used and used.root_dir or vim.fn.getcwd()
end

--- The server's own completion of a prompt, where it has that command.
---@param used vim.lsp.Client?
---@param text string
---@param offset integer bytes
---@return {label: string, insertText: string, start: integer, end: integer, detail?: string, kind?: string}[]?
function M.from_server(used, text, offset)
  if not used or not client.offers(used, 'complete') then
    return nil
  end
  local units = vim.str_utfindex(text, used.offset_encoding, offset, false)
  local result = client.request_now(used, 'complete', { text = text, offset = units }, WAIT_MS)
  return result and result.items
end

---@param lead string beginning with `@`
---@param used vim.lsp.Client?
---@return string[]
local function at_paths(lead, used)
  local served = M.from_server(used, lead, #lead)
  if served then
    return vim.tbl_map(function(item)
      return item.insertText
    end, served)
  end
  return vim.tbl_map(function(path)
    return '@' .. path
  end, M.paths(lead:sub(2), root_of(used)))
end

---@return string[]
local function names()
  local all = vim.tbl_keys(commands.ALIASES)
  for _, command in ipairs(commands.visible()) do
    table.insert(all, command.name)
  end
  table.sort(all)
  return all
end

--- `complete=` of `:Llamagent`.
---@param lead string
---@param line string
---@param position integer
---@return string[]
function M.command_line(lead, line, position)
  local before = line:sub(1, position)
  local words = before:match('Llamagent!?%s+(.*)$') or ''
  if not words:find('%s') then
    return beginning_with(names(), lead)
  end
  if vim.startswith(lead, '@') then
    return at_paths(lead, client.current())
  end
  local command = commands.find(words:match('^%S+'))
  local list = command and lists[command.completes]
  return list and beginning_with(list(client.current()), lead) or {}
end

---@class llamagent.Match
---@field word string
---@field menu? string

--- What completes the word before the cursor of the prompt: where the word begins (0-based byte), and the matches.
--- A `/` counts at the very beginning, an `@` at the beginning of a word.
---@param lines string[]
---@param row integer 1-based
---@param column integer bytes before the cursor
---@param used vim.lsp.Client?
---@return integer? start
---@return llamagent.Match[] matches
function M.prompt(lines, row, column, used)
  local before = lines[row]:sub(1, column)
  if row == 1 and before:match('^/[%w_]*$') then
    local matches = {}
    for _, command in ipairs(commands.visible()) do
      if vim.startswith('/' .. command.name, before) then
        table.insert(matches, { word = '/' .. command.name, menu = command.help })
      end
    end
    return 0, matches
  end
  local word = before:match('%f[%S](@%S*)$')
  if not word then
    return nil, {}
  end
  return column - #word, vim.tbl_map(function(path)
    return { word = path }
  end, at_paths(word, used))
end

--- Whether the name after an `@` is a file already: then a popup would only be in the way of Enter.
---@param word string
---@param used vim.lsp.Client?
---@return boolean
function M.is_file(word, used)
  local stat = vim.uv.fs_stat(vim.fs.joinpath(root_of(used), word))
  return stat ~= nil and stat.type == 'file'
end

--- The buffer's word completion for the prompt: 'completefunc'.
---@param findstart integer
---@param base string
---@return integer|llamagent.Match[]
function M.completefunc(findstart, base)
  local row, column = unpack(api.nvim_win_get_cursor(0))
  if findstart == 1 then
    local start = M.prompt(api.nvim_buf_get_lines(0, 0, -1, true), row, column, client.current())
    return start or -3
  end
  local _, matches = M.prompt({ base }, 1, #base, client.current())
  return matches
end

return M
