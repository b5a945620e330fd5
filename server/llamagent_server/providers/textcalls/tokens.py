"""The marks that stand around calls written as text, in the spellings of the families that use them."""

import re

# `atem:`, `minimax:`, `｜DSML｜` before the name of a tag.
PREFIX = r"(?:\w{1,20}:|[｜|]\w{1,20}[｜|])?"
_WRAPPERS = r"(?:tool_?calls?|function_?calls?|tool_use|TOOLCALLS?)"

# Special tokens may be lost on the way, so each mark counts alone.
OPEN = "|".join(
    (
        rf"<{PREFIX}{_WRAPPERS}>",  # Hermes, Qwen, GLM, OLMo
        r"<\|tool_calls?(?:_section)?(?:_start|_begin)?\|?>",  # LFM2, Granite, Phi-4, Gemma, Kimi
        r"<[｜|]tool▁calls?▁begin[｜|]>",  # DeepSeek
        r"<start_function_call>",  # FunctionGemma
        r"\[TOOL_(?:CALLS?|REQUEST)\]",  # Mistral, LM Studio
        r"<\|python_(?:tag|start)\|>",  # Llama
        r"<\|START_ACTION\|>",  # Cohere
        r"<\|action_start\|>\s*<\|plugin\|>",  # InternLM
        r"functools(?=\[)",  # Phi
    )
)
CLOSE = "|".join(
    (
        rf"</{PREFIX}(?:{_WRAPPERS}|function|invoke)>",
        r"<\|?/?tool_calls?\|>",
        r"<\|tool_calls?(?:_section)?_end\|>",
        r"<[｜|]tool▁calls?▁end[｜|]>",
        r"<end_function_call>",
        r"\[END_TOOL_REQUEST\]",
        r"\[/TOOL_CALLS?\]",
        r"<\|END_ACTION\|>",
        r"<\|call\|>",
        r"<\|python_end\|>",
        r"<\|action_end\|>",
    )
)
# The end of a reply or of a thought, where it was not taken for a special token.
END = (
    r"<\|(?:im_end|eot_id|eom_id|end|return|endoftext|end_of_text|user|observation)\|>"
    r"|<end_of_turn>|<turn\|>|</s>|<｜end▁of▁sentence｜>|</think>"
)
# Between a tool's name and its arguments.
SEPARATOR = (
    r"[<][｜|]tool[▁_]sep[｜|]>|\[CALL_ID\]\w*|\[ARGS\]|<\|tool_call_argument_begin\|>|<\|message\|>|<\|constrain\|>\w*"
)
FENCE = r"`{3,}|~{3,}"

OPENING = re.compile(OPEN)
CLOSING = re.compile(rf"\s*(?:{CLOSE}|{END})")
CLOSER = re.compile(CLOSE)
# Where the text of a call is over: nothing more, or a mark.
BOUNDARY = re.compile(rf"\s*(?:\Z|{CLOSE}|{END}|{OPEN}|{FENCE})")
# What may stand after a call, or between two, without being a word of the answer.
FILLER = re.compile(rf"(?:[\s,;]|{CLOSE}|{END})*+(?:(?:{FENCE})\s*\Z)?")
# A mark of which the length limit left only the beginning.
PARTIAL = re.compile(r"(?:<[|｜/]?(?:tool|func|invoke|atem|start_f)[\w▁=:\"' ]*[|｜]?|\[TOOL\w*|`{3,}\w*\s*)\Z")

# Fences whose content may be a call. Those of the first row say that it is one.
CALL_FENCES = frozenset({"tool_call", "tool_calls", "tool_code", "tool", "function_call"})
DATA_FENCES = frozenset({"", "json", "jsonc", "json5", "python", "py", "xml", "text", "txt", "plaintext"})
