--- Light highlighting of the model's words while they stream: headings, code, emphasis; code blocks by treesitter.
local M = {}

---@class llamagent.Span
---@field row integer 0-based
---@field from integer byte
---@field to integer byte behind the last one
---@field group string

---@class llamagent.Fence
---@field mark string what closes it
---@field language string
---@field row integer the first row inside

--- Inline code and strong words of one line.
---@param line string
---@param row integer
---@param spans llamagent.Span[]
local function inline(line, row, spans)
  for from, to in line:gmatch('()`[^`]+`()') do
    table.insert(spans, { row = row, from = from - 1, to = to - 1, group = 'LlamagentCode' })
  end
  for from, to in line:gmatch('()%*%*[^*]+%*%*()') do
    table.insert(spans, { row = row, from = from - 1, to = to - 1, group = 'LlamagentStrong' })
  end
end

--- The spans of one line outside of a code block.
---@param line string
---@param row integer
---@return llamagent.Span[]
function M.line(line, row)
  local spans = {}
  if line:match('^#+%s') then
    table.insert(spans, { row = row, from = 0, to = #line, group = 'LlamagentHeading' })
  else
    inline(line, row, spans)
  end
  return spans
end

--- What a line opens, where it opens a code block.
---@param line string
---@param row integer
---@return llamagent.Fence?
function M.opens(line, row)
  local mark, language = line:match('^%s*(```+)%s*([%w_+-]*)%s*$')
  if not mark then
    mark, language = line:match('^%s*(~~~+)%s*([%w_+-]*)%s*$')
  end
  return mark and { mark = mark, language = language, row = row + 1 } or nil
end

--- Whether a line closes that code block.
---@param line string
---@param fence llamagent.Fence
---@return boolean
function M.closes(line, fence)
  local mark = line:match('^%s*([`~]+)%s*$')
  return mark ~= nil and #mark >= #fence.mark and mark:sub(1, 1) == fence.mark:sub(1, 1)
end

--- The spans of a whole code block; empty where no parser for the language is installed.
---@param lines string[]
---@param language string
---@param row integer of the first line
---@return llamagent.Span[]
function M.code(lines, language, row)
  local lang = language ~= '' and vim.treesitter.language.get_lang(language) or language
  local source = table.concat(lines, '\n')
  local ok, parser = pcall(vim.treesitter.get_string_parser, source, lang)
  local query = ok and parser and vim.treesitter.query.get(lang, 'highlights')
  if not query or not parser then
    return {}
  end
  local spans = {}
  for id, node in query:iter_captures(parser:parse(true)[1]:root(), source) do
    local from_row, from, to_row, to = node:range()
    if from_row == to_row and query.captures[id]:sub(1, 1) ~= '_' then
      table.insert(spans, { row = row + from_row, from = from, to = to, group = '@' .. query.captures[id] })
    end
  end
  return spans
end

return M
