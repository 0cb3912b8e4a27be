"""TensorFlow's tfe.Evaluator: metrics of a model, over an evaluation's batches."""
from tapedeck._core.public import public
from tapedeck._tfe import metrics as eager_metrics
from tapedeck.summary import first as _summary


@public("tfe.Evaluator")
class Evaluator:
    """A base of evaluators: a subclass makes its metrics in __init__, with track_metric, and updates them in call(), with what the
    model's eval_data() gives for a batch.

    model: an object with the method eval_data.
    """

    def __init__(self, model):
        self._model = model
        self._metrics = {}
        self._evaluators = {}

    def __call__(self, *args, **kwargs):
        """Updates the metrics with a batch, the arguments of the model's eval_data()."""
        return self.call(self._model.eval_data(*args, **kwargs))

    def init_variables(self):
        """RuntimeError: eager execution has nothing to initialise."""
        raise RuntimeError("Evaluator.init_variables() not needed when eager execution is enabled.")

    def all_metric_results(self, summary_logdir=None):
        """The results of all metrics, a dict by name; those of evaluators inside as "prefix/name".

        summary_logdir: a folder, into which they are also written as summaries; None for none.
        """
        if summary_logdir is None:
            with _summary.never_record_summaries():
                return self._results()
        with _summary.create_file_writer(summary_logdir).as_default(), _summary.always_record_summaries():
            return self._results()

    def _results(self):
        results = {name: metric.result() for name, metric in self._metrics.items()}
        for prefix, evaluator in self._evaluators.items():
            results.update({f"{prefix}/{name}": result for name, result in evaluator._results().items()})
        return results

    def evaluate_on_dataset(self, dataset, *args, **kwargs):
        """Calls it with each element of a dataset, and returns all_metric_results().

        summary_logdir, by keyword: see all_metric_results. The others go to eval_data after the element.
        """
        summary_logdir = kwargs.pop("summary_logdir", None)
        for example in dataset:
            self(example, *args, **kwargs)
        return self.all_metric_results(summary_logdir)

    @staticmethod
    def run_evaluation(init_op, call_op, results_op, sess=None):
        """RuntimeError: eager execution has no ops to run again."""
        raise RuntimeError("Evaluator.run_evaluation() not supported when eager execution is enabled.")

    def call(self, eval_data):
        """Updates the metrics with what eval_data() gave. To be defined by the subclass."""
        raise NotImplementedError("Evaluators must define a call member function.")

    @property
    def model(self):
        """The model."""
        return self._model

    def track_metric(self, metric):
        """Makes a tfe.metrics.Metric one of this evaluator's; returns it.

        Errors: RuntimeError before __init__, TypeError for a value that is not a metric, ValueError for a second metric of its name and for
        one of another evaluator.
        """
        if not hasattr(self, "_metrics"):
            raise RuntimeError("Need to call Evaluator.__init__ before adding metrics")
        if not isinstance(metric, eager_metrics.Metric):
            raise TypeError(f"Evaluator.track_metric() passed type {type(metric)}, not a tfe.metrics.Metric")
        if metric.name in self._metrics:
            if metric is self._metrics[metric.name]:
                return metric
            raise ValueError(f"Attempt to add two Metrics with the name '{metric.name}' to the same Evaluator "
                             f"'{type(self).__name__}'")
        if hasattr(metric, "_added_to_an_evaluator"):
            raise ValueError(f"Metric {metric.name} already added to Evaluator {metric._added_to_an_evaluator}")
        metric._added_to_an_evaluator = type(self).__name__
        self._metrics[metric.name] = metric
        return metric

    def track_evaluator(self, prefix, evaluator):
        """Makes the metrics of another evaluator known as "prefix/name"; returns it. call() has to call the other's.

        Errors: RuntimeError before __init__ and for a prefix that is taken, TypeError for a value that is not an evaluator.
        """
        if not hasattr(self, "_evaluators"):
            raise RuntimeError("Need to call Evaluator.__init__ before adding evaluators")
        if not isinstance(evaluator, Evaluator):
            raise TypeError(f"Evaluator.track_evaluator() passed type {type(evaluator)}, not a tfe.Evaluator.")
        if prefix in self._evaluators and evaluator is not self._evaluators[prefix]:
            raise RuntimeError(f"Attempt to add two Evaluators with the same prefix '{prefix}'.")
        self._evaluators[prefix] = evaluator
        return evaluator

    @property
    def metric_variables(self):
        """The variables of all metrics, those of evaluators inside too."""
        found = [variable for metric in self._metrics.values() for variable in metric.variables]
        return found + [variable for evaluator in self._evaluators.values() for variable in evaluator.metric_variables]

    @property
    def metrics(self):
        """(prefix, metric) of all metrics, a list; the prefix of its own is empty."""
        found = [("", metric) for metric in self._metrics.values()]
        return found + [(f"{prefix}/{inner}", metric) for prefix, evaluator in self._evaluators.items() for inner,
                        metric in evaluator.metrics]


@public("tfe.SparseSoftmaxEvaluator")
class SparseSoftmaxEvaluator(Evaluator):
    """The mean loss and the accuracy of a model whose eval_data() gives a dict.

    loss_key, label_key, predicted_class_key: the keys of the loss, the right classes and the predicted ones; weights_key: the key of
    the weights, which are optional.
    """

    def __init__(self, model, loss_key="loss", label_key="label", predicted_class_key="predicted_class", weights_key="weights"):
        super().__init__(model)
        self.avg_loss = self.track_metric(eager_metrics.Mean("Avg Loss"))
        self.accuracy = self.track_metric(eager_metrics.Accuracy())
        self.loss_key, self.label_key = loss_key, label_key
        self.predicted_class_key, self.weights_key = predicted_class_key, weights_key

    def call(self, eval_data):
        """Adds the dict that eval_data() gave."""
        weights = eval_data.get(self.weights_key)
        self.avg_loss(eval_data[self.loss_key], weights=weights)
        self.accuracy(eval_data[self.label_key], eval_data[self.predicted_class_key], weights=weights)
