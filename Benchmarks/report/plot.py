"""A picture with small panels side by side, both axes logarithmic, as SVG. Greys and hues are such that they can be read on
white and on black."""
import math

WIDTH, HEIGHT, LEFT, TOP, GAP_X, GAP_Y = 190, 150, 70, 56, 40, 66
GREY = "#7d8590"
HUES = ["#3b82f6", "#d97706", "#16a34a", "#c05bd0"]


def short(value):
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


class Scale:
    """Where a value lies on a logarithmic axis that begins and ends at a power of ten."""

    def __init__(self, values, start, end):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self.start, self.end = start, end

    def __call__(self, value):
        return self.start + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self):
        return [10.0 ** power for power in range(self.low, self.high + 1)]


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{words}</text>'


def panel(left, top, xs, series, y_values, x_title, has_labels):
    """xs: pairs of a value and its word. series: lists of values or None, one for each of xs."""
    right, bottom = left + WIDTH, top + HEIGHT
    x, y = Scale([value for value, _ in xs], left + 8, right - 8), Scale(y_values, bottom, top)
    parts = [f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="{GREY}"/>']
    for tick in y.ticks():
        parts.append(f'<path d="M{left} {y(tick):.1f}H{right}" stroke="{GREY}" stroke-opacity="0.3"/>')
        if has_labels:
            parts.append(text(left - 6, y(tick) + 4, short(tick), "end"))
    for value, word in xs:
        parts.append(f'<path d="M{x(value):.1f} {bottom}v4" stroke="{GREY}"/>')
        parts.append(text(x(value), bottom + 17, word))
    parts.append(text((left + right) / 2, bottom + 35, x_title))
    for hue, values in zip(HUES, series):
        points = [(x(value), y(found)) for (value, _), found in zip(xs, values) if found]
        parts.append(f'<polyline fill="none" stroke="{hue}" stroke-width="2" points="'
                     + " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{hue}"/>' for a, b in points]
    return parts


def picture(columns, rows):
    """columns: (title with unit, xs). rows: (title with unit, names of series, for each column the series)."""
    width = LEFT + len(columns) * (WIDTH + GAP_X)
    height = TOP + len(rows) * (HEIGHT + GAP_Y) + 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" '
             f'fill="{GREY}">']
    for row, (title, names, columns_of_series) in enumerate(rows):
        top = TOP + row * (HEIGHT + GAP_Y)
        found = [value for series in columns_of_series for values in series for value in values if value]
        if not found:
            continue
        parts.append(text(16, top + HEIGHT / 2, title, extra=f'transform="rotate(-90 16 {top + HEIGHT / 2})"'))
        place = LEFT
        for hue, name in zip(HUES, names):
            parts.append(f'<path d="M{place} {top - 16}h18" stroke="{hue}" stroke-width="3"/>')
            parts.append(text(place + 24, top - 12, name, "start"))
            place += 50 + 7 * len(name)
        for column, ((x_title, xs), series) in enumerate(zip(columns, columns_of_series)):
            parts += panel(LEFT + column * (WIDTH + GAP_X), top, xs, series, found, x_title, column == 0)
    return "\n".join([*parts, "</svg>\n"])
