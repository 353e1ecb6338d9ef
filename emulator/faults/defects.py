"""The defects of upstream that are switched on in one emulator. The code that has a defect reads its switch."""

from dataclasses import field, fields

from ..kernel.value_class import parts


@parts
class Defects:
    """Switches of one emulator, all off at first. A switch that is on gives the emulator upstream's defect of its name.

    `UPSTREAM_DEFECTS` describes each defect. The parts of an emulator get this object when they are built, and read it
    at each request. Only faults change it, by `enable` and `release`.
    """

    ack_with_changed_handle_is_lost: bool = False
    blocked_revive_queue: bool = False
    changed_handle_loses_log_offset: bool = False
    clients_expire_in_clock_jumps: bool = False
    lost_order_wake_up: bool = False
    polls_end_early: bool = False
    receive_needs_settings: bool = False
    route_cache: bool = False
    settings_expire_with_open_stream: bool = False
    slave_skips_topics_with_attributes: bool = False
    telemetry_stream_needed: bool = False
    termination_leaves_one_group: bool = False
    timer_topic_stops_timer: bool = False
    topic_listed_as_group: bool = False
    unknown_settings_ignored: bool = False
    unreadable_host_flag: bool = False
    holders: dict[str, int] = field(default_factory=dict)
    """The number of rules that keep a switch on, by its name."""

    def enable(self, name: str, holders: int = 1) -> None:
        """Switch a defect on. Several holders may keep it on."""
        self.holders[name] = self.holders.get(name, 0) + holders
        setattr(self, name, True)

    def release(self, name: str) -> None:
        """Switch a defect off if no other holder keeps it on."""
        self.holders[name] -= 1
        setattr(self, name, self.holders[name] > 0)


SWITCHES = tuple(each.name for each in fields(Defects) if each.name != "holders")
"""The names of all switches."""
