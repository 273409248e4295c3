"""Wrong inputs by the million: mutated reviews, manifests, worlds and files, through the webhook and every reader.

- `corpus`: what is mutated; `mutations`: how; `targets`: what takes it, and what must hold of the answer;
- `campaign`: runs inputs by their number, each under a bound of time, and counts what became of them.

An input follows from the seed and its number alone, so `python -m tests.fuzz --seed S --only N` plays one again.
"""
