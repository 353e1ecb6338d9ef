"""Keys of the name server: those of NamesrvConfig (5.3.3) that the emulator honors."""

from dataclasses import dataclass

from .keys import Config, key


@dataclass
class NamesrvConfig(Config):
    """The keys of the name server."""

    config_black_list: str = key(
        "configBlackList;configStorePath;kvConfigPath",
        "Keys that no request changes, with semicolons between; rocketmqHome and these three are always of them.",
    )
    order_message_enable: bool = key(False, "Routes carry the order configuration of a topic.")
    enable_all_topic_list: bool = key(True, "The list of all topics may be asked for.")
    enable_topic_list: bool = key(True, "The lists of topics by cluster may be asked for.")
