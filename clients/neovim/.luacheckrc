-- Neovim's Lua is LuaJIT with the global `vim`, whose options are written through `vim.o`, `vim.bo`, `vim.wo` and `vim.b`.
std = 'luajit'
globals = { 'vim' }
max_line_length = 120
