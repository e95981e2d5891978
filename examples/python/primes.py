"""Counts primes below ten million in twenty ranges, each on whichever machine takes it, and adds them up as they come.

gleaner up                                  # in another terminal, with podman or docker installed
export GLEANER_TOKEN=$(cat ~/.local/share/gleaner/hub/api.token)
pip install ./sdk/python
python examples/python/primes.py
"""

import gleaner_net as gn

STEP = 500_000


@gn.function(packages=["numpy"], memory="512MiB", price_max="0.10", time_max="2m", check="exact")
def primes(first: int) -> int:
    import numpy as np

    last = first + STEP
    is_prime = np.ones(STEP, dtype=bool)
    is_prime[: max(0, 2 - first)] = False
    for divisor in range(2, int(last**0.5) + 1):
        start = max(divisor * divisor, -(-first // divisor) * divisor)
        is_prime[start - first :: divisor] = False
    return int(is_prime.sum())


if __name__ == "__main__":
    ranges = range(0, 20 * STEP, STEP)
    quote = primes.map(ranges).quote()
    print(f"{quote.tasks} tasks, at most {quote.cap} GLN: {quote.balanced.why}")
    print(sum(primes.map(ranges)), "primes")
