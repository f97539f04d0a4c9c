"""Camera frames as PNG or JPEG, by Pillow, which leaves the interpreter while it compresses."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from mainspring.errors import MissingExtraError

if TYPE_CHECKING:
    from mainspring.capture._channel import Image

__all__ = ["decode_image", "encode_image", "require_pillow"]


def require_pillow() -> None:
    """Raise now, with the install command, rather than on the writer's thread."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise MissingExtraError("recording camera frames", "capture") from None


def encode_image(pixels: np.ndarray[Any, Any], image: Image) -> bytes:
    """One frame, compressed. The same pixels give the same bytes."""
    import PIL.Image

    array = pixels[:, :, 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    picture = PIL.Image.fromarray(array)
    out = io.BytesIO()
    if image.format == "jpeg":
        if picture.mode == "RGBA":
            picture = picture.convert("RGB")  # JPEG has no transparency
        picture.save(out, "JPEG", quality=image.quality)
    else:
        picture.save(out, "PNG", compress_level=1)  # a tenth of the time, a tenth larger
    return out.getvalue()


def decode_image(data: bytes) -> np.ndarray[Any, Any]:
    """The pixels of a compressed frame."""
    import PIL.Image

    with PIL.Image.open(io.BytesIO(data)) as picture:
        return np.asarray(picture)
