"""Stable-Baselines3's DQN, with an update at every step. It has no double DQN."""

import gymnasium
import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.callbacks import BaseCallback

import measure


class Watch(BaseCallback):
    def __init__(self, meter):
        super().__init__()
        self.meter = meter

    def _on_step(self):
        # Called after the step and before its update: the first update follows the step after the warm-up.
        return self.num_timesteps <= measure.WARMUP or self.meter.step()


def main():
    arguments = measure.arguments(__doc__)
    if arguments.threads > 0:
        torch.set_num_threads(arguments.threads)
    model = stable_baselines3.DQN(
        "MlpPolicy",
        gymnasium.make(measure.ENVIRONMENT),
        learning_rate=measure.LEARNING_RATE,
        buffer_size=measure.CAPACITY,
        learning_starts=measure.WARMUP,
        batch_size=measure.BATCH,
        gamma=measure.DISCOUNT,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=measure.TARGET_PERIOD,
        exploration_initial_eps=measure.EPSILON,
        exploration_final_eps=measure.EPSILON,
        max_grad_norm=measure.MAX_GRADIENT_NORM,
        policy_kwargs={"net_arch": [measure.HIDDEN, measure.HIDDEN]},
        seed=measure.SEED,
        device="cpu",
    )
    # The buffer's pages are taken now: that it fills is not growth.
    for array in vars(model.replay_buffer).values():
        if isinstance(array, np.ndarray):
            array.fill(0)
    meter = measure.Meter(arguments.steps, arguments.seconds)
    model.learn(total_timesteps=measure.WARMUP + arguments.steps + 1, callback=Watch(meter))
    meter.report(
        "sb3",
        "Stable-Baselines3 DQN",
        torch.get_num_threads(),
        False,
        {
            "stable-baselines3": stable_baselines3.__version__,
            "torch": torch.__version__,
            "gymnasium": gymnasium.__version__,
        },
    )


if __name__ == "__main__":
    main()
