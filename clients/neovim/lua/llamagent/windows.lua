--- Windows of the agent's own buffers: how they look, and whether they follow what comes.
local M = {}

local api = vim.api

-- What the person set for windows of text would only be in the way here.
local PLAIN = {
  number = false,
  relativenumber = false,
  signcolumn = 'yes:1',
  foldcolumn = '0',
  foldenable = false,
  wrap = true,
  linebreak = true,
  breakindent = true,
  spell = false,
  list = false,
  cursorline = false,
  statuscolumn = '',
  colorcolumn = '',
  winbar = '',
  fillchars = 'eob: ,fold: ',
  winfixbuf = true,
}

--- Set options of this window alone.
---@param win integer
---@param options table<string, any>
function M.set(win, options)
  for name, value in pairs(options) do
    api.nvim_set_option_value(name, value, { scope = 'local', win = win })
  end
end

--- Make a window one of the agent's: plain, with these options over that.
---@param win integer
---@param options table<string, any>
function M.dress(win, options)
  M.set(win, vim.tbl_extend('force', PLAIN, options))
end

--- The window of the current tab page that shows a buffer.
---@param bufnr integer?
---@return integer?
function M.here(bufnr)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == bufnr then
      return win
    end
  end
end

--- Whether a window's cursor is on the last line: then it follows what is appended.
---@param win integer
---@return boolean
function M.at_end(win)
  return api.nvim_win_get_cursor(win)[1] >= api.nvim_buf_line_count(api.nvim_win_get_buf(win))
end

return M
