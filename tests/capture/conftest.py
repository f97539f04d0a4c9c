"""These tests read recordings with the field's own readers, which the `capture` extra installs."""

import pytest

pytest.importorskip("mcap", reason="needs the capture extra")
pytest.importorskip("pyarrow", reason="needs the capture extra")
