--- What `vim.lsp.enable('llamagent')` starts.
return require('llamagent.client').config()
