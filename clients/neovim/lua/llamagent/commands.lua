--- The one table of commands: the server's, as its `wire.COMMANDS` has them, and the few that are the client's own.
local M = {}

---@class llamagent.Command
---@field name string without the prefix `llamagent.`
---@field title string
---@field help string
---@field arguments string[] the keys of its argument object
---@field takes? string which of them the words after the command are
---@field completes? 'models'|'skills'|'sessions'|'paths'|'settings' what those words complete to
---@field hidden? boolean used by the client, but nothing to type
---@field own? boolean the client does it without the server

-- stylua: ignore
---@type llamagent.Command[]
M.SERVER = {
  { name = 'ask', title = 'Ask', help = 'Ask the model to answer or to do something.',
    arguments = { 'text', 'session', 'context', 'mode', 'detach', 'steer' }, takes = 'text', completes = 'paths' },
  { name = 'cancel', title = 'Cancel', help = 'Stop the running turn.', arguments = { 'session' } },
  { name = 'compact', title = 'Compact', help = 'Sum up the conversation to make room for more.',
    arguments = { 'session' } },
  { name = 'load_skill', title = 'Load a skill', help = "Give the model a skill's text.",
    arguments = { 'name', 'session' }, takes = 'name', completes = 'skills' },
  { name = 'skills', title = 'Skills', help = 'List the skills.', arguments = {} },
  { name = 'new', title = 'New conversation', help = 'Begin a conversation; the current one stays stored.',
    arguments = {} },
  { name = 'clear', title = 'Clear', help = 'Forget the current conversation and begin another.', arguments = {} },
  { name = 'retry', title = 'Retry', help = 'Do a turn again, or with other words.',
    arguments = { 'session', 'turn', 'text', 'undo' }, takes = 'text' },
  { name = 'context', title = 'Context', help = 'Show what fills the context window.', arguments = { 'session' } },
  { name = 'config', title = 'Settings', help = 'Show the settings and where each comes from.', arguments = {} },
  { name = 'init', title = 'Set up the project', help = "Create the project's llamagent files.", arguments = {} },
  { name = 'models', title = 'Models', help = 'List the models that the server has.', arguments = {} },
  { name = 'pull_model', title = 'Pull a model', help = 'Download a model.', arguments = { 'name' }, takes = 'name' },
  { name = 'set_model', title = 'Choose the model', help = 'Use another model from now on.', arguments = { 'value' },
    takes = 'value', completes = 'models' },
  { name = 'set_temperature', title = 'Set the temperature', help = 'From 0 to 2.', arguments = { 'value' },
    takes = 'value' },
  { name = 'set_num_ctx', title = 'Set the context length', help = 'In tokens.', arguments = { 'value' },
    takes = 'value' },
  { name = 'allow', title = 'Allow a command', help = 'Run commands that begin so without asking.',
    arguments = { 'prefix', 'revoke' }, takes = 'prefix' },
  { name = 'sessions', title = 'Conversations', help = 'List the stored conversations.', arguments = {} },
  { name = 'resume', title = 'Resume', help = 'Go on with a stored conversation.', arguments = { 'ref' },
    takes = 'ref', completes = 'sessions' },
  { name = 'delete_session', title = 'Delete a conversation', help = 'Delete a stored conversation.',
    arguments = { 'ref' }, takes = 'ref', completes = 'sessions' },
  { name = 'trace', title = 'Trace', help = 'Show the stored events of a conversation.',
    arguments = { 'session', 'since' } },
  { name = 'undo_turn', title = 'Undo a turn', help = 'Propose to undo what a turn changed.',
    arguments = { 'session', 'turn' } },
  { name = 'export', title = 'Export', help = 'Give the conversation as text.', arguments = { 'session', 'format' },
    takes = 'format' },
  { name = 'trust', title = 'Trust', help = 'Trust a folder, or stop trusting it.',
    arguments = { 'folder', 'trusted' } },
  { name = 'complete', title = 'Complete', help = 'Complete the words of a prompt.', arguments = { 'text', 'offset' },
    hidden = true },
  { name = 'help', title = 'Help', help = 'List the commands.', arguments = {} },
  { name = 'unqueue', title = 'Take back', help = 'Take back an ask that waits for its turn.', arguments = { 'id' },
    takes = 'id' },
  { name = 'ask_about', title = 'Ask about', help = 'Ask about a place, in words that you are asked for.',
    arguments = { 'context' }, hidden = true },
}

-- stylua: ignore
---@type llamagent.Command[]
M.OWN = {
  { name = 'panel', title = 'Panel', help = 'Show or hide the panel.', arguments = {}, own = true },
  { name = 'review', title = 'Review', help = 'Go to the edit or the question that waits for you.', arguments = {},
    own = true },
  { name = 'accept', title = 'Accept', help = 'Accept the edit that waits.', arguments = {}, own = true },
  { name = 'reject', title = 'Reject', help = 'Reject the edit that waits; the words after it are the reason.',
    arguments = {}, takes = 'reason', own = true },
  { name = 'steer', title = 'Steer', help = 'Say something to the running turn, before its next step.',
    arguments = {}, takes = 'text', completes = 'paths', own = true },
  { name = 'restart', title = 'Restart', help = 'Stop the server and start it again.', arguments = {}, own = true },
  { name = 'health', title = 'Health', help = 'Check the installation.', arguments = {}, own = true },
}

--- Short names that people type.
---@type table<string, string>
M.ALIASES = {
  model = 'set_model',
  temp = 'set_temperature',
  ctx = 'set_num_ctx',
  skill = 'load_skill',
  delete = 'delete_session',
  pull = 'pull_model',
  undo = 'undo_turn',
  settings = 'config',
  stop = 'cancel',
  queue = 'unqueue',
}

--- The command of that name or alias.
---@param name string
---@return llamagent.Command?
function M.find(name)
  name = M.ALIASES[name] or name
  for _, list in ipairs({ M.SERVER, M.OWN }) do
    for _, command in ipairs(list) do
      if command.name == name then
        return command
      end
    end
  end
end

-- What the picker shows first.
local EVERYDAY =
  { 'ask', 'review', 'accept', 'reject', 'cancel', 'panel', 'new', 'sessions', 'models', 'skills', 'compact' }

--- The commands that a person can type, those of every day first.
---@return llamagent.Command[]
function M.visible()
  local rank = {}
  for place, name in ipairs(EVERYDAY) do
    rank[name] = place
  end
  local first, rest = {}, {}
  for _, command in ipairs(vim.list_extend(vim.list_slice(M.SERVER), M.OWN)) do
    if rank[command.name] then
      first[rank[command.name]] = command
    elseif not command.hidden then
      table.insert(rest, command)
    end
  end
  return vim.list_extend(first, rest)
end

return M
