"""A plain PyTorch training loop: everything in one file, autograd, Adam, a replay of NumPy arrays."""

import copy

import gymnasium
import numpy as np
import torch
from torch import nn

import measure


class Replay:
    def __init__(self, capacity, observation_size, rng):
        # Filled, so that the pages are taken now.
        self.observations = np.full((capacity, observation_size), 0, np.float32)
        self.next_observations = np.full((capacity, observation_size), 0, np.float32)
        self.actions = np.full((capacity, 1), 0, np.int64)
        self.rewards = np.full(capacity, 0, np.float32)
        self.discounts = np.full(capacity, 0, np.float32)
        self.added = 0
        self.rng = rng

    def add(self, observation, action, reward, discount, next_observation):
        row = self.added % len(self.rewards)
        self.observations[row] = observation
        self.actions[row] = action
        self.rewards[row] = reward
        self.discounts[row] = discount
        self.next_observations[row] = next_observation
        self.added += 1

    def sample(self, batch):
        rows = self.rng.integers(min(self.added, len(self.rewards)), size=batch)
        fields = (self.observations, self.actions, self.rewards, self.discounts, self.next_observations)
        return [torch.from_numpy(field[rows]) for field in fields]


def update(online, target, optimizer, batch):
    observations, actions, rewards, discounts, next_observations = batch
    with torch.no_grad():
        best = online(next_observations).argmax(1, keepdim=True)
        targets = rewards + discounts * target(next_observations).gather(1, best).squeeze(1)
    values = online(observations).gather(1, actions).squeeze(1)
    loss = nn.functional.smooth_l1_loss(values, targets)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(online.parameters(), measure.MAX_GRADIENT_NORM)
    optimizer.step()


def main():
    arguments = measure.arguments(__doc__)
    if arguments.threads > 0:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(measure.SEED)
    rng = np.random.default_rng(measure.SEED)

    environment = gymnasium.make(measure.ENVIRONMENT)
    observation_size = environment.observation_space.shape[0]
    actions = int(environment.action_space.n)
    online = nn.Sequential(
        nn.Linear(observation_size, measure.HIDDEN),
        nn.ReLU(),
        nn.Linear(measure.HIDDEN, measure.HIDDEN),
        nn.ReLU(),
        nn.Linear(measure.HIDDEN, actions),
    )
    target = copy.deepcopy(online)
    optimizer = torch.optim.Adam(online.parameters(), lr=measure.LEARNING_RATE)
    replay = Replay(measure.CAPACITY, observation_size, rng)
    meter = measure.Meter(arguments.steps, arguments.seconds)

    observation, _ = environment.reset(seed=measure.SEED)
    step = 0
    while True:
        step += 1
        if step <= measure.WARMUP or rng.random() < measure.EPSILON:
            action = int(rng.integers(actions))
        else:
            with torch.no_grad():
                action = int(online(torch.from_numpy(observation)).argmax())
        next_observation, reward, terminated, truncated, _ = environment.step(action)
        replay.add(observation, action, reward, 0.0 if terminated else measure.DISCOUNT, next_observation)
        observation = next_observation
        if terminated or truncated:
            observation, _ = environment.reset()
        if step < measure.WARMUP:
            continue
        if not meter.step():
            break
        update(online, target, optimizer, replay.sample(measure.BATCH))
        if (step - measure.WARMUP + 1) % measure.TARGET_PERIOD == 0:
            target.load_state_dict(online.state_dict())

    meter.report(
        "torch",
        "plain PyTorch loop",
        torch.get_num_threads(),
        True,
        {"torch": torch.__version__, "gymnasium": gymnasium.__version__},
    )


if __name__ == "__main__":
    main()
