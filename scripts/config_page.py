"""Generates docs/config-keys.md from the declarations of all configuration keys and from the profiles."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from rocketmq_testkit.emulator.config import BrokerConfig, Config, EmulationConfig, NamesrvConfig
from rocketmq_testkit.fixtures.options import upstream_keys
from rocketmq_testkit.fixtures.options.ignored_keys import by_reason
from rocketmq_testkit.fixtures.options.profiles import FAST
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig

HEAD = """\
# Configuration keys

Made by `make pages` from the declarations in `emulator/config/` and `grpc_v2/config/proxy_config.py`.

A key is set on the command line (`rocketmq-emulator --set popPollingSize=5`), in a file of upstream's format
(`--config broker.conf`, `namesrv.conf`, `rmq-proxy.json`), in Python (`Emulator(config={"popPollingSize": 5})`) or for
a test (the fixture `rocketmq_config`, the marker `@pytest.mark.rocketmq(config={"popPollingSize": 5})`). Names are
upstream's where upstream has the key. An unknown name or a value out of range is an error that names the nearest key or
the range; a key of upstream's that has no effect here is accepted from a file, with a [warning](fixtures.md#warnings),
and [listed below](#without-effect) with the reason. A name that is on none of these lists is not there. A key in the
file of another component is a warning that names the right file. A key that cannot do all that its name suggests is a
warning, too, when it is set: `requestRefusals=ack=OVERLOAD` does not concern gRPC clients.

The profile `faithful` is all defaults. The profile `fast`, which the fixtures use, sets the values of the column `fast`
and nothing else.
"""
WITHOUT_EFFECT = """\
## Without effect

Keys of upstream's that a file may have. `--set`, fixtures and `Emulator(config=...)` refuse them, with the reason.

"""
SECTIONS: tuple[tuple[str, type[Config]], ...] = (
    ("Broker", BrokerConfig),
    ("Name server", NamesrvConfig),
    ("gRPC proxy", ProxyConfig),
    ("Emulation", EmulationConfig),
)
"""Heading and configuration. A key that exists in two configurations is set in both."""


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for heading, config in SECTIONS:
        parts.append(f"## {heading}\n\n{_sentences(config)}\n\n" + "\n".join(_table(config, FAST)) + "\n")
    parts.append(WITHOUT_EFFECT + "\n".join(_without_effect()) + "\n")
    return "\n".join(parts)


def _without_effect() -> Iterator[str]:
    honoured = {name for _, config in SECTIONS for name in config.attributes()}
    yield "| keys | why |"
    yield "|---|---|"
    for reason, names in by_reason(upstream_keys.ALL - honoured).items():
        yield f"| {', '.join(f'`{name}`' for name in names)} | {reason} |"


def _sentences(config: type[Config]) -> str:
    # The first paragraph describes the configuration. The page does not list attributes.
    return (config.__doc__ or "").split("\n\n")[0].split(" Attribute ")[0].strip()


def _table(config: type[Config], fast: Mapping[str, Any]) -> Iterator[str]:
    yield "| key | default | fast | allowed | meaning |"
    yield "|---|---|---|---|---|"
    declared = {field.name: field for field in fields(config)}
    for name, attribute in config.attributes().items():
        field = declared[attribute]
        changed = _text(fast[name]) if name in fast else ""
        allowed = _allowed(field.default, field.metadata)
        yield f"| `{name}` | {_text(field.default)} | {changed} | {allowed} | {_escaped(field.metadata['doc'])} |"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"`{_escaped(str(value))}`" if isinstance(value, str) and value else str(value)


def _allowed(default: Any, meta: Mapping[str, Any]) -> str:
    if meta["choices"]:
        return ", ".join(choice or "nothing" for choice in meta["choices"])
    if isinstance(default, bool):
        return "true, false"
    low, high, unit = meta["low"], meta["high"], _escaped(meta["unit"])
    bounds = f"{low} to {high}" if low is not None and high is not None else f">= {low}" if low is not None else ""
    return f"{bounds} {unit}".strip()


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
