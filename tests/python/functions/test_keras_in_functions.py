"""Train steps of Keras as tf.functions: layers, losses, metrics and optimisers give in a graph what they give eagerly."""
import unittest

import numpy as np

import tapedeck as tf
from graph_mode import GraphCase

keras = tf.keras


def data():
    random = np.random.RandomState(0)
    x = random.randn(64, 8).astype(np.float32)
    return tf.constant(x), tf.constant((x.sum(1) > 0).astype(np.int64))


def classifier():
    model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dropout(.3), keras.layers.BatchNormalization(),
                              keras.layers.Dense(2)])
    model.build([None, 8])
    return model


class TrainSteps(GraphCase):
    def assertBothWays(self, run):
        """run() gives the same with functions that are traced as with those that run eagerly. Returns: what it gives."""
        found = []
        for eagerly in (True, False):
            tf.config.run_functions_eagerly(eagerly)
            keras.backend.clear_session()
            keras.utils.set_random_seed(3)
            found.append(tf.nest.map_structure(np.asarray, run()))
        self.assertSame(*found)
        return found[1]

    def test_optimizers(self):
        x, y = data()
        for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl"):
            def run():
                model, optimizer = classifier(), getattr(keras.optimizers, name)()
                loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
                accuracy, mean = keras.metrics.SparseCategoricalAccuracy(), keras.metrics.Mean()

                @tf.function
                def step(x, y):
                    with tf.GradientTape() as tape:
                        loss = loss_of(y, model(x, training=True))
                    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
                    accuracy.update_state(y, model(x))
                    mean(loss)
                    return loss

                losses = [step(x, y) for _ in range(4)]
                return losses, accuracy.result(), mean.result(), [each.numpy() for each in model.variables]

            with self.subTest(name):
                self.assertBothWays(run)

    def test_a_schedule_and_the_first_generations_optimizer(self):
        def run():
            weight = tf.Variable(3.)
            first = keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(.1, 1, .5), momentum=.9)
            second = tf.train.GradientDescentOptimizer(.1)

            @tf.function
            def step():
                first.minimize(lambda: weight * weight, [weight])
                second.minimize(lambda: weight * weight)
                return weight

            return [step() for _ in range(4)]

        self.assertBothWays(run)

    def test_recurrent_layers_and_a_loop_of_ones_own(self):
        def run():
            model = keras.Sequential([keras.layers.LSTM(4, return_sequences=True), keras.layers.GRU(3), keras.layers.Dense(1)])
            model.build([None, 5, 3])
            weight, optimizer = tf.Variable(tf.random.normal([3, 3])), keras.optimizers.Adam(.1)
            x = tf.random.normal([2, 5, 3])

            @tf.function
            def step(x):
                with tf.GradientTape() as tape:
                    hidden = tf.zeros([2, 3])
                    for i in tf.range(5):
                        hidden = tf.tanh(hidden @ weight + x[:, i])
                    loss = tf.reduce_sum(hidden * hidden) + tf.reduce_sum(tf.square(model(x)))
                variables = [weight, *model.trainable_variables]
                optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
                return loss

            return [step(x) for _ in range(3)], weight.numpy()

        losses, _ = self.assertBothWays(run)
        self.assertLess(float(losses[-1]), float(losses[0]))

    def test_fit_with_a_train_step_that_is_a_function(self):
        x, y = data()

        class Own(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = keras.layers.Dense(2)
                self.build([None, 8])

            def call(self, x):
                return self.dense(x)

            @tf.function
            def train_step(self, batch):
                steps.append(tf.inside_function())
                x, y = batch
                with tf.GradientTape() as tape:
                    loss = self.compute_loss(x, y, self(x, training=True))
                self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
                return {"loss": loss, "norm": tf.linalg.global_norm(self.trainable_variables)}

        def fitted(model):
            model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
            if not isinstance(model, Own):
                model.train_step, model.test_step = tf.function(model.train_step), tf.function(model.test_step)
            history = model.fit(x, y, epochs=3, batch_size=16, verbose=0, shuffle=False, validation_data=(x[:20], y[:20]),
                                validation_batch_size=10)
            return history.history, model.evaluate(x, y, verbose=0), model.train_on_batch(x, y)

        for make in (classifier, Own):
            steps = []
            with self.subTest(make.__name__):
                self.assertBothWays(lambda: fitted(make()))
        self.assertEqual(steps[-2:], [True, True])

    def test_losses_of_several_outputs(self):
        x, y = data()

        def run():
            inputs = keras.Input([8])
            hidden = keras.layers.Dense(4, activation="tanh")(inputs)
            model = keras.Model(inputs, [keras.layers.Dense(1, name="sum")(hidden), keras.layers.Dense(2, name="sign")(hidden)])
            model.compile("sgd", ["mse", keras.losses.SparseCategoricalCrossentropy(from_logits=True)], loss_weights=[.5, 1.])
            model.train_step = tf.function(model.train_step)
            history = model.fit(x, [tf.reduce_sum(x, 1), y], epochs=2, batch_size=16, verbose=0, shuffle=False)
            return history.history, [each.result() for each in model.metrics]

        history, _ = self.assertBothWays(run)
        self.assertEqual(set(history), {"loss", "sum_loss", "sign_loss"})

    def test_losses_and_metrics(self):
        random = np.random.RandomState(1)
        scores = tf.constant(random.rand(6, 3).astype(np.float32))
        labels = tf.constant(np.eye(3, dtype=np.float32)[random.randint(0, 3, 6)])

        def run():
            found = []
            for name in ("AUC", "BinaryAccuracy", "CategoricalAccuracy", "Precision", "Recall", "MeanSquaredError", "CosineSimilarity",
                         "KLDivergence", "CategoricalCrossentropy"):
                metric = getattr(keras.metrics, name)()

                @tf.function
                def updated(labels, scores):
                    metric.update_state(labels, scores)
                    return metric.result()

                found += [updated(labels, scores), updated(labels, 1. - scores), metric.result()]
            for name in ("BinaryCrossentropy", "CategoricalCrossentropy", "Hinge", "Huber", "LogCosh", "MeanAbsoluteError", "Poisson"):
                found.append(tf.function(getattr(keras.losses, name)())(labels, scores))
            return found

        self.assertBothWays(run)

    def test_a_layer_of_each_call_is_refused(self):
        with self.assertRaisesRegex(ValueError, r"singleton tf.Variables created on the first call.*\(line \d+\)"):
            tf.function(lambda x: keras.layers.Dense(2)(x))(tf.ones([1, 2]))


class FunctionalModels(GraphCase):
    def test_a_function_is_a_part_of_a_model(self):
        traces = []

        def noisy(x):
            traces.append(tf.inside_function())
            return tf.nn.dropout(x, .5) * 2.

        function = tf.function(noisy)
        inputs = keras.Input([40])
        for model in (keras.Model(inputs, keras.layers.Lambda(function)(inputs)), keras.Model(inputs, function(inputs))):
            drawn = [model(tf.ones([1, 40])).numpy().tolist() for _ in range(2)]
            self.assertNotEqual(*drawn)  # no trace has kept what a trial drew
            self.assertEqual({value for each in drawn for row in each for value in row}, {0., 4.})
        self.assertIn(True, traces)

    def test_a_model_is_a_part_of_a_function(self):
        inputs = keras.Input([3])
        model = keras.Model(inputs, keras.layers.Dense(2)(keras.layers.BatchNormalization()(inputs)))
        made = tf.function(lambda x, training: model(x, training=training))
        x = tf.constant([[1., 2., 3.], [2., 4., 8.]])
        for training in (False, True):
            before = [each.numpy() for each in model.variables]
            found = made(x, training)
            moved = [each.numpy() for each in model.variables]
            for variable, value in zip(model.variables, before):
                variable.assign(value)
            self.assertSame(found, model(x, training=training))
            self.assertEqual([each.numpy().tobytes() for each in model.variables], [each.tobytes() for each in moved])
        self.assertEqual(made.experimental_get_tracing_count(), 2)

    def test_training_may_be_a_tensor(self):
        layers = keras.layers
        model = keras.Sequential([layers.Dense(4), layers.BatchNormalization(), layers.Dropout(.5), layers.Dense(2)])
        x = tf.constant(np.random.default_rng(0).random((6, 3), np.float32))

        @tf.function
        def called(x, training):
            return model(x, training=training)

        called(x, tf.constant(False))  # makes the variables
        start, traces = [each.numpy() for each in model.variables], called.experimental_get_tracing_count()
        for training in (True, False):
            for variable, value in zip(model.variables, start):
                variable.assign(value)
            tf.random.set_seed(5)
            wanted, moved = model(x, training=training), [each.numpy().tobytes() for each in model.variables]
            for variable, value in zip(model.variables, start):
                variable.assign(value)
            tf.random.set_seed(5)
            self.assertSame(called(x, tf.constant(training)), wanted)
            self.assertEqual([each.numpy().tobytes() for each in model.variables], moved)
        self.assertEqual(called.experimental_get_tracing_count(), traces)

        def gradient(x, training):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(model(x, training=training)**2)
            return tape.gradient(loss, model.trainable_variables)

        self.assertSame(tf.function(gradient)(x, tf.constant(False)), gradient(x, False))


if __name__ == "__main__":
    unittest.main()
