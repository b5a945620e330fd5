--- LSP text edits on a text as the server has it: pure, exact in every encoding and with every kind of line end.
local M = {}

--- Byte offsets (0-based) at which the lines of `text` begin, and at which their contents end. LSP 3.17 counts `\n`,
--- `\r\n` and a lone `\r` as line ends.
---@param text string
---@return {start: integer, stop: integer}[]
local function line_spans(text)
  local spans, start = {}, 1
  while true do
    local at = text:find('[\r\n]', start)
    if not at then
      table.insert(spans, { start = start - 1, stop = #text })
      return spans
    end
    table.insert(spans, { start = start - 1, stop = at - 1 })
    start = text:sub(at, at + 1) == '\r\n' and at + 2 or at + 1
  end
end

--- The byte offset of an LSP position. Positions beyond a line's or the text's end mean that end.
---@param text string
---@param spans {start: integer, stop: integer}[]
---@param position lsp.Position
---@param encoding 'utf-8'|'utf-16'|'utf-32'
---@return integer
local function offset(text, spans, position, encoding)
  local span = spans[position.line + 1]
  if not span then
    return #text
  end
  local line = text:sub(span.start + 1, span.stop)
  if position.character >= #line then
    return span.stop
  end
  return span.start + vim.str_byteindex(line, encoding, position.character, false)
end

---@class llamagent.Splice
---@field from integer
---@field to integer
---@field text string
---@field order integer

--- The text with all edits made, or nil and the reason why that cannot be.
---@param text string
---@param edits lsp.TextEdit[]
---@param encoding 'utf-8'|'utf-16'|'utf-32'
---@return string?
---@return string? problem
function M.apply(text, edits, encoding)
  local spans = line_spans(text)
  local splices = {} ---@type llamagent.Splice[]
  for order, edit in ipairs(edits) do
    local from = offset(text, spans, edit.range.start, encoding)
    local to = offset(text, spans, edit.range['end'], encoding)
    table.insert(splices, { from = from, to = to, text = edit.newText, order = order })
  end
  table.sort(splices, function(a, b)
    return a.from < b.from or (a.from == b.from and a.order < b.order)
  end)
  local parts, at = {}, 0
  for _, splice in ipairs(splices) do
    if splice.from < at or splice.to < splice.from then
      return nil, 'the edits overlap'
    end
    table.insert(parts, text:sub(at + 1, splice.from))
    table.insert(parts, splice.text)
    at = splice.to
  end
  table.insert(parts, text:sub(at + 1))
  return table.concat(parts)
end

return M
