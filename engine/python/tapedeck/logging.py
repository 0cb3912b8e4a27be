"""tf.logging: messages on stderr through Python's logger "tensorflow"."""
from logging import DEBUG, ERROR, FATAL, INFO, WARN, Formatter, StreamHandler, getLogger  # noqa: F401

_FORMAT = "%(levelname)s:%(name)s:%(message)s"
_counts = {}


def get_logger():
    """The logger "tensorflow". It writes to stderr from level WARN on, unless the program has set up Python's logging."""
    logger = getLogger("tensorflow")
    if not logger.handlers and not getLogger().handlers:
        handler = StreamHandler()
        handler.setFormatter(Formatter(_FORMAT))
        logger.addHandler(handler)
        logger.setLevel(WARN)
        logger.propagate = False
    return logger


def log(level, msg, *args, **kwargs):
    """Logs msg % args at the level."""
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg, *args, **kwargs):
    """Logs msg % args at level DEBUG."""
    get_logger().debug(msg, *args, **kwargs)


def info(msg, *args, **kwargs):
    """Logs msg % args at level INFO."""
    get_logger().info(msg, *args, **kwargs)


def warning(msg, *args, **kwargs):
    """Logs msg % args at level WARN."""
    get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg, *args, **kwargs):
    """Logs msg % args at level ERROR."""
    get_logger().error(msg, *args, **kwargs)


def fatal(msg, *args, **kwargs):
    """Logs msg % args at level FATAL; the program goes on."""
    get_logger().fatal(msg, *args, **kwargs)


def log_if(level, msg, condition, *args):
    """Logs msg % args at the level where the condition holds."""
    if condition:
        log(level, msg, *args)


def log_first_n(level, msg, n, *args):
    """Logs the message the first n times that it comes."""
    _counts[msg] = _counts.get(msg, 0) + 1
    log_if(level, msg, _counts[msg] <= n, *args)


def log_every_n(level, msg, n, *args):
    """Logs the message the first and then every n-th time that it comes."""
    count = _counts.get(msg, 0)
    _counts[msg] = count + 1
    log_if(level, msg, count % n == 0, *args)


def vlog(level, msg, *args, **kwargs):
    """Logs msg % args at the level."""
    log(level, msg, *args, **kwargs)


def flush():
    """Writes out what waits."""
    for handler in get_logger().handlers:
        handler.flush()


def get_verbosity():
    """The lowest level that is written: DEBUG, INFO, WARN, ERROR or FATAL."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v):
    """Sets the lowest level that is written."""
    get_logger().setLevel(v)
