"""Keys of the name server: those of NamesrvConfig (5.3.3) that the emulator honors."""

from dataclasses import dataclass

from .keys import Config, key


@dataclass(repr=False, eq=False)
class NamesrvConfig(Config):
    """The keys of the name server."""

    config_black_list: str = key(
        "configBlackList;configStorePath;kvConfigPath",
        "Keys that no request may change, separated by semicolons. rocketmqHome, configBlackList, configStorePath and"
        " kvConfigPath are always protected.",
    )
    order_message_enable: bool = key(False, "Routes contain the order configuration of their topic.")
    enable_all_topic_list: bool = key(True, "Clients may request the list of all topics.")
    enable_topic_list: bool = key(True, "Clients may request the lists of topics by cluster.")
