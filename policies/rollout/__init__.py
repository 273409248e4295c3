"""How to apply a change object by object so that no step is refused."""
