"""The providers jpq knows, one row each. docs/providers.md explains the quirks.

Adding a provider that speaks a known API is adding a row. Whatever is said here can be
overridden under ``[providers.NAME]``.
"""

from __future__ import annotations

from typing import Tuple

from jpq.provider.base import ProviderRow

# Anthropic's models that take a prefilled answer and reason within a budget; those since
# 4.6 refuse the one and are told an effort instead ("Migration guide").
_CLAUDE_BEFORE_4_6 = (
    "claude-2*",
    "claude-instant-*",
    "claude-3*",
    "claude-*-4-0",
    "claude-*-4-1",
    "claude-*-4-1-2*",
    "claude-*-4-2025*",
    "claude-*-4-5*",
)

# Anthropic's models that always reason ("Adaptive thinking" and the migration guides of each).
_CLAUDE_ALWAYS_REASONS = (
    "claude-fable-*",
    "claude-mythos-*",
    "claude-opus-5-5*",
    "claude-sonnet-5-5*",
)

# OpenAI's models that do not reason, and refuse to be asked for encrypted reasoning.
_GPT_WITHOUT_REASONING = (
    "gpt-3.5*",
    "gpt-4*",
    "chatgpt-4*",
    "gpt-5-chat*",
    "ft:gpt-3.5*",
    "ft:gpt-4*",
)

# OpenAI's models that read text only ("Models", the modalities of each).
_GPT_WITHOUT_EYES = ("gpt-3.5*", "gpt-4", "gpt-4-0*", "gpt-4-1106*", "o1-mini*", "o3-mini*")

# Google's models before Gemini 3, which are told a budget for their reasoning, and those since,
# which refuse calls without a signature ("Thinking" and "Thought signatures").
_GEMINI_BEFORE_3 = ("gemini-1*", "gemini-2*")
_GEMINI_SINCE_3 = ("gemini-3*", "gemini-flash*-latest", "gemini-pro*-latest")

# Google's models that take neither a budget of 0 nor the level ``minimal`` ("Thinking").
_GEMINI_ALWAYS_REASONS = (
    "gemini-2.5-pro*",
    "gemini-3*-pro*",
    "gemini-3.[789]-flash",
    "gemini-flash-latest",
    "gemini-pro*-latest",
)

