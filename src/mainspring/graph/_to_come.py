"""The public names of hgraph 0.8 that have their place here and are still to come.

A program may import one; what is done with it is refused with what it belongs to. So a program that
needs nothing of it runs, and one that does says where it stops.

Names that are not here are no names of this layer.
"""

from __future__ import annotations

from typing import Any, NoReturn

from mainspring.graph._errors import GraphError

__all__ = ["NAMES", "ToComeError", "to_come"]


class ToComeError(GraphError, NotImplementedError):
    """What has its place, and is still to come, was used."""


_SUBJECTS: dict[str, str] = {
    "services and adaptors": """
        adaptor adaptor_impl default_path from_graph get_service_inputs impl_input impl_output
        reference_service register_adaptor register_service request_id request_reply_service
        service_adaptor service_adaptor_impl service_impl set_service_output subscription_service
        to_graph""",
    "graphs made on demand by key": "MeshWiringPort get_mesh mesh_",
    "dispatch on the type of a value": "dispatch dispatch_",
    "graphs in other processes": "dmap_ pipeline_ spawn_",
    "components": """
        component get_recorder_api get_recording_label record_replay_scope set_record_replay_config
        set_record_replay_model set_recorder_api set_recording_label""",
    "JSON": """
        JSON from_json from_json_builder json_as_bool json_as_float json_as_int json_as_str
        json_decode json_encode register_json_datetime_format to_json to_json_builder""",
    "tables and frames": """
        Frame RecordAsOf Series TABLE TableSchema ToTableMode concat filter_cs filter_frame
        frame_metadata from_data_frame from_data_frame_batches from_table from_table_const
        get_table_schema_as_of_key get_table_schema_date_key group_by has_frame_metadata
        make_table_schema replay_data_frame set_as_of set_table_schema_as_of_key
        set_table_schema_date_key shape_of_table_type sorted_ table_schema table_shape
        table_shape_from_schema to_data_frame to_table ungroup with_columns with_frame_metadata
        without_frame_metadata""",
    "calendar and time-zone types": """
        AmbiguousTimePolicy Boundary CivilDateRange CivilDateRangeSet CivilDateTime InstantRange
        InstantRangeSet MonthEndPolicy NonexistentTimePolicy Period ZoneId ZonedDateTime ZonedTime
        at_zone convert_zone range_adjacent range_contains range_difference range_extent range_hull
        range_intersection range_merge range_mergeable range_overlaps range_shift range_touches
        range_union resolve_civil set_time_zone_provider temporal_bucket to_civil to_instant""",
}

NAMES: dict[str, str] = {
    name: subject for subject, names in _SUBJECTS.items() for name in names.split()
}
"""What each name that is still to come belongs to."""


class ToCome:
    """Stands where a name is to be."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def _refuse(self) -> NoReturn:
        raise ToComeError(
            f"{self.__name__} is still to come, with {NAMES[self.__name__]}",
            hint="docs/reference/operators.md lists what is there",
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._refuse()

    def __getitem__(self, item: Any) -> NoReturn:
        self._refuse()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> NoReturn:
        self._refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __repr__(self) -> str:
        return f"<{self.__name__}, still to come>"


def to_come(name: str) -> ToCome:
    """What stands for a name that is still to come."""
    if name not in NAMES:
        raise AttributeError(f"module 'mainspring.graph' has no attribute {name!r}")
    return ToCome(name)
