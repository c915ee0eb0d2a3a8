"""A picture with small panels side by side, both axes logarithmic, as SVG. Greys and hues are such that they can be read on
white and on black, and marks such that lines are told apart without hues."""
import math

WIDTH, HEIGHT, LEFT, TOP, GAP_X, GAP_Y, EDGE = 210, 150, 62, 40, 20, 92, 12
GREY = "#7d8590"
HUES = ["#3b82f6", "#d97706", "#16a34a", "#c05bd0"]
# A circle, a square, a triangle and a diamond, each around 0,0.
MARKS = ["M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-3.5-3.5h7v7h-7z", "M0-5L4.5 3.5h-9z", "M0-5L5 0L0 5L-5 0z"]


def count(value):
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def time(microseconds):
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= size:
            return f"{microseconds / size:g} {unit}"
    return f"{microseconds:g} µs"


class Scale:
    """Where a value lies on a logarithmic axis."""

    def __init__(self, low, high, start, end):
        self.low, self.high, self.start, self.end = math.log10(low), math.log10(high), start, end

    def __call__(self, value):
        return self.start + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.start)


def powers_of_ten(values):
    """Those between which the values lie; two at least."""
    low = math.floor(math.log10(min(values)))
    high = max(math.ceil(math.log10(max(values))), low + 1)
    return [10.0 ** power for power in range(low, high + 1)]


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{words}</text>'


def mark(x, y, number):
    return f'<path d="{MARKS[number]}" transform="translate({x:.1f} {y:.1f})" fill="{HUES[number]}"/>'


def panel(left, top, xs, series, ticks, x_title, wording):
    """xs: pairs of a value and its word. series: lists of values or None, one for each of xs. wording: of the ticks, or None."""
    right, bottom = left + WIDTH, top + HEIGHT
    x = Scale(xs[0][0], xs[-1][0], left + 16, right - 16)
    y = Scale(ticks[0], ticks[-1], bottom - 6, top + 6)
    parts = [f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="{GREY}"/>']
    for tick in ticks:
        parts.append(f'<path d="M{left} {y(tick):.1f}H{right}" stroke="{GREY}" stroke-opacity="0.3"/>')
        if wording:
            parts.append(text(left - 6, y(tick) + 4, wording(tick), "end"))
    for value, word in xs:
        parts.append(f'<path d="M{x(value):.1f} {bottom}v4" stroke="{GREY}"/>')
        parts.append(text(x(value), bottom + 17, word))
    parts.append(text((left + right) / 2, bottom + 35, x_title))
    for number, values in enumerate(series):
        points = [(x(value), y(found)) for (value, _), found in zip(xs, values) if found]
        parts.append(f'<polyline fill="none" stroke="{HUES[number]}" stroke-width="1.5" points="'
                     + " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>')
        parts += [mark(a, b, number) for a, b in points]
    return parts


def picture(title, columns, rows):
    """columns: (title with unit, xs). rows: (wording of the ticks, names of series, for each column the series)."""
    width = LEFT + len(columns) * (WIDTH + GAP_X) - GAP_X + EDGE
    height = TOP + len(rows) * (HEIGHT + GAP_Y) - GAP_Y + 35 + EDGE
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" '
             f'font-size="12" fill="{GREY}">', f"<title>{title}</title>"]
    for row, (wording, names, columns_of_series) in enumerate(rows):
        top = TOP + row * (HEIGHT + GAP_Y)
        found = [value for series in columns_of_series for values in series for value in values if value]
        if not found:
            continue
        place = LEFT
        for number, name in enumerate(names):
            parts.append(f'<path d="M{place} {top - 18}h24" stroke="{HUES[number]}" stroke-width="1.5"/>')
            parts.append(mark(place + 12, top - 18, number))
            parts.append(text(place + 32, top - 14, name, "start"))
            place += 64 + 7 * len(name)
        for column, ((x_title, xs), series) in enumerate(zip(columns, columns_of_series)):
            parts += panel(LEFT + column * (WIDTH + GAP_X), top, xs, series, powers_of_ten(found), x_title,
                           wording if column == 0 else None)
    return "\n".join([*parts, "</svg>\n"])
