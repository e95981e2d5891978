"""Run Python functions on other people's idle GPUs, at a price you know beforehand.

import gleaner_net as gn

@gn.function(gpu="8GiB", packages=["numpy"], price_max="0.50", time_max="10m")
def score(shard: int) -> float: ...

for value in score.map(range(100)):
    ...
"""

from .call import Call, Results
from .client import Client, Wallet, default_client
from .errors import (
    ConfigError,
    ForbiddenError,
    GleanerError,
    HubError,
    ImageError,
    JobCancelledError,
    JobError,
    JobFailedError,
    JobRefusedError,
    NotEnoughMoneyError,
    NotFoundError,
    PackageError,
    PythonVersionError,
    RemoteError,
    RemoteTraceback,
    ResultTypeError,
    UnauthorizedError,
    UnavailableError,
    UntrustedResultError,
)
from .function import Function, function
from .job import Job
from .views import Binding, Choice, JobStatus, LogLine, Quote, Range, ResultFile

__all__ = [
    "Binding",
    "Call",
    "Choice",
    "Client",
    "ConfigError",
    "ForbiddenError",
    "Function",
    "GleanerError",
    "HubError",
    "ImageError",
    "Job",
    "JobCancelledError",
    "JobError",
    "JobFailedError",
    "JobRefusedError",
    "JobStatus",
    "LogLine",
    "NotEnoughMoneyError",
    "NotFoundError",
    "PackageError",
    "PythonVersionError",
    "Quote",
    "Range",
    "RemoteError",
    "RemoteTraceback",
    "ResultFile",
    "ResultTypeError",
    "Results",
    "UnauthorizedError",
    "UnavailableError",
    "UntrustedResultError",
    "Wallet",
    "default_client",
    "function",
]
