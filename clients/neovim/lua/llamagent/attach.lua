--- Which buffers belong to the agent, and to which project: also those that have no filetype or change their name.
local M = {}

local api = vim.api
local config = require('llamagent.config')

local NAME = 'llamagent'
local group = api.nvim_create_augroup('llamagent.attach', {})

--- Whether a buffer is a file of a project. Unnamed buffers all have the same URI and are sent inline instead.
---@param bufnr integer
---@return boolean
function M.eligible(bufnr)
  local name = api.nvim_buf_get_name(bufnr)
  return vim.bo[bufnr].buftype == '' and name ~= '' and not name:match('^%a[%w+.-]+://')
end

--- Whether a folder may be a project. `~/.llamagent` is the user's own folder and `~/.git` a way to keep dotfiles:
--- neither makes the home one. A root holds everything and is none.
---@param folder string
---@return boolean
local function may_be_project(folder)
  return folder ~= vim.fs.normalize(vim.uv.os_homedir() or '') and vim.fs.dirname(folder) ~= folder
end

--- The folder of Neovim itself as a project: the nearest one with a marker, else that folder.
---@return string?
function M.working_root()
  local cwd = vim.fs.normalize(vim.fn.getcwd())
  local marked = vim.fs.root(cwd, config.options.root_markers)
  if marked and may_be_project(marked) then
    return marked
  end
  return may_be_project(cwd) and cwd or nil
end

--- The project folder of a buffer: the nearest one with a marker, else Neovim's own where the file lies below it.
---@param bufnr integer
---@return string?
function M.root_of(bufnr)
  local name = vim.fs.normalize(api.nvim_buf_get_name(bufnr))
  if not M.eligible(bufnr) then
    return nil
  end
  local root = vim.fs.root(bufnr, config.options.root_markers)
  if root and may_be_project(root) then
    return root
  end
  local working = M.working_root()
  return working and vim.startswith(name, working .. '/') and working or nil
end

--- Send what other servers' clients still hold back. Neovim would send it to a client that opens the buffer now, too,
--- although that client knows it already from the text that it opened with.
---@param bufnr? integer
function M.flush_pending(bufnr)
  local ok, tracking = pcall(require, 'vim.lsp._changetracking')
  for _, other in ipairs(ok and vim.lsp.get_clients({ bufnr = bufnr }) or {}) do
    pcall(tracking.flush, other, bufnr)
  end
end

--- `root_dir` of the LSP configuration: attaches to eligible buffers only.
---@param bufnr integer
---@param on_dir fun(root: string?)
function M.root_dir(bufnr, on_dir)
  if not M.eligible(bufnr) then
    return
  end
  local program = config.options.cmd[1]
  if vim.fn.executable(program) == 0 then
    require('llamagent.client').say_missing(program)
    return
  end
  M.flush_pending(bufnr)
  on_dir(M.root_of(bufnr))
end

---@param bufnr integer
---@return vim.lsp.Client[]
local function clients_of(bufnr)
  return vim.lsp.get_clients({ name = NAME, bufnr = bufnr })
end

--- Neovim attaches by FileType alone, so a file whose type it does not know is attached here.
---@param bufnr integer
local function attach_untyped(bufnr)
  if not api.nvim_buf_is_loaded(bufnr) or vim.bo[bufnr].filetype ~= '' or not M.eligible(bufnr) then
    return
  end
  if vim.lsp.is_enabled and not vim.lsp.is_enabled(NAME) then
    return
  end
  local resolved = vim.lsp.config[NAME]
  if #clients_of(bufnr) > 0 or not resolved then
    return
  end
  if type(resolved.cmd) == 'table' and vim.fn.executable(resolved.cmd[1]) == 0 then
    require('llamagent.client').say_missing(resolved.cmd[1])
    return
  end
  M.root_dir(bufnr, function(root)
    local own = vim.deepcopy(resolved)
    own.root_dir = root -- in place of the function, which is for `vim.lsp.enable`
    vim.lsp.start(own, { bufnr = bufnr })
  end)
end

--- Attach a client to a buffer at once, so that the server knows its text before it hears anything else.
---@param client vim.lsp.Client
---@param bufnr integer
function M.now(client, bufnr)
  if M.eligible(bufnr) and not vim.lsp.buf_is_attached(bufnr, client.id) then
    M.flush_pending(bufnr)
    vim.lsp.buf_attach_client(bufnr, client.id)
  end
end

--- Tell the server the whole text anew, for what no didChange carries (a final line end that came or went).
---@param client vim.lsp.Client
---@param bufnr integer
function M.again(client, bufnr)
  if vim.lsp.buf_is_attached(bufnr, client.id) then
    vim.lsp.buf_detach_client(bufnr, client.id)
    vim.lsp.buf_attach_client(bufnr, client.id)
  end
end

---@type table<integer, vim.lsp.Client[]> what `:file` has to attach again under the new name
local renaming = {}

--- `:file newname` tells servers nothing: close the document under the old name, and open it under the new one.
local function follow_renames()
  api.nvim_create_autocmd('BufFilePre', {
    group = group,
    callback = function(event)
      renaming[event.buf] = clients_of(event.buf)
      for _, client in ipairs(renaming[event.buf]) do
        vim.lsp.buf_detach_client(event.buf, client.id)
      end
    end,
  })
  api.nvim_create_autocmd('BufFilePost', {
    group = group,
    callback = function(event)
      for _, client in ipairs(renaming[event.buf] or {}) do
        M.now(client, event.buf)
      end
      renaming[event.buf] = nil
    end,
  })
end

--- Watch for the buffers that `vim.lsp.enable` leaves out.
function M.watch()
  follow_renames()
  api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, {
    group = group,
    callback = vim.schedule_wrap(function(event)
      if api.nvim_buf_is_valid(event.buf) then
        attach_untyped(event.buf)
      end
    end),
  })
end

return M
