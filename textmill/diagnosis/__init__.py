"""Why a network behaves as it does: gradients over time, memory, its own text, where it loses."""
