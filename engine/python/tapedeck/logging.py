"""tf.logging: messages on stderr through Python's logger "tensorflow"."""
from logging import DEBUG, ERROR, FATAL, INFO, WARN, Formatter, StreamHandler, getLogger

from tapedeck._core.public import public

_FORMAT = "%(levelname)s:%(name)s:%(message)s"
_counts = {}
for _name, _level in {"DEBUG": DEBUG, "ERROR": ERROR, "FATAL": FATAL, "INFO": INFO, "WARN": WARN}.items():
    public(f"logging.{_name}")(_level)


@public("logging.get_logger")
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


@public("logging.log")
def log(level, msg, *args, **kwargs):
    """Logs msg % args at the level."""
    get_logger().log(level, msg, *args, **kwargs)


@public("logging.debug")
def debug(msg, *args, **kwargs):
    """Logs msg % args at level DEBUG."""
    get_logger().debug(msg, *args, **kwargs)


@public("logging.info")
def info(msg, *args, **kwargs):
    """Logs msg % args at level INFO."""
    get_logger().info(msg, *args, **kwargs)


@public("logging.warning", "logging.warn")
def warning(msg, *args, **kwargs):
    """Logs msg % args at level WARN."""
    get_logger().warning(msg, *args, **kwargs)


@public("logging.error")
def error(msg, *args, **kwargs):
    """Logs msg % args at level ERROR."""
    get_logger().error(msg, *args, **kwargs)


@public("logging.fatal")
def fatal(msg, *args, **kwargs):
    """Logs msg % args at level FATAL; the program goes on."""
    get_logger().fatal(msg, *args, **kwargs)


@public("logging.log_if")
def log_if(level, msg, condition, *args):
    """Logs msg % args at the level where the condition holds."""
    if condition:
        log(level, msg, *args)


@public("logging.log_first_n")
def log_first_n(level, msg, n, *args):
    """Logs the message the first n times that it comes."""
    _counts[msg] = _counts.get(msg, 0) + 1
    log_if(level, msg, _counts[msg] <= n, *args)


@public("logging.log_every_n")
def log_every_n(level, msg, n, *args):
    """Logs the message the first and then every n-th time that it comes."""
    count = _counts.get(msg, 0)
    _counts[msg] = count + 1
    log_if(level, msg, count % n == 0, *args)


@public("logging.vlog")
def vlog(level, msg, *args, **kwargs):
    """Logs msg % args at the level."""
    log(level, msg, *args, **kwargs)


@public("logging.flush")
def flush():
    """Writes out what waits."""
    for handler in get_logger().handlers:
        handler.flush()


@public("logging.get_verbosity")
def get_verbosity():
    """The lowest level that is written: DEBUG, INFO, WARN, ERROR or FATAL."""
    return get_logger().getEffectiveLevel()


@public("logging.set_verbosity")
def set_verbosity(v):
    """Sets the lowest level that is written."""
    get_logger().setLevel(v)
