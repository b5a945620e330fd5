--- A list to read, in a floating window that `q` closes.
local M = {}

local api = vim.api

---@param lines string[]
---@return integer
local function widest(lines)
  local width = 20
  for _, line in ipairs(lines) do
    width = math.max(width, api.nvim_strwidth(line))
  end
  return width
end

--- Show lines; answers the buffer.
---@param title string
---@param lines string[]
---@param filetype? string to highlight as
---@return integer bufnr
function M.show(title, lines, filetype)
  local bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(bufnr, 0, -1, true, lines)
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].bufhidden = 'wipe'
  if filetype then
    vim.bo[bufnr].syntax = filetype
  end
  local width = math.min(widest(lines) + 2, vim.o.columns - 4)
  local height = math.max(1, math.min(#lines, vim.o.lines - 6))
  local win = api.nvim_open_win(bufnr, true, {
    relative = 'editor',
    width = width,
    height = height,
    row = math.floor((vim.o.lines - height) / 2) - 1,
    col = math.floor((vim.o.columns - width) / 2),
    border = 'rounded',
    title = ' ' .. title .. ' ',
    footer = ' q closes ',
    footer_pos = 'right',
    style = 'minimal',
  })
  vim.wo[win].wrap = true
  vim.wo[win].linebreak = true
  for _, lhs in ipairs({ 'q', '<Esc>' }) do
    vim.keymap.set('n', lhs, '<Cmd>close<CR>', { buffer = bufnr, nowait = true })
  end
  return bufnr
end

return M
