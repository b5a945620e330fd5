--- Sourced when Neovim starts: the command and what has to be watched; everything else is loaded when it is used.
if vim.g.loaded_llamagent then
  return
end
vim.g.loaded_llamagent = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.api.nvim_create_user_command('Llamagent', function()
    vim.notify('llamagent needs Neovim 0.11 or newer.', vim.log.levels.ERROR)
  end, { nargs = '*', bang = true, range = true })
  return
end

vim.api.nvim_create_user_command('Llamagent', function(given)
  require('llamagent.palette').command(given)
end, {
  nargs = '*',
  bang = true,
  range = true,
  desc = 'Ask the agent, or run one of its commands; without a name, choose',
  complete = function(lead, line, position)
    return require('llamagent.completion').command_line(lead, line, position)
  end,
})

require('llamagent.highlights').define()
vim.api.nvim_create_autocmd('ColorScheme', {
  group = vim.api.nvim_create_augroup('llamagent.highlights', {}),
  callback = function()
    require('llamagent.highlights').define()
  end,
})

require('llamagent.attach').watch()
