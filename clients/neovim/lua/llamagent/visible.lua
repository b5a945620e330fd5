--- Text from models, files and servers as a person must see it: nothing in it can hide or forge a part of it. Pure.
local M = {}

-- Controls but tab and line feed, soft hyphen, what is invisible or changes the direction, tags: as UTF-8.
local HIDING = {
  '[%z\1-\8\11-\31\127]',
  '\194[\128-\159]', -- C1
  '\194\173', -- soft hyphen
  '\205\143', -- U+034F
  '\216\156', -- U+061C
  '\225\133[\159\160]', -- Hangul fillers
  '\225\158[\180\181]', -- U+17B4
  '\225\160[\139-\143]', -- U+180B
  '\226\128[\139-\143]', -- zero width, U+200B
  '\226\128[\168-\174]', -- separators, bidi
  '\226\129[\160-\175]', -- U+2060
  '\226\160\128', -- the empty Braille pattern
  '\227\133\164', -- Hangul filler
  '\239\184[\128-\143]', -- variation selectors
  '\239\187\191', -- byte order mark
  '\239\190\160', -- Hangul filler
  '\239\191[\176-\187]', -- U+FFF0
  '\240\157\133[\179-\186]', -- U+1D173
  '\243\160[\128-\191][\128-\191]', -- tags
}
local LINE = 160 -- bytes of a command on one line
local BLANKS = (' '):rep(40)

---@param character string
---@return string
local function escaped(character)
  return ('<U+%04X>'):format(character == '\0' and 0 or vim.fn.char2nr(character, true))
end

--- Lines and tabs stay.
---@param text string
---@return string
function M.text(text)
  if not text:find('[^\9\10\32-\126]') then
    return text
  end
  for _, pattern in ipairs(HIDING) do
    text = text:gsub(pattern, escaped)
  end
  return text
end

--- One line, whatever is in it.
---@param text string
---@return string
function M.line(text)
  return (M.text(text):gsub('\n', '<U+000A>'))
end

--- For a command that one says yes to: a sign stands before each of its lines (`$` the first, `>` another, `|` the rest
--- of one that is long), and no gap moves a part of it off the screen.
---@param text string
---@return string[]
function M.command(text)
  local lines = {}
  for i, line in ipairs(vim.split(text, '\n', { plain = true })) do
    line = M.text(line):gsub(BLANKS .. ' *', function(gap)
      return (' <%d blanks> '):format(#gap)
    end)
    local sign, from = i == 1 and '$ ' or '> ', 1
    repeat
      local to = from + LINE - 1
      while to < #line and line:byte(to + 1) >= 128 and line:byte(to + 1) < 192 do
        to = to - 1 -- no character is cut
      end
      table.insert(lines, sign .. line:sub(from, to))
      sign, from = '| ', to + 1
    until from > #line
  end
  return lines
end

return M
