// What is run for the pictures of the guide where no sample shows it.
#pragma once

namespace tapedeck::app::guide_cells {

inline constexpr const char* rate_cell =
    "import tapedeck as tf\n"
    "x = tf.constant([[1., 2., 3.], [.5, -1., 1.], [2., 0., 1.], [-1., 1., .25]])\n"
    "y = tf.constant([[1.], [0.], [2.], [-1.]])\n"
    "w = tf.Variable([[1.], [-2.], [.5]], name='w')\n"
    "optimizer = tf.train.GradientDescentOptimizer(.02)\n"
    "for step in range(100):\n"
    "    with tf.GradientTape() as tape:\n"
    "        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))\n"
    "    optimizer.apply_gradients([(tape.gradient(loss, w), w)])\n"
    "    tf.summary.scalar('loss', loss, step)";

/// A layer whose units die in step 120.
inline constexpr const char* dying_cell =
    "import numpy as np\n"
    "import tapedeck as tf\n"
    "random = np.random.RandomState(0)\n"
    "x = tf.constant(random.randn(64, 10).astype(np.float32))\n"
    "y = tf.constant(random.randn(64, 1).astype(np.float32))\n"
    "W1 = tf.Variable(tf.constant(.3 * random.randn(10, 16).astype(np.float32)), name='W1')\n"
    "b1 = tf.Variable(tf.zeros([16]), name='b1')\n"
    "W2 = tf.Variable(tf.constant(.3 * random.randn(16, 1).astype(np.float32)), name='W2')\n"
    "optimizer = tf.train.GradientDescentOptimizer(.01)\n"
    "for step in range(1, 201):\n"
    "    if step == 120:\n"
    "        b1.assign(b1 - 100.)\n"
    "    with tf.GradientTape() as tape:\n"
    "        hidden = tf.nn.relu(tf.matmul(x, W1) + b1)\n"
    "        loss = tf.reduce_mean(tf.square(tf.matmul(hidden, W2) - y))\n"
    "    weights = [W1, b1, W2]\n"
    "    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))";

/// Data that is made anew in Python between two ops of each step.
inline constexpr const char* waiting_cell =
    "import time\n"
    "import tapedeck as tf\n"
    "w = tf.Variable(tf.ones([128, 128]), name='w')\n"
    "optimizer = tf.keras.optimizers.Adam(0.01)\n"
    "for step in range(12):\n"
    "    time.sleep(0.01)  # reads the next batch\n"
    "    with tf.GradientTape() as tape:\n"
    "        with tf.name_scope('dense'):\n"
    "            y = tf.matmul(w, w)\n"
    "        loss = tf.reduce_mean(y)\n"
    "    optimizer.apply_gradients([(tape.gradient(loss, w), w)])";

inline constexpr const char* two_devices_cell =
    "import tapedeck as tf\n"
    "with tf.device('/cpu:0'):\n"
    "    v = tf.Variable(tf.random_uniform([500, 400], seed=1), name='v')\n"
    "x = tf.random_uniform([600, 500], seed=2)\n"
    "with tf.GradientTape() as tape:\n"
    "    y = tf.matmul(x, v)\n"
    "    loss = tf.reduce_mean(tf.exp(y * -0.01))\n"
    "gradient = tape.gradient(loss, v)\n"
    "values, places = tf.unique(tf.cast(y[0] / 10., tf.int32))";

/// Trains until there is a file `stop` beside it.
inline constexpr const char* program = R"(import os, time
import tapedeck as tf

x = tf.constant([[1., 2.], [3., 4.], [5., 7.]])
y = tf.constant([[1.], [2.], [4.]])
w = tf.Variable([[0.], [0.]], name="w")
step = 0
while not os.path.exists(os.path.dirname(__file__) + "/stop"):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    w.assign_sub(0.01 * tape.gradient(loss, w))
    tf.summary.scalar("loss", loss, step)
    step += 1
    time.sleep(0.05)
)";

}  // namespace tapedeck::app::guide_cells
