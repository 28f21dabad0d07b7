"""Figures for papers: their size, type, colours and files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, cast

import matplotlib
import matplotlib.axes
import matplotlib.colors
import matplotlib.figure
from matplotlib import pyplot, ticker

Axes = matplotlib.axes.Axes

if TYPE_CHECKING:

    class Drawn(matplotlib.axes.Axes):
        """Axes of a figure, whose ``figure`` has ``savefig``."""

        figure: matplotlib.figure.Figure

else:
    Drawn = Axes

#: Inches of a column of a paper in two columns.
COLUMN_IN = 3.4

#: Points of all text.
TEXT_PT = 8

#: The micro sign with the second.
US = "\N{MICRO SIGN}s"

#: The palette of Okabe and Ito (2008), which people with any colour vision tell apart.
BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#999999"


class Look(NamedTuple):
    """What tells a line from the others, in grey as well."""

    colour: str
    dashes: Any
    marker: str


_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, BLACK, SKY)
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_STYLE: Any = {
    "font.size": TEXT_PT,
    "axes.titlesize": TEXT_PT,
    "axes.labelsize": TEXT_PT,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.labelsize": TEXT_PT,
    "ytick.labelsize": TEXT_PT,
    "legend.fontsize": TEXT_PT,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "legend.borderaxespad": 0.2,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.5,
    "figure.dpi": 150,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
}


def look(number: int) -> Look:
    """How line ``number`` looks."""
    turn, place = divmod(number, len(_COLOURS))
    return Look(
        _COLOURS[place], _DASHES[(place + turn) % len(_DASHES)], _MARKERS[(place + turn) % 7]
    )


def paler(colour: str) -> tuple[float, float, float]:
    """A colour, mostly white."""
    red, green, blue = matplotlib.colors.to_rgb(colour)
    return 0.35 * red + 0.65, 0.35 * green + 0.65, 0.35 * blue + 0.65


@contextmanager
def style() -> Iterator[None]:
    """The settings of matplotlib for figures of this package, inside a ``with`` statement.

    Text has 8 points, files keep text as text (``pdf.fonttype`` 42, ``svg.fonttype`` "none").
    Outside the statement the settings are those of before. Axes that are made inside and given as
    ``ax`` look like the others.
    """
    before = {key: matplotlib.rcParams[key] for key in _STYLE}
    try:
        matplotlib.rcParams.update(_STYLE)
        yield
    finally:
        # Only these: a notebook's backend, which loads with the first figure, sets others.
        matplotlib.rcParams.update(before)


class Figure(matplotlib.figure.Figure):
    """A figure whose files keep text as text, whatever the settings of matplotlib are."""

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        """Writes the figure; the end of the name says in which format."""
        with style():
            super().savefig(fname, **kwargs)


def new_figure(width_in: float, height_in: float) -> matplotlib.figure.Figure:
    """An empty figure, to be made and filled inside :func:`style`."""
    return pyplot.figure(
        figsize=(width_in, height_in), FigureClass=Figure, layout="constrained"
    )


def fix_ticks(axes: Axes) -> None:
    """Keeps the size of ticks, which are made when the figure is drawn, out of :func:`style`."""
    axes.tick_params(which="both", labelsize=TEXT_PT, width=0.6)
    axes.tick_params(which="major", length=3)
    axes.tick_params(which="minor", length=1.5)


def own_axes(ax: Optional[Axes], height_in: float, width_in: float = COLUMN_IN) -> Drawn:
    """The axes that were given, or those of a new figure."""
    if ax is not None:
        return cast("Drawn", ax)
    made = new_figure(width_in, height_in).add_subplot()
    fix_ticks(made)
    return cast("Drawn", made)


def wrapped(label: str, most: int = 13) -> str:
    """A label in two lines where it is long."""
    if len(label) <= most or " " not in label:
        return label
    cuts = [place for place, letter in enumerate(label) if letter == " "]
    cut = min(cuts, key=lambda place: abs(place - len(label) / 2))
    return f"{label[:cut]}\n{label[cut + 1 :]}"


def light_grid(axes: Axes, axis: Any = "both") -> None:
    """Thin lines at the major ticks."""
    axes.grid(True, which="major", axis=axis, color="#DDDDDD", linewidth=0.5)


def legend_columns(
    labels: Sequence[str], handle_em: float, width_in: float = COLUMN_IN
) -> int:
    """How many columns of a legend fit the width of a figure."""
    em_in = TEXT_PT / 72
    column_in = em_in * (0.56 * max(map(len, labels)) + handle_em + 1.8)
    return max(1, min(len(labels), int((width_in - 0.1) / column_in)))


def legend_in(
    labels: Sequence[str],
    handle_em: float = 2.2,
    title: bool = False,
    width_in: float = COLUMN_IN,
) -> float:
    """The height of a legend above axes, in inches."""
    rows = -(-len(labels) // legend_columns(labels, handle_em, width_in)) + title
    return 0.165 * rows + 0.1


def legend_over_rows(axes: Axes, handles: Sequence[Any], handle_em: float) -> None:
    """A legend at the top of axes that were given, for which their rows make room."""
    labels = [str(handle.get_label()) for handle in handles]
    box = axes.get_window_extent()
    dpi = axes.figure.dpi
    columns = legend_columns(labels, handle_em, box.width / dpi)
    share = min(legend_in(labels, handle_em, width_in=box.width / dpi) * dpi / box.height, 0.7)
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top + (top - bottom) * share / (1 - share))
    more: dict[str, Any] = {"handlelength": handle_em, "columnspacing": 1.0, **_FRAME}
    axes.legend(handles, labels, loc="upper left", ncols=columns, **more)


#: The frame of a legend that may lie on what is drawn.
_FRAME: dict[str, Any] = {
    "frameon": True,
    "framealpha": 0.9,
    "edgecolor": "none",
    "borderpad": 0.2,
    "labelspacing": 0.3,
}


def legend_above(
    axes: Axes, handles: Sequence[Any], given: bool, handle_em: float = 2.2, **more: Any
) -> None:
    """A legend above the axes; where they were given, inside them."""
    labels = [str(handle.get_label()) for handle in handles]
    more = {**more, "handlelength": handle_em, "columnspacing": 1.0}
    if given:
        axes.legend(handles, labels, loc="best", **more, **_FRAME)
        return
    columns = legend_columns(labels, handle_em)
    axes.figure.legend(handles, labels, loc="outside upper center", ncols=columns, **more)


def scale_powers(axis: Any) -> None:
    """Ticks of a logarithmic axis whose view is set: few of them, as plain numbers where it goes
    over little.
    """
    low, high = axis.get_view_interval()
    axis.set_minor_formatter(ticker.NullFormatter())
    if not 0 < low < high or high / low >= 100:
        return
    if high / low >= 4:
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    else:
        axis.set_major_locator(ticker.MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number_text(value)))


def is_by_powers(values: Sequence[float]) -> bool:
    """Whether numbers go by factors rather than by differences."""
    order = sorted(set(values))
    if len(order) < 3 or order[0] <= 0 or order[-1] / order[0] < 8:
        return False
    factors = [high / low for low, high in zip(order, order[1:])]
    return min(factors) >= 1.25 and max(factors) / min(factors) <= 4


def number_text(value: float) -> str:
    """A number as short as it can be."""
    return str(int(value)) if float(value).is_integer() else f"{value:g}"


def scale_numbers(axes: Axes, values: Sequence[float]) -> None:
    """Makes the x axis that of these numbers: logarithmic where they go by powers, with a tick at
    each where there are few.
    """
    order = sorted(set(values))
    if is_by_powers(order):
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(ticker.NullLocator())
    if len(order) <= 7:
        axes.xaxis.set_major_locator(ticker.FixedLocator(order))
        axes.xaxis.set_major_formatter(
            ticker.FuncFormatter(lambda value, _: number_text(value))
        )
