"""The loop of many tutorials in Keras: predict on the states, predict on the next states, fit on the batch. Its
targets are those of plain DQN: double DQN would take a third call of predict."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import gymnasium
import numpy as np
import tensorflow as tf

import measure


def make_model(observation_size, actions):
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((observation_size,)),
            tf.keras.layers.Dense(measure.HIDDEN, activation="relu"),
            tf.keras.layers.Dense(measure.HIDDEN, activation="relu"),
            tf.keras.layers.Dense(actions),
        ]
    )
    optimizer = tf.keras.optimizers.Adam(measure.LEARNING_RATE, global_clipnorm=measure.MAX_GRADIENT_NORM)
    model.compile(optimizer=optimizer, loss=tf.keras.losses.Huber())
    return model


def update(online, target, replay, rows):
    observations, actions, rewards, discounts, next_observations = (field[rows] for field in replay)
    values = online.predict(observations, verbose=0)
    next_values = target.predict(next_observations, verbose=0)
    values[np.arange(len(rows)), actions] = rewards + discounts * next_values.max(axis=1)
    online.fit(observations, values, batch_size=measure.BATCH, epochs=1, verbose=0)


def main():
    arguments = measure.arguments(__doc__)
    if arguments.threads > 0:
        tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    tf.keras.utils.set_random_seed(measure.SEED)
    rng = np.random.default_rng(measure.SEED)

    environment = gymnasium.make(measure.ENVIRONMENT)
    observation_size = environment.observation_space.shape[0]
    number_of_actions = int(environment.action_space.n)
    online = make_model(observation_size, number_of_actions)
    target = make_model(observation_size, number_of_actions)
    target.set_weights(online.get_weights())
    # Arrays filled beforehand, so that memory grows by nothing but what Keras keeps.
    replay = (
        np.full((measure.CAPACITY, observation_size), 0, np.float32),
        np.full(measure.CAPACITY, 0, np.int64),
        np.full(measure.CAPACITY, 0, np.float32),
        np.full(measure.CAPACITY, 0, np.float32),
        np.full((measure.CAPACITY, observation_size), 0, np.float32),
    )
    meter = measure.Meter(arguments.steps, arguments.seconds)

    observation, _ = environment.reset(seed=measure.SEED)
    step = 0
    while True:
        step += 1
        if step <= measure.WARMUP or rng.random() < measure.EPSILON:
            action = int(rng.integers(number_of_actions))
        else:
            action = int(online.predict(observation[np.newaxis], verbose=0).argmax())
        next_observation, reward, terminated, truncated, _ = environment.step(action)
        discount = 0.0 if terminated else measure.DISCOUNT
        row = (step - 1) % measure.CAPACITY
        for field, value in zip(replay, (observation, action, reward, discount, next_observation)):
            field[row] = value
        observation = next_observation
        if terminated or truncated:
            observation, _ = environment.reset()
        if step < measure.WARMUP:
            continue
        if not meter.step():
            break
        update(online, target, replay, rng.integers(min(step, measure.CAPACITY), size=measure.BATCH))
        if (step - measure.WARMUP + 1) % measure.TARGET_PERIOD == 0:
            target.set_weights(online.get_weights())

    meter.report(
        "keras",
        "Keras predict, predict, fit",
        arguments.threads or os.cpu_count(),
        False,
        {"tensorflow": tf.__version__, "keras": tf.keras.__version__, "gymnasium": gymnasium.__version__},
    )


if __name__ == "__main__":
    main()
