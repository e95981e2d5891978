"""Trains a small network to tell two spirals apart, with NumPy alone, and can be stopped at any moment.

Everything that decides what comes next is in /checkpoint: weights, velocities, and how far it is. Started again on
another machine it goes on from there, and ends with the very loss that it would have had without the move.
"""
import argparse
import os
import pathlib
import time

import numpy as np

OUT = pathlib.Path(os.environ.get("OUT", "/out"))
CHECKPOINT = pathlib.Path(os.environ.get("CHECKPOINT", "/checkpoint"))


def spirals(count, chance):
    """Points on two spirals, and which of them each is on."""
    angle = np.sqrt(chance.random(count)) * 3 * np.pi
    side = chance.integers(0, 2, count)
    points = np.stack([np.cos(angle), np.sin(angle)], 1) * angle[:, None] / 10
    points = points * np.where(side == 0, 1, -1)[:, None] + chance.normal(0, 0.01, (count, 2))
    return points, side[:, None].astype(float)


def initial(hidden, chance):
    sizes = [(2, hidden), (hidden, hidden), (hidden, 1)]
    weights = [chance.normal(0, 1 / np.sqrt(rows), (rows, columns)) for rows, columns in sizes]
    return weights + [np.zeros(columns) for _, columns in sizes]


def step(state, points, wanted, rate):
    """One step of gradient descent with momentum; says the loss before it."""
    weights, velocities = state[:6], state[6:]
    layers = [points]
    for matrix, shift in zip(weights[:2], weights[3:5]):
        layers.append(np.tanh(layers[-1] @ matrix + shift))
    guess = 1 / (1 + np.exp(-(layers[-1] @ weights[2] + weights[5])))
    loss = -np.mean(wanted * np.log(guess + 1e-9) + (1 - wanted) * np.log(1 - guess + 1e-9))
    slope = (guess - wanted) / len(points)
    slopes = [None] * 6
    for layer in (2, 1, 0):
        slopes[layer], slopes[layer + 3] = layers[layer].T @ slope, slope.sum(0)
        if layer:
            slope = (slope @ weights[layer].T) * (1 - layers[layer] ** 2)
    for at in range(6):
        velocities[at] = 0.9 * velocities[at] - rate * slopes[at]
        weights[at] = weights[at] + velocities[at]
    return weights + velocities, loss


def save(state, done):
    """Beside the last one first, then in its place: whoever looks finds a whole one."""
    with open(CHECKPOINT / "next.npz", "wb") as file:
        np.savez(file, done=done, **{f"p{at}": value for at, value in enumerate(state)})
    os.replace(CHECKPOINT / "next.npz", CHECKPOINT / "state.npz")


def load(hidden):
    path = CHECKPOINT / "state.npz"
    if not path.exists():
        weights = initial(hidden, np.random.default_rng(7))
        return weights + [np.zeros_like(value) for value in weights], 0
    with np.load(path) as saved:
        done = int(saved["done"])
        print(f"going on after step {done}", flush=True)
        return [saved[f"p{at}"] for at in range(12)], done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.3)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--every", type=int, default=200, help="steps between two checkpoints")
    parser.add_argument("--rest", type=float, default=0, help="seconds between two steps, to watch a short training")
    told = parser.parse_args()
    points, wanted = spirals(2000, np.random.default_rng(1))
    state, done = load(told.hidden)
    loss = float("nan")
    for number in range(done, told.steps):
        state, loss = step(state, points, wanted, told.lr)
        if (number + 1) % told.every == 0:
            save(state, number + 1)
            print(f"step {number + 1} loss {loss:.12f}", flush=True)
        time.sleep(told.rest)
    (OUT / "loss.txt").write_text(f"{told.lr} {loss:.15f}\n")
    np.savez(OUT / "model.npz", *state[:6])


main()
