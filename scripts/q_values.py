#!/usr/bin/env python3
"""Q-values of a trained network from its weights.safetensors alone, whose metadata describes the layers.
    scripts/q_values.py runs/cartpole-1/checkpoints/best/weights.safetensors "0.1, 0, -0.02, 0" [...]
Each observation is its numbers in order (a grid channel by channel, row by row). Needs numpy and safetensors."""
import json
import sys

import numpy as np
from safetensors import safe_open


def convolution(x, weight, bias, stride):
    """x (N, C, H, W), weight (F, C, k, k), bias (F), no padding; returns (N, F, H', W')."""
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,fcij->nfhw", windows[:, :, ::stride, ::stride], weight) + bias[:, None, None]


def q_values(path, observations, network="online"):
    """The names of the actions, and the Q-values (observations, actions)."""
    with safe_open(path, "np") as file:
        about = file.metadata()
        x = np.asarray(observations, np.float32).reshape(-1, *json.loads(about["observation_shape"]))
        for layer in json.loads(about["layers"]):
            weight = file.get_tensor(f"{network}.{layer['weight']}")
            bias = file.get_tensor(f"{network}.{layer['bias']}")
            if layer["type"] == "convolution":
                x = convolution(x, weight, bias, layer["stride"])
            else:
                x = x.reshape(len(x), -1) @ weight.T + bias
            if layer["activation"] == "relu":
                x = np.maximum(x, 0)
    return json.loads(about["actions"]), x


if __name__ == "__main__":
    actions, values = q_values(sys.argv[1], [[float(n) for n in text.split(",")] for text in sys.argv[2:]])
    for row in values:
        print(", ".join(f"{action} {value:.6f}" for action, value in zip(actions, row)))
