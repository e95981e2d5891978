"""Draws the pictures of the templates whose jobs make none themselves; the others are what their jobs delivered.

    catalogue/draw.py          writes blender.png, primes.png, words.png, train.png and sweep.png beside itself
"""
import math
import pathlib
import struct
import zlib

WIDTH, HEIGHT, TIMES = 480, 270, 3
GROUND, FAINT, PALE = (20, 23, 28), (44, 50, 60), (214, 219, 226)
WARM, GREEN, BLUE = (240, 176, 72), (112, 196, 132), (104, 160, 232)


class Picture:
    """Pixels, drawn larger than they are saved, so that edges are smooth."""

    def __init__(self):
        self.width, self.height = WIDTH * TIMES, HEIGHT * TIMES
        self.rows = [bytearray(bytes(GROUND) * self.width) for _ in range(self.height)]

    def dot(self, x, y, radius, colour):
        x, y, radius = x * TIMES, y * TIMES, radius * TIMES
        for row in range(max(0, int(y - radius)), min(self.height, int(y + radius) + 1)):
            reach = radius * radius - (row - y) ** 2
            if reach < 0:
                continue
            reach = math.sqrt(reach)
            first, last = max(0, round(x - reach)), min(self.width, round(x + reach) + 1)
            if first < last:
                self.rows[row][3 * first:3 * last] = bytes(colour) * (last - first)

    def line(self, points, radius, colour):
        for (ax, ay), (bx, by) in zip(points, points[1:]):
            steps = max(1, int(math.dist((ax, ay), (bx, by)) * 2))
            for step in range(steps + 1):
                share = step / steps
                self.dot(ax + (bx - ax) * share, ay + (by - ay) * share, radius, colour)

    def save(self, path):
        lines = []
        for y in range(HEIGHT):
            line = bytearray(b"\0")
            for x in range(WIDTH):
                for channel in range(3):
                    total = sum(self.rows[y * TIMES + dy][3 * (x * TIMES + dx) + channel]
                                for dy in range(TIMES) for dx in range(TIMES))
                    line.append(total // (TIMES * TIMES))
            lines.append(bytes(line))

        def chunk(kind, content):
            return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

        head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
        body = zlib.compress(b"".join(lines), 9)
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b""))


def primes():
    """Numbers in a spiral from the middle, primes as dots."""
    picture, pace, limit = Picture(), 6, 4000
    prime = [False, False] + [True] * limit
    for number in range(2, int(limit ** 0.5) + 1):
        if prime[number]:
            for multiple in range(number * number, limit + 1, number):
                prime[multiple] = False
    x, y, ahead, side, left, number = 0, 0, (1, 0), 1, 1, 1
    while number < limit:
        for _ in range(2):
            for _ in range(side):
                if prime[number]:
                    share = number / limit
                    colour = tuple(round(a + (b - a) * share) for a, b in zip(WARM, FAINT))
                    picture.dot(WIDTH / 2 + x * pace, HEIGHT / 2 + y * pace, 2.1, colour)
                x, y, number = x + ahead[0], y + ahead[1], number + 1
                if number >= limit:
                    return picture
            ahead = (ahead[1], -ahead[0])
        side += 1
    return picture


def blender():
    """A ball in four tiles, of which one is still to come."""
    picture, gap = Picture(), 6
    for column, row in ((0, 0), (1, 0), (0, 1)):
        left, top = 100 + column * (140 + gap), 20 + row * (112 + gap)
        for y in range(top, top + 112):
            for x in range(left, left + 140):
                across, down = (x - 243) / 90, (y - 135) / 90
                reach = across * across + down * down
                light = max(0.0, -0.5 * across - 0.6 * down + 0.62 * math.sqrt(1 - reach)) if reach < 1 else 0
                colour = tuple(round(30 + (part - 30) * light) for part in WARM) if reach < 1 else FAINT
                picture.dot(x, y, 0.75, colour)
    return picture


def words():
    """A text, its parts, their counts, and what they come to."""
    picture = Picture()
    rows = [55, 108, 162, 215]
    for y in rows:
        for way in ([(70, 135), (180, y)], [(180, y), (300, y)], [(300, y), (410, 135)]):
            picture.line(way, 1.2, FAINT)
    picture.dot(70, 135, 16, PALE)
    for y in rows:
        picture.dot(180, y, 12, BLUE)
        picture.dot(300, y, 12, GREEN)
    picture.dot(410, 135, 18, WARM)
    return picture


def curve(rate, rough, end):
    """A loss that falls: fast or slowly, smoothly or not, to the floor or not."""
    points = []
    for x in range(50, 445, 3):
        share = (x - 50) / 395
        loss = end + (1 - end) * math.exp(-rate * share) + rough * math.sin(x * 0.9) * math.sin(x * 0.37) * (1 - share * 0.6)
        points.append((x, 225 - 175 * min(1.05, max(0, loss))))
    return points


def axes():
    picture = Picture()
    for y in (50, 94, 138, 182, 225):
        picture.line([(50, y), (445, y)], 0.5, FAINT)
    picture.line([(50, 40), (50, 228), (450, 228)], 1, PALE)
    return picture


def train():
    picture = axes()
    picture.line(curve(6, 0.05, 0.08), 1.6, FAINT)
    picture.line(curve(6, 0, 0.08), 2.2, WARM)
    return picture


def sweep():
    picture = axes()
    for rate, rough, end, colour in ((1.6, 0, 0.25, BLUE), (5, 0.01, 0.1, GREEN), (9, 0.09, 0.3, WARM)):
        picture.line(curve(rate, rough, end), 1.8, colour)
    return picture


FOLDER = pathlib.Path(__file__).resolve().parent
for draw in (blender, primes, words, train, sweep):
    draw().save(FOLDER / f"{draw.__name__}.png")