ROWS: Tuple[ProviderRow, ...] = (
    ProviderRow(
        "openai",
        "openai-responses",
        "https://api.openai.com/v1",
        base_url_env="OPENAI_BASE_URL",
        key_env="OPENAI_API_KEY",
        quirks={
            "max_tokens_field": "max_completion_tokens",
            "no_reasoning": _GPT_WITHOUT_REASONING,
            "text_only": _GPT_WITHOUT_EYES,
        },
    ),
    ProviderRow(
        "azure",
        "openai-responses",
        base_url_env="AZURE_OPENAI_ENDPOINT",
        key_env="AZURE_OPENAI_API_KEY",
        quirks={
            "base_path": "/openai/v1",
            "key_header": "api-key",
            "max_tokens_field": "max_completion_tokens",
            "no_reasoning": _GPT_WITHOUT_REASONING,
        },
    ),
    ProviderRow(
        "anthropic",
        "anthropic",
        "https://api.anthropic.com/v1",
        base_url_env="ANTHROPIC_BASE_URL",
        key_env="ANTHROPIC_API_KEY",
        quirks={
            "prefill": _CLAUDE_BEFORE_4_6,
            "budget": _CLAUDE_BEFORE_4_6,
            "always_reasons": _CLAUDE_ALWAYS_REASONS,
        },
    ),
    ProviderRow(
        "google",
        "google",
        "https://generativelanguage.googleapis.com/v1beta",
        base_url_env="GOOGLE_BASE_URL",
        key_env="GEMINI_API_KEY",
        other_key_envs=("GOOGLE_API_KEY",),
        quirks={
            "budget": _GEMINI_BEFORE_3,
            "signed_calls": _GEMINI_SINCE_3,
            "always_reasons": _GEMINI_ALWAYS_REASONS,
        },
    ),
    ProviderRow(
        "openrouter",
        "openai-chat",
        "https://openrouter.ai/api/v1",
        base_url_env="OPENROUTER_BASE_URL",
        key_env="OPENROUTER_API_KEY",
        quirks={
            "reasoning_field": "reasoning_details",
            "reasoning_turns": "all",
            "reasoning_object": True,
            "attachments": ("png", "jpeg", "gif", "webp", "pdf"),
        },
    ),
    ProviderRow(
        "deepseek",
        "openai-chat",
        "https://api.deepseek.com/v1",
        base_url_env="DEEPSEEK_BASE_URL",
        key_env="DEEPSEEK_API_KEY",
        quirks={
            "reasoning_field": "reasoning_content",
            "reasoning_turns": "all",
            "reasoning_always": True,
            "schema": "instruction",  # it takes no schema, only JSON of any shape
            "text_only": True,
        },
    ),
    ProviderRow(
        "groq",
        "openai-chat",
        "https://api.groq.com/openai/v1",
        base_url_env="GROQ_BASE_URL",
        key_env="GROQ_API_KEY",
        quirks={"max_tokens_field": "max_completion_tokens"},
    ),
    ProviderRow(
        "mistral",
        "openai-chat",
        "https://api.mistral.ai/v1",
        base_url_env="MISTRAL_BASE_URL",
        key_env="MISTRAL_API_KEY",
        quirks={
            "stream_options": False,
            "prefill": "prefix",
            "call_id_length": 9,
            "answer_after_results": True,
            "result_media": False,
        },
    ),
    ProviderRow(
        "xai",
        "openai-chat",
        "https://api.x.ai/v1",
        base_url_env="XAI_BASE_URL",
        key_env="XAI_API_KEY",
        quirks={"attachments": ("png", "jpeg")},
    ),
    ProviderRow(
        "together",
        "openai-chat",
        "https://api.together.ai/v1",
        base_url_env="TOGETHER_BASE_URL",
        key_env="TOGETHER_API_KEY",
    ),
    ProviderRow(
        "cerebras",
        "openai-chat",
        "https://api.cerebras.ai/v1",
        base_url_env="CEREBRAS_BASE_URL",
        key_env="CEREBRAS_API_KEY",
        quirks={"max_tokens_field": "max_completion_tokens", "text_only": True},
    ),
    ProviderRow(
        "perplexity",
        "openai-chat",
        "https://api.perplexity.ai",
        base_url_env="PERPLEXITY_BASE_URL",
        key_env="PERPLEXITY_API_KEY",
        quirks={"stream_options": False, "tool_choice": False},
    ),
    ProviderRow(
        "ollama",
        "ollama",
        "http://127.0.0.1:11434",
        base_url_env="OLLAMA_HOST",
        quirks={"prefill": True},
    ),
    ProviderRow(
        "llamacpp",
        "openai-chat",
        "http://127.0.0.1:8080/v1",
        base_url_env="LLAMACPP_BASE_URL",
        quirks={
            "reasoning_field": "reasoning_content",
            "attachments": ("png", "jpeg", "gif"),
            "result_media": "content",
        },
    ),
    ProviderRow(
        "lmstudio", "openai-chat", "http://127.0.0.1:1234/v1", base_url_env="LMSTUDIO_BASE_URL"
    ),
    ProviderRow("vllm", "openai-chat", "http://127.0.0.1:8000/v1", base_url_env="VLLM_BASE_URL"),
    ProviderRow("custom", "openai-chat", base_url_env="CUSTOM_BASE_URL"),
    ProviderRow("local", "local", quirks={"prefill": True, "text_only": True}),
    ProviderRow("scripted", "scripted"),
)
